"""Options that several commands share, and the settings they lead to."""

from __future__ import annotations

import functools
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dh_bridge.settings.loading import Flag, load

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., Any]")

#: Options of commands that are settings under a name of their own.
_SETTING_FLAGS = {
    "datahub_version": "datahub_version",
    "env": "naming.env",
    "max_rate": "rest.max_rate",
    "listen": "receiver.listen",
}


class _EventsPath(click.Path):
    """A file or folder of events; for a target or an address, the message names the right option or command."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        scheme, colon, _ = str(value).partition(":")
        if colon and not Path(value).exists() and import_module("dh_bridge.sinks.base").find_kind(str(value)):
            target = import_module("dh_bridge.sinks.base").strip_credentials(str(value))
            self.fail(f"{target!r} is a target. Pass it with --to.", param, ctx)
        if "://" in str(value) and not Path(value).exists():
            remedy = f"pipe what is there: curl {value} | {ctx.command_path if ctx is not None else 'dh-bridge'} -"
            if not scheme.startswith("http"):
                remedy = "copy it here, or let `dh-bridge spark` read it."
            self.fail(f"{value} is an address, not a file: {remedy}", param, ctx)
        return super().convert(value, param, ctx)


class _DatabasePath(click.Path):
    """The file of a catalogue or ledger; the form of ``--to`` (``catalog:FILE``) is accepted, too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        targets = import_module("dh_bridge.sinks.base")
        kind = targets.find_kind(str(value))
        path = targets.address_of(str(value)) if kind is not None and kind.has_own_ledger else str(value)
        return super().convert(path, param, ctx)


events_path = _EventsPath(exists=True, allow_dash=True)
catalog_path = _DatabasePath(dir_okay=False)
ledger_path = _DatabasePath(dir_okay=False, path_type=Path)

events_argument = click.argument("events", nargs=-1, required=True, metavar="EVENTS...", type=events_path)
datahub_version_option = click.option(
    "--datahub-version",
    metavar="VERSION",
    help="DataHub version to write for, such as 1.4 (default: that of the server, else the newest).",
)
ledger_option = click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the ledger (default: the setting ledger.file).",
)
ledger_argument = click.argument("ledger", metavar="[LEDGER]", required=False, type=ledger_path)
new_ledger_option = click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Store runs and queued proposals in this file. A catalogue is its own ledger.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["never", "events", "delivery"]),
    default="events",
    show_default=True,
    help="Which failures set the exit code: events (1) and delivery (3), only delivery, or none.",
)
report_option = click.option(
    "--report",
    type=click.Path(dir_okay=False),
    help="Write the outcome of each field to this file, as explain --json does.",
)
dead_letters_option = click.option(
    "--dead-letters",
    "dead",
    type=click.Path(dir_okay=False),
    help="Write rejected events to this file. Fix them and pass the file as EVENTS again.",
)


def archive_option(text: str) -> Callable[[_Function], _Function]:
    """Return the option for a folder of ``dh-bridge log export``, with a help text."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--archive", metavar="FOLDER", type=folder, help=text)


def utf_8(text: str) -> str:
    """Return a text that is looked up, or becomes part of JSON: bytes that are no UTF-8 are in neither."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter(f"{text!r} is not UTF-8") from error
    return text


def config_options(command: _Function) -> _Function:
    """Add ``-c`` and ``--set``; the command gets ``config`` and ``assignments``."""
    config = click.option(
        "-c",
        "--config",
        type=click.Path(dir_okay=False),
        help="Settings file (default: dh_bridge.yml in the current folder, if it exists).",
    )
    assignments = click.option(
        "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="One setting, such as runs.abort=failure."
    )
    return config(assignments(command))


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-c`` and ``--set``; the command gets the loaded ``settings``."""

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> Any:
        flags = take_flags(arguments)
        return command(settings=load(arguments.pop("config"), flags=flags).settings, **arguments)

    return config_options(wrapper)


def split_pair(text: str, flag: str) -> tuple[str, str]:
    """Return the KEY and the VALUE of a flag."""
    key, separator, value = text.partition("=")
    if not separator:
        flag_key = text.partition(":")[0]  # the text after a colon is a value, which may be a secret
        raise click.UsageError(f"{flag} {flag_key}: write {flag} KEY=VALUE")
    return key, value


def take_flags(arguments: dict[str, Any]) -> list[Flag]:
    """Take the flags that are settings out of a command's ``arguments``."""
    flags = []
    for assignment in arguments.pop("assignments"):
        key, text = split_pair(assignment, "--set")
        flags.append(Flag(key.strip(), text, "--set"))
    for name, key in _SETTING_FLAGS.items():
        value = arguments.pop(name, None)
        if value is not None:
            flags.append(Flag(key, value, f"--{name.replace('_', '-')}"))
    return flags
