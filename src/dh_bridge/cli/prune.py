"""``dh-bridge prune``."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.catalog.store import delete_entities
from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, with_settings
from dh_bridge.cli.summary import open_output
from dh_bridge.cli.targets import open_existing
from dh_bridge.cli.terminal import echo, say
from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import open_target
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger import reject_second_ledger
from dh_bridge.ledger.pruning import expired_checks, old_runs, prune_checks, prune_runs
from dh_bridge.options import Options
from dh_bridge.sinks.base import address_of, target_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink
    from dh_bridge.storage.database import Database

_MILLIS_PER_UNIT = {"h": 3_600_000, "d": 86_400_000}
_RUN_TYPE = "dataProcessInstance"
_MIN_REPORTED_BYTES = 1_000_000
_URNS_PER_BATCH = 1_000
_MAX_SHOWN_FAILURES = 20


def _parse_age(_context: click.Context, _option: click.Parameter, text: str) -> int:
    """Return days or hours, ``90d`` or ``36h``, in milliseconds."""
    match = re.fullmatch(r"(\d{1,6})([hd])", text)
    if match is None:
        raise click.BadParameter(f"{text!r} is not an age: write 90d or 36h")
    return int(match[1]) * _MILLIS_PER_UNIT[match[2]]


@click.command()
@click.option("--to", "target", required=True, metavar="TARGET", help="Where the runs are: rest:URL, catalog:FILE, ...")
@click.option(
    "--runs-older-than", "age", callback=_parse_age, default="90d", show_default=True, metavar="AGE", help="90d, 36h."
)
@click.option(
    "--keep-last",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Number of latest runs of each job that always stay.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The ledger with the runs (default: the setting ledger.file). A catalogue is its own.",
)
@click.option("--expired", is_flag=True, help="Remove expired assertions (assertions.expire) instead of runs.")
@click.option("--hard", metavar="FILE", help="Write a list of URNs for `datahub delete` instead of soft-deleting.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@datahub_version_option
@with_settings
@examples("dh-bridge prune --to catalog:out/demo.db --runs-older-than 90d --keep-last 20 --dry-run")
def prune(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    target: str,
    age: int,
    keep_last: int,
    ledger: Path | None,
    expired: bool,
    hard: str | None,
    dry_run: bool,
) -> None:
    """Remove old runs of the bridge; jobs, datasets and lineage stay.

    In a catalogue, runs are deleted. On a server, runs that the ledger knows are soft-deleted (status.removed = true), and
    `datahub-gc` deletes them for good. If the server rejects that, --hard writes a list for `datahub delete --hard --urn-file FILE`.
    The ledger deletes the state of the runs. A run that an event names again within `ledger.retention_days` is restored.

    --expired removes assertions that have expired (assertions.expire): from a catalogue, or with --hard as a list for servers that
    show soft-deleted assertions. An assertion that is evaluated again is restored.
    """
    ledger_path, now = _ledger_path(target, settings, ledger, hard), int(time.time() * 1000)
    is_catalog = target_kind(target).has_own_ledger
    if expired and not (is_catalog or hard or dry_run):
        raise SettingsError("emit has soft-deleted them", location="--expired", remedy="name a list with --hard FILE")
    with open_existing(ledger_path) as file:
        if expired:
            urns = expired_checks(file, settings.assertions.expire)
        else:
            urns = old_runs(file, now - age, keep_last, from_catalogue=is_catalog)
        label = "checks" if expired else "runs"
        if dry_run:
            _print_urns(urns, label)
            return
        if hard is not None:
            _write_list(urns, hard)
        with _open_sink(target, settings, is_local=is_catalog or hard is not None) as sink:
            failed_count = 0
            for batch in _batches(urns):
                if is_catalog:
                    delete_entities(file, batch)
                refused_urns = set() if sink is None else _remove(batch, sink)
                removed_urns = [urn for urn in batch if urn not in refused_urns]
                with file.transaction():
                    if expired:
                        prune_checks(file, removed_urns)
                    else:
                        prune_runs(file, removed_urns, settings.ledger, removed_at=None if sink is None else now)
                failed_count += len(refused_urns)
        released_bytes = _release_space(file)
    say(f"{len(urns) - failed_count:,} {label} {'are listed in ' + hard if hard is not None else 'removed'}")
    if released_bytes >= _MIN_REPORTED_BYTES:
        say(f"{ledger_path} is {released_bytes / 1e6:,.1f} MB smaller")
    if failed_count:
        raise click.exceptions.Exit(EXIT_DELIVERY)


def _release_space(file: Database) -> int:
    """Return the space of the deleted rows to the disk; if another process uses the file, print so."""
    try:
        return file.release_free_pages()
    except SinkError as error:
        say(str(error))
        return 0


def _ledger_path(target: str, settings: Settings, ledger: Path | None, hard: str | None) -> Path:
    """Return the file that lists the entities of the bridge; a SettingsError for options that do not fit the target."""
    if target_kind(target).has_own_ledger:
        reject_second_ledger(ledger)
        if hard is not None:
            raise SettingsError(
                "is for servers", location="--hard", remedy="omit it: a catalogue deletes the runs of the bridge itself"
            )
        return Path(address_of(target))
    ledger_path = ledger or settings.ledger.file
    if ledger_path is None:
        raise SettingsError(
            "a ledger is required: it knows which runs the bridge wrote", location="--ledger", remedy="name its file"
        )
    return ledger_path


def _write_list(urns: Sequence[str], path: str) -> None:
    with open_output("--hard", path, "wb") as file:
        file.writelines(f"{urn}\n".encode() for urn in urns)


@contextmanager
def _open_sink(target: str, settings: Settings, *, is_local: bool) -> Iterator[Sink | None]:
    """Yield the sink of ``target``, or None when nothing is to be sent."""
    if is_local:
        yield None
        return
    delivery_target = open_target(target, settings)
    with delivery_target.sink as sink:
        if not Options(delivery_target.settings).profile.has_aspect(_RUN_TYPE, "status"):
            raise SinkError(
                "does not support the status of runs", location=target, remedy="write a list with --hard FILE"
            )
        yield sink


def _remove(urns: Sequence[str], sink: Sink) -> set[str]:
    """Remove runs softly; return those that the target did not take."""
    delivery = sink.emit([upsert(_RUN_TYPE, urn, "status", {"removed": True}) for urn in urns])
    for failure in delivery.failures[:_MAX_SHOWN_FAILURES]:
        say(f"not removed: {failure.proposal.entity_urn}: {failure.reason}")
    return {failure.proposal.entity_urn for failure in delivery.failures}


def _print_urns(urns: Sequence[str], label: str) -> None:
    for urn in urns:
        echo(urn)
    say(f"{len(urns):,} {label} would go")


def _batches(urns: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(urns), _URNS_PER_BATCH):
        yield urns[start : start + _URNS_PER_BATCH]
