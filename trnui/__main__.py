"""Entry point: runs the command line and turns every end into words and an exit code. No traceback reaches a user."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    from trnui.cli.global_options import options_only
    from trnui_runner.common.crash_log import kept
    from trnui_runner.common.errors import Exit, UserError, host_error
    from trnui_runner.common.text import clean

    for name in ("stdout", "stderr"):  # closed by who started us (`>&-`): what would go there goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 open to the end
    code: int = Exit.OK
    try:
        options = options_only(sys.argv[1:])
        if options is None:
            code = command_line()
        else:
            from trnui.cli.open_app import open_app

            open_app(options)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except UserError as error:
        print(f"trnui: {clean(error)}", file=sys.stderr)
        code = error.code
    except Exception as error:  # noqa: BLE001 a fault of ours: kept whole in a file, told in two lines
        code = Exit.FAILED
        told = host_error(error)
        if told is not None:
            print(f"trnui: {clean(told)}", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still held back has no place to go either
            sys.exit(code)
        print(f"trnui: internal error, {type(error).__name__}: {clean(error)}\n{kept(error)}", file=sys.stderr)
    sys.exit(code)


def command_line() -> int:
    """Everything but the bare app, by click; its own ends as exit codes."""
    import click

    from trnui.cli.main import cli
    from trnui_runner.common.errors import Exit
    from trnui_runner.common.text import clean

    try:
        result = cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        print(clean(words.getvalue().rstrip("\n")), file=sys.stderr)
        return Exit.USAGE
    return result if isinstance(result, int) else Exit.OK


if __name__ == "__main__":
    main()
