"""`trnui completion`: click's completion script for a shell; values for tasks, results and versions come from what is on disk."""

from __future__ import annotations

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import global_options

WHERE = {
    "bash": 'eval "$(trnui completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(trnui completion zsh)"   # in ~/.zshrc',
    "fish": "trnui completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command("completion")
@click.argument("shell", type=NearestChoice(list(WHERE)))
@global_options
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "trnui", "_TRNUI_COMPLETE").source())
