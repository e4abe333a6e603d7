"""The command line ``dh-bridge``. Only data is written to stdout; messages and progress are written to stderr.

The menu below has the texts of the help. A command is the function of its name in the module of its name, which is imported
on the first use. So ``dh-bridge --help`` imports only click. A test compares the menu with the commands.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dh_bridge.cache import relax_garbage_collection
from dh_bridge.cli.examples import examples
from dh_bridge.errors import BridgeError, EventError, SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper

EXIT_EVENTS, EXIT_USAGE, EXIT_DELIVERY, EXIT_INTERRUPTED, EXIT_UNREAD = 1, 2, 3, 130, 141

_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of stdout as a file on a full disk, and of a file of --report or --dead-letters there."""
_ACCESS_ERRNOS = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""Errors of a file or folder that cannot be accessed; other errors of files are reported where the files are opened."""

#: Section of the help -> command -> its first line; the first section holds the everyday ones.
MENU: dict[str, dict[str, str]] = {
    "Translate and deliver": {
        "translate": "Write the proposals for EVENTS to stdout, one JSON object per line.",
        "emit": "Translate EVENTS and deliver the proposals to DataHub, a catalogue or a file.",
        "check": "Find what would make a messy catalogue, before EVENTS are written.",
        "explain": "Show what happened to each field of the events: mapped, stored as a custom property, or dropped (and why).",
        "demo": "Translate the example events into a catalogue, and show counts and lineage.",
    },
    "Look": {
        "console": "Open a local page that shows a catalogue or ledger, and what events become.",
        "runs": "Show runs: all of them, or those of a job, flow or dataset.",
        "list": "List the datasets, jobs, flows, runs or checks of a catalogue or ledger, or count them.",
        "search": "Find entities by a text in their URN, name or description, or in the name of a column.",
        "lineage": "Show the lineage of a dataset, job, column or run, or of the whole graph.",
        "assertions": "Show the results of the data quality checks of a dataset, or of all datasets.",
        "get": "Show the aspects of one entity, its points in time and its relationships.",
        "urn": "Show the URN of the dataset NAMESPACE NAME, and the rule that it follows from.",
        "identity": "Show the flow, job and run of each event.",
    },
    "Operate": {
        "serve": "Run an OpenLineage HTTP endpoint that forwards events to DataHub.",
        "plan": "Show what EVENTS would change at TARGET. Nothing is written.",
        "verify": "Check that TARGET has the metadata of EVENTS: nothing missing, trimmed or overwritten.",
        "replay": "Process the events in the log of LEDGER again, under other settings or for another server.",
        "queue": "Show and manage the proposals that wait in a ledger.",
        "ledger": "Back up and restore a ledger or catalogue.",
        "log": "Manage the event log of a ledger: the folder LEDGER.log.",
        "prune": "Remove old runs of the bridge; jobs, datasets and lineage stay.",
        "spark": "Translate archives and streams of events on Spark.",
        "golden": "Compare the golden files of DIR with the proposals that their events give now.",
        "config": "Check and show the settings.",
        "doctor": "Check the installation, the settings and, on request, the server.",
    },
}


_BUILTIN_NAMES = ("list",)
"""Commands whose modules and functions have an underscore at the end: their names are Python's."""


class Commands(click.Group):
    """The group that reads the menu, shows it in sections, and turns our errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands in the menu's order."""
        return [name for section in MENU.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_") + ("_" if cmd_name in _BUILTIN_NAMES else "")
        command: click.Command = getattr(import_module(f"dh_bridge.cli.{name}"), name)
        _add_verbosity(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command by its name; click suggests similar names only among commands that are loaded."""
        name, command_names = args[0], self.list_commands(ctx)
        suggestions = get_close_matches(name, command_names, 1) if name not in command_names else []
        if suggestions and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r} (did you mean {suggestions[0]}?)", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one block of the help per section, from the menu alone."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in MENU.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in section.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments, as click does."""
        with _escape_messages():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a BridgeError becomes a message on stderr and an exit code."""
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            ctx.color = False  # click knows neither
        try:
            with _escape_messages():
                return super().invoke(ctx)
        except BridgeError as error:
            _say(f"Error: {error}")
            ctx.exit(exit_code(error))
        except KeyboardInterrupt:
            _say("\nInterrupted. Everything written so far stays. Run the same command again to finish.")
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            _discard_stdout()
            ctx.exit(EXIT_UNREAD)
        except OSError as error:
            if error.errno in _ACCESS_ERRNOS and error.filename is not None:
                _say(f"Error: {error.filename}: cannot be reached: {error.strerror}")
                ctx.exit(EXIT_DELIVERY)
            if error.errno not in _DISK_ERRNOS:
                raise
            _say(f"Error: the output cannot be written: {error.strerror}")
            _discard_stdout()
            ctx.exit(EXIT_DELIVERY)


def _set_verbosity(context: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    """Note ``-q`` or ``-v`` for the whole command; ``-v`` shows the log of the bridge and of its HTTP client."""
    if not value:
        return
    context.meta[f"dh_bridge.{option.name}"] = True
    if option.name == "verbose":
        import_module("dh_bridge.cli.verbose").log_to_stderr()


def _verbosity_options(*, hidden: bool = False) -> list[click.Option]:
    """Return the options ``-q`` and ``-v``, which all commands take; only the help of the group shows them."""
    texts = {
        "quiet": "Show only problems on stderr: no progress, no summary.",
        "verbose": "Show the log on stderr, with each HTTP request.",
    }
    return [
        click.Option(
            [f"-{name[0]}", f"--{name}"],
            is_flag=True,
            expose_value=False,
            hidden=hidden,
            callback=_set_verbosity,
            help=f"{text} Every command takes it.",
        )
        for name, text in texts.items()
    ]


def _add_verbosity(command: click.Command) -> None:
    """Give a command, and those below it, the options ``-q`` and ``-v``."""
    if isinstance(command, click.Group):
        for member in command.commands.values():
            _add_verbosity(member)
    elif not any("--quiet" in parameter.opts for parameter in command.params):
        command.params += _verbosity_options(hidden=True)


@contextmanager
def _escape_messages() -> Iterator[None]:
    """Escape the message of an error of click's inside: it quotes arguments."""
    try:
        yield
    except click.ClickException as error:
        from dh_bridge.cli.terminal import escape_text  # noqa: PLC0415 - for errors alone

        error.message = escape_text(error.message)  # type: ignore[misc]  # click shows the error itself
        raise


def _say(text: str) -> None:
    """Write a message to stderr."""
    from dh_bridge.cli.terminal import say  # noqa: PLC0415 - for errors alone

    say(text)


def _discard_stdout() -> None:
    """Discard buffered output that cannot be written: Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(error: BridgeError) -> int:
    """Return the exit code of an error's kind."""
    if isinstance(error, SinkError):
        return EXIT_DELIVERY
    return EXIT_EVENTS if isinstance(error, EventError) else EXIT_USAGE


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 success, 1 some events cannot be used or there are findings, 2 wrong usage or settings, 3 not delivered, 130 interrupted, 141 the reader of the output ended.",
)
@click.version_option(package_name="dh-bridge", message="%(prog)s %(version)s")
@examples("dh-bridge urn postgres://db.example.com:5432 shop.public.orders")
def commands() -> None:
    """Translate OpenLineage events into DataHub.

    Shell completion: run the output of `_DH_BRIDGE_COMPLETE=bash_source dh-bridge` in ~/.bashrc (also zsh_source, fish_source).
    """


commands.params += _verbosity_options()


def main() -> None:
    """Run the command line as a process of its own."""
    relax_garbage_collection()
    if sys.stderr is None:  # the parent process closed stderr: continue without messages
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process runs
    if sys.stdout is None:
        sys.stdout = import_module("dh_bridge.cli.terminal").ClosedStdout()
    elif sys.stdout.errors == "strict":  # tables for a code page, as of Windows, that lacks a sign of a name
        cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    commands(prog_name="dh-bridge", obj={"process": True})
