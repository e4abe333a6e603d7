"""``dh-bridge log``: export, erase."""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import archive_option, dry_run_option, ledger_path, with_settings
from dh_bridge.cli.summary import open_output
from dh_bridge.cli.terminal import ask, echo, say
from dh_bridge.ledger.archive import export_log
from dh_bridge.ledger.erasing import erase as erase_ledger_events
from dh_bridge.ledger.erasing import plan_erasure
from dh_bridge.ledger.event_selection import EventSelection

if TYPE_CHECKING:
    from dh_bridge.ledger.erasing import Erasure
    from dh_bridge.settings import Settings

_MAX_SHOWN_URNS = 20


@click.group()
@examples(
    "dh-bridge emit examples/events --to catalog:people.db && dh-bridge log erase people.db --text maria --dry-run"
)
def log() -> None:
    """Manage the event log of a ledger: the folder LEDGER.log."""


@log.command()
@click.argument("ledger", type=ledger_path)
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path))
@with_settings
@examples("dh-bridge emit examples/events --to catalog:all.db && dh-bridge log export all.db archive")
def export(*, settings: Settings, ledger: Path, folder: Path) -> None:  # noqa: ARG001 - as all commands
    """Write the closed segments of the event log to FOLDER: one .ndjson.zst file each, with one event a line.

    Files that FOLDER has already stay as they are, so the command can run every day. A segment is closed at 64 MB, or when it is a
    day old. `emit` and `spark batch` read the files, and `replay --archive` replays them before the log.
    """
    exported = export_log(ledger, folder)
    echo(
        f"{exported.written:,} segments with {exported.events:,} events written to {folder},"
        f" {exported.present:,} were there before"
    )


@log.command()
@click.argument("ledger", type=ledger_path)
@click.option("--run", default="", metavar="ID", help="The events of this run.")
@click.option("--job", nargs=2, metavar="NAMESPACE NAME", help="The events of this job.")
@click.option("--dataset", nargs=2, metavar="NAMESPACE NAME", help="The events that name this dataset.")
@click.option(
    "--text",
    default="",
    metavar="TEXT",
    help="The events that contain this text, such as a secret or a name. With - it is read from stdin, and no shell remembers it.",
)
@archive_option("The folder of `log export`: the events are erased from its files, too.")
@click.option("--drop-older", is_flag=True, help="Also drop the states of events that the log has deleted.")
@click.option("--urns", metavar="FILE", help="Write the URNs that only these events named, for `datahub delete`.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:people.db && dh-bridge log erase people.db --text maria --dry-run"
)
def erase(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    ledger: Path,
    run: str,
    job: tuple[str, str] | None,
    dataset: tuple[str, str] | None,
    text: str,
    archive: Path | None,
    drop_older: bool,
    urns: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Erase events from the log of LEDGER, and what they left in LEDGER. Stop the processes that use LEDGER before.

    States are rebuilt from the other events. Waiting proposals and dead letters of the entities are dropped. A catalogue loses the
    entities that only these events named. The freed space of the files is overwritten or deleted.

    A server keeps what was sent. --urns writes the entities that only these events named, for
    `datahub delete --hard --urn-file FILE`. The other entities of these events are sent again with the next delivery; values that
    patches added to them stay there. Backups keep the events, and so do exported archives that are not passed with --archive.

    If the log lacks older events (log.retention_days), pass an archive that has them. Without one, --drop-older is needed: LEDGER
    then forgets all that the older events stated. Its target keeps it.
    """
    if not (run or job or dataset or text):
        raise click.UsageError("pass --run, --job, --dataset or --text")
    if not (yes or dry_run or sys.stdin.isatty()):
        raise click.UsageError("stdin is not a terminal: pass --yes or --dry-run")
    selection = EventSelection(run, job, dataset, _read_text() if text == "-" else text)
    if dry_run:
        erasure = plan_erasure(ledger, selection, settings, archive=archive)
    else:
        result = erase_ledger_events(
            ledger, selection, settings, drop_older=drop_older, archive=archive,
            approve=lambda plan: yes or _confirm(plan),
        )  # fmt: skip
        if result is None:
            say("nothing is erased")
            raise click.exceptions.Exit(EXIT_DELIVERY)
        erasure = result
    _show(erasure, "would be erased" if dry_run else "erased")
    if urns is not None:
        with open_output("--urns", urns, "wb") as file:
            file.writelines(f"{urn}\n".encode() for urn in erasure.vanished)


def _read_text() -> str:
    """Return the first line of stdin; at a terminal, it is not shown."""
    text = getpass("Text: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not text:
        raise click.UsageError("--text -: stdin has no text in its first line")
    return text


def _confirm(erasure: Erasure) -> bool:
    return ask(f"{_events_text(erasure)}, {len(erasure.vanished):,} entities that only they named: erase them?")


def _events_text(erasure: Erasure) -> str:
    archived = "" if erasure.archived is None else f" ({erasure.archived:,} of them in the archive)"
    return f"{erasure.events:,} events{archived}"


def _show(erasure: Erasure, verb: str) -> None:
    for urn in erasure.vanished[:_MAX_SHOWN_URNS]:
        echo(urn)
    if len(erasure.vanished) > _MAX_SHOWN_URNS:
        echo(f"… and {len(erasure.vanished) - _MAX_SHOWN_URNS:,} more (--urns FILE)")
    say(f"{_events_text(erasure)} {verb}; {len(erasure.vanished):,} entities are named by no other event")
    if erasure.vanished or erasure.shared:
        say(
            f"A server keeps them: delete them with `datahub delete --hard --urn-file FILE` (--urns FILE). It also keeps what the"
            f" events added to {len(erasure.shared):,} other entities."
        )
