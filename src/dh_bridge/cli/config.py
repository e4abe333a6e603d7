"""``dh-bridge config``: check, show, schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import orjson

from dh_bridge.cli import EXIT_USAGE
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import config_options, json_option, take_flags
from dh_bridge.cli.terminal import echo, json_line, say, write, write_table
from dh_bridge.options import Options
from dh_bridge.settings.loading import DEFAULT, examine, json_schema

if TYPE_CHECKING:
    from dh_bridge.settings.loading import LoadedSettings


@click.group()
@examples("dh-bridge config show --origin")
def config() -> None:
    """Check and show the settings.

    Order: a flag, the environment (DH_BRIDGE_AREA__FIELD), the file, the default.
    """


@config.command()
@config_options
@examples("dh-bridge config check --set window=5000")
def check(**arguments: Any) -> None:
    """Show the problems of the settings, one line each."""
    loaded = _load_or_exit(arguments)
    Options(loaded.settings)  # checks values that a model cannot check: words of rules and mappings, and the profile
    source = f"{loaded.file} and the environment" if loaded.file else "the environment and the defaults (no file)"
    echo(f"the settings of {source} are fine: {len(loaded.origins)} given")


@config.command()
@click.option(
    "--origin", is_flag=True, help="Also where each value comes from: default, FILE:LINE, env NAME, flag --NAME."
)
@click.option("--all/--given", "everything", default=True, help="Every setting, or only those that are set.")
@json_option
@config_options
@examples("dh-bridge config show --origin")
def show(*, origin: bool, everything: bool, as_json: bool, **arguments: Any) -> None:
    """Show every setting and its value; secrets are masked."""
    rows = [row for row in _load_or_exit(arguments).rows() if everything or row["origin"] != DEFAULT]
    if as_json:
        write(json_line(row if origin else {"key": row["key"], "value": row["value"]}) for row in rows)
        return
    columns = ["key", "value", "origin"] if origin else ["key", "value"]
    write_table(columns, [[_text(row[column]) for column in columns] for row in rows])


@config.command()
@examples("dh-bridge config schema > dh_bridge.schema.json")
def schema() -> None:
    """Write the JSON Schema of a settings file, for editors and checks."""
    echo(orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2).decode())


def _load_or_exit(arguments: dict[str, Any]) -> LoadedSettings:
    """Return the settings that the flags lead to, or leave with all that is wrong."""
    flags = take_flags(arguments)
    loaded, problems = examine(arguments["config"], flags=flags)
    if loaded is None:
        for problem in problems:
            say(str(problem))
        raise click.exceptions.Exit(EXIT_USAGE)
    return loaded


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
