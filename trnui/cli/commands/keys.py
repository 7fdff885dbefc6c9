"""`trnui keys`: the app's keys, from the registry, with the user's [keys] applied. The README's table is this in Markdown."""

from __future__ import annotations

import click

from trnui.cli.shared_options import GlobalOptions, global_options, note


@click.command("keys")
@click.option("--format", "format_", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@global_options
@click.pass_obj
def command(options: GlobalOptions, format_: str) -> None:
    """The keys of the app: place, keys, action id (for [keys] in the settings) and what it does."""
    from trnui.actions import remapped

    actions, problems = remapped(options.settings.keys, lines=options.settings.key_lines)
    for problem in problems:
        note(problem)
    click.echo(render(actions, format_), nl=False)


def render(actions: tuple[object, ...], format_: str) -> str:
    """All places in the registry's order."""
    from trnui.actions import PLACES, Action, at

    known = tuple(a for a in actions if isinstance(a, Action))
    if format_ == "json":
        import json

        rows = [{"id": a.id, "where": a.where, "keys": list(a.keys), "label": a.label, "help": a.help} for a in known]
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    lines: list[str] = []
    for place, words in PLACES.items():
        found = at(place, known)
        if not found:
            continue
        if format_ == "markdown":
            lines += ["", f"**{words}**", "", "| keys | what | id |", "|---|---|---|"]
            lines += [f"| {_cell(a.keys)} | {a.help} | `{a.id}` |" for a in found]
        else:
            lines += ["", words]
            lines += [f"  {a.shown or '(none)':16} {a.help:70} {a.id}" for a in found]
    return "\n".join(lines[1:]) + "\n"


def _cell(keys: tuple[str, ...]) -> str:
    from trnui.actions import key_word

    return " ".join(f"`{key_word(k)}`".replace("|", "\\|") for k in keys) or "–"
