"""The command line, assembled: names and one-line help here, each command in its own module, imported when it is called."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final

import click

from trnui import __version__

# name → (module in trnui.cli.commands, one line of help). The module's function `command` is the click command.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("list_", "Rows of a view, filtered and sorted"),
    "show": ("show", "Everything known about a model"),
    "script": ("script", "The run.py of a model's row"),
    "packages": ("packages", "What to install for a model's row"),
    "compare": ("compare", "Two stacks, two commits, or a summary by release"),
    "watch": ("watch", "Watch models for changed results"),
    "views": ("views", "Saved views of the list"),
    "sql": ("sql", "One read-only SELECT over results, rankings and runs"),
    "run": ("run", "Run a checkpoint's test here and say what came out"),
    "runs": ("runs", "Runs on this host"),
    "batch": ("batch", "Many rows at once, packed on this host's cores; survives crashes and restarts"),
    "consent": ("consent", "Scripts you have approved, and how to revoke that"),
    "attach": ("attach", "Follow a run in progress"),
    "stop": ("stop", "End a run and all its processes"),
    "report": ("report", "A run as a bug report: Markdown, or one HTML file"),
    "diagnose": ("diagnose", "What an error means and what to do next"),
    "host": ("host", "This host: stack, devices, caches, what a run lacks"),
    "cache": ("cache", "The NEFF cache: state, and the command that fills it"),
    "sync": ("sync", "Fetch the dataset, its card and the rankings"),
    "export": ("export", "Own results as Parquet in the dataset's layout"),
    "config": ("config", "Settings, their values and where each came from"),
    "keys": ("keys", "Keys of the app"),
    "completion": ("completion", "Shell completion: bash, zsh or fish"),
}


class Commands(click.Group):
    """Loads a command's module when it is needed, so that `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found: Any = importlib.import_module(f"trnui.cli.commands.{entry[0]}").command
        assert isinstance(found, click.Command)
        if any(option.name == "dataset" for option in found.params):
            found.epilog = found.epilog or "Here too: --dataset X, --offline, --no-color, --ascii (see trnui --help)."
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from trnui.cli.choices import no_such_command

            raise no_such_command(args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our stdout has left: nothing more to say, and no failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise click.exceptions.Exit(0) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dataset", metavar="X", help="Hub id, folder, Parquet file, or sample.")
@click.option("--offline", is_flag=True, help="Use what is on disk; no network.")
@click.option("--no-color", is_flag=True, help="No colours (also NO_COLOR).")
@click.option("--ascii", "ascii_", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--mouse", is_flag=True, help="Let the app use the mouse (off over SSH).")
@click.version_option(__version__, prog_name="trnui")
@click.pass_context
def cli(ctx: click.Context, dataset: str | None, offline: bool, no_color: bool, ascii_: bool, mouse: bool) -> None:
    """Which Hugging Face checkpoints run on AWS Trainium, with which stack, and does it run here?

    Without a command: the app. Data goes to stdout, words to stderr.
    """
    from trnui.cli.shared_options import GlobalOptions

    ctx.obj = GlobalOptions(dataset=dataset, offline=offline, no_color=no_color, ascii=ascii_, mouse=mouse)
    if ctx.invoked_subcommand is None:
        from trnui.cli.open_app import open_app

        open_app(ctx.obj)
