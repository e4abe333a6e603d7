"""``dh-bridge prune``."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.catalog.deleting import delete
from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.console import echo, say
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import profile_option, with_settings
from dh_bridge.cli.summary import written_to
from dh_bridge.cli.targets import existing
from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import open_destination
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger import refuse_beside_catalogue
from dh_bridge.ledger.pruning import forget, forget_checks, old_runs, retired_checks
from dh_bridge.sinks.base import address, target_kind
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink

_UNITS = {"h": 3_600_000, "d": 86_400_000}
_RUN = "dataProcessInstance"
_TOGETHER = 1_000
_SHOWN = 20


def _age(_context: click.Context, _option: click.Parameter, text: str) -> int:
    """Return days or hours, ``90d`` or ``36h``, in milliseconds."""
    found = re.fullmatch(r"(\d{1,6})([hd])", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no age: write 90d or 36h")
    return int(found[1]) * _UNITS[found[2]]


@click.command()
@click.option("--to", "target", required=True, metavar="TARGET", help="Where the runs are: rest:URL, catalog:FILE, ...")
@click.option(
    "--runs-older-than", "age", callback=_age, default="90d", show_default=True, metavar="AGE", help="90d, 36h."
)
@click.option(
    "--keep-last", type=click.IntRange(0), default=20, show_default=True, help="Runs of each job that stay anyway."
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The ledger that knows our runs (default: the setting ledger.file); a catalogue is its own.",
)
@click.option("--retired", is_flag=True, help="Instead of runs: checks that have retired (assertions.retire).")
@click.option("--hard", metavar="FILE", help="Write the URNs there for `datahub delete`, instead of removing softly.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and remove nothing.")
@profile_option
@with_settings
@examples("dh-bridge prune --to catalog:out/demo.db --runs-older-than 90d --keep-last 20 --dry-run")
def prune(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    target: str,
    age: int,
    keep_last: int,
    ledger: Path | None,
    retired: bool,
    hard: str | None,
    dry_run: bool,
) -> None:
    """Remove old runs that the bridge wrote; what they said of jobs and datasets stays.

    A run of a catalogue is deleted. Elsewhere the ledger knows our runs, and they are removed softly (status.removed = true), which
    `datahub-gc` makes final; for servers that refuse that, --hard writes a list for `datahub delete --hard --urn-file FILE`. The
    ledger forgets the runs, and with them what an event of theirs would have to be joined with; one that is told of again within
    `ledger.retention_days` is made visible again.

    Checks that have retired were removed softly by emit; --retired deletes them from a catalogue, and lists them with --hard
    for servers that show removed checks all the same. One that is made again comes back whole.
    """
    place, now = _place(target, settings, ledger, hard), int(time.time() * 1000)
    own = target_kind(target).own_ledger
    if retired and not (own or hard or dry_run):
        raise SettingsError("emit has removed them softly", where="--retired", now="name a list with --hard FILE")
    with existing(place) as file:
        if retired:
            urns = retired_checks(file, settings.assertions.retire)
        else:
            urns = old_runs(file, now - age, keep_last, catalogue=own)
        what = "checks" if retired else "runs"
        if dry_run:
            _show(urns, what)
            return
        if hard is not None:
            _list(urns, hard)
        with _target(target, settings, silent=own or hard is not None) as sink:
            left = 0
            for part in _parts(urns):
                if own:
                    delete(file, part)
                refused = set() if sink is None else _remove(part, sink)
                gone = [urn for urn in part if urn not in refused]
                with file.transaction():
                    if retired:
                        forget_checks(file, gone)
                    else:
                        forget(file, gone, settings.ledger, removed=None if sink is None else now)
                left += len(refused)
    say(f"{len(urns) - left:,} {what} {'are listed in ' + hard if hard is not None else 'removed'}")
    if left:
        raise click.exceptions.Exit(EXIT_DELIVERY)


def _place(target: str, settings: Settings, ledger: Path | None, hard: str | None) -> Path:
    """Return the file that knows what is ours; a SettingsError for options that do not fit the target."""
    if target_kind(target).own_ledger:
        refuse_beside_catalogue(ledger)
        if hard is not None:
            raise SettingsError(
                "is for servers", where="--hard", now="leave it out: a catalogue deletes what is ours itself"
            )
        return Path(address(target))
    place = ledger or settings.ledger.file
    if place is None:
        raise SettingsError("no ledger is named, and only it knows our runs", where="--ledger", now="name its file")
    return place


def _list(urns: Sequence[str], path: str) -> None:
    with written_to("--hard", path, "wb") as file:
        file.writelines(f"{urn}\n".encode() for urn in urns)


@contextmanager
def _target(target: str, settings: Settings, *, silent: bool) -> Iterator[Sink | None]:
    """Yield the sink of ``target``, or None when nothing is to be sent."""
    if silent:
        yield None
        return
    destination = open_destination(target, settings)
    with destination.sink as sink:
        if not Options(destination.settings).profile.has(_RUN, "status"):
            raise SinkError("knows no status of runs", where=target, now="write a list with --hard FILE")
        yield sink


def _remove(urns: Sequence[str], sink: Sink) -> set[str]:
    """Remove runs softly; return those that the target did not take."""
    delivery = sink.emit([upsert(_RUN, urn, "status", {"removed": True}) for urn in urns])
    for failure in delivery.failed[:_SHOWN]:
        say(f"not removed: {failure.proposal.entity_urn}: {failure.reason}")
    return {failure.proposal.entity_urn for failure in delivery.failed}


def _show(urns: Sequence[str], what: str) -> None:
    for urn in urns:
        echo(urn)
    say(f"{len(urns):,} {what} would go")


def _parts(urns: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(urns), _TOGETHER):
        yield urns[start : start + _TOGETHER]
