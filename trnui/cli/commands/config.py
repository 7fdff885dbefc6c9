"""`trnui config`: every setting with its value and where that came from; the documented file to start from."""

from __future__ import annotations

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, global_options, note


@click.command("config")
@click.option("--template", "template_", is_flag=True, help="Print the documented settings file with every default.")
@click.option("--init", is_flag=True, help="Write that file unless it exists.")
@click.option("--path", "path_", is_flag=True, help="Print the path of the settings file.")
@click.option("--format", "format_", type=NearestChoice(["text", "json"]), default="text", show_default=True)
@global_options
@click.pass_obj
def command(options: GlobalOptions, template_: bool, init: bool, path_: bool, format_: str) -> None:
    """Settings: value, origin, meaning. A setting is a line of the file, TRNUI_NAME in the environment, or a flag."""
    from trnui import settings
    from trnui_runner.common.errors import UserError

    if template_:
        click.echo(settings.template(), nl=False)
        return
    if path_:
        click.echo(settings.path())
        return
    if init:
        try:
            file = settings.write_template()
        except OSError as error:
            raise UserError(f"{settings.path()}: {error.strerror}", "TRNUI_CONFIG names another place.") from error
        click.echo(file)
        return
    found = options.settings
    if format_ == "json":
        import json

        rows = {
            s.name: {"value": found.value(s), "origin": found.origins[s.name], "help": s.help}
            for s in settings.SETTINGS
        }
        click.echo(
            json.dumps({**rows, "keys": dict(found.keys), "columns": dict(found.columns)}, indent=1, ensure_ascii=False)
        )
        return
    state = "not there yet; trnui config --init writes it" if not settings.path().exists() else "read"
    note(f"settings file: {settings.path()} ({state})")
    width = max(len(s.name) for s in settings.SETTINGS)
    for s in settings.SETTINGS:
        value = settings.toml(found.value(s))
        click.echo(f"{s.name:{width}} = {value}")
        choices = f" ({', '.join(s.choices)})" if s.choices else ""
        click.echo(f"{'':{width}}   from {found.origins[s.name]} · {s.help}{choices}")
    for name in settings.TABLES:
        table: dict[str, str] = dict(getattr(found, name))
        click.echo(f"[{name}]" + ("" if table else f"   none · {settings.TABLES[name]}"))
        for key, value in table.items():
            click.echo(f"{key} = {settings.toml(value)}")
