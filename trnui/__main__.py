"""Entry point: runs the command line and turns every end into words and an exit code. No traceback reaches a user."""

from __future__ import annotations

import os
import sys


def main() -> None:
    import click

    from runner.errors import Exit, UserError
    from trnui.cli import cli

    code: int = Exit.OK
    try:
        result = cli.main(standalone_mode=False)
        code = result if isinstance(result, int) else Exit.OK
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = Exit.USAGE
    except UserError as error:
        print(f"trnui: {error}", file=sys.stderr)
        code = error.code
    except BrokenPipeError:  # the reader of our stdout has left: nothing more to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


if __name__ == "__main__":
    main()
