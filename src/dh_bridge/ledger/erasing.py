"""Erases events, and what they left in a ledger: states, fingerprints, waiting proposals, dictionaries, free pages.

The states are rebuilt from the other events of the log, and of an archive if one is passed. The ledger is changed first, in one
transaction, then the log, and then the archive: if the process is killed in between, the events are still in the log or in the
archive, and the same call erases the rest.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.catalog.store import Catalog, delete_entities, delete_orphans
from dh_bridge.datahub.timeseries import document_id, is_timeseries
from dh_bridge.errors import SinkError
from dh_bridge.event_log.log_erase import erase_events
from dh_bridge.ledger.archive_erase import erase_archived, find_archived
from dh_bridge.ledger.archived_log import joined_log
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.export_lock import export_lock
from dh_bridge.ledger.factory import NullSink, open_ledger
from dh_bridge.ledger.ledger_log import forget_missing_events, log_folder
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.ledger.rebuild import ReadOnlyLog, adopt_states, rebuild_states
from dh_bridge.ledger.state_snapshots import delete_snapshots
from dh_bridge.ledger.text_traces import forget_text
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import zone_of
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.storage.database import Database
from dh_bridge.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dh_bridge.ledger.event_selection import EventSelection
    from dh_bridge.ledger.rebuild import RebuiltStates
    from dh_bridge.settings import Settings

_BUSY_MILLIS = 2_000
_EVENTS_PER_BATCH = 5_000
_SELECT_POINTS = "SELECT aspect, document FROM point WHERE entity = (SELECT id FROM entity WHERE urn = ?)"
_URN_TABLES = ("sent", "outbox", "new_entity")


class _TouchedEntities(NamedTuple):
    """What the selected events alone would send: the entities, and the points by aspect; ``positions``: of the events."""

    positions: list[int]
    urns: frozenset[str]
    points: frozenset[tuple[str, bytes]]


class Erasure(NamedTuple):
    """What is erased.

    ``events``: the number of events. ``vanished``: the entities that only these events named. ``shared``: the entities that other
    events name, too. ``archived``: how many of the events are in the archive, if there is one.
    """

    events: int
    vanished: list[str]
    shared: list[str]
    archived: int | None


class _Plan(NamedTuple):
    """What an erasure needs: the folder of the log, joined with the archive, what the events left, and the states without them."""

    log_folder: Path
    touched: _TouchedEntities
    rebuilt: RebuiltStates
    erasure: Erasure


def plan_erasure(
    ledger_path: Path, selection: EventSelection, settings: Settings, *, archive: Path | None = None
) -> Erasure:
    """Return what :func:`erase` would erase; nothing is changed.

    Raises:
        SinkError: There is no log, or a file cannot be read.
    """
    with _new_plan(ledger_path, selection, settings, archive) as plan:
        return plan.erasure


def erase(  # noqa: PLR0913 - the options of the command
    ledger_path: Path,
    selection: EventSelection,
    settings: Settings,
    *,
    drop_older: bool = False,
    archive: Path | None = None,
    approve: Callable[[Erasure], bool] = lambda _: True,
) -> Erasure | None:
    """Erase events, and what they left in the files of a ledger or catalogue. If it is interrupted, call it again.

    Args:
        ledger_path: the ledger, which no other process may use.
        selection: the events.
        settings: the settings of the ledger.
        drop_older: also drop the states of events that are no longer in the log.
        archive: a folder of ``dh-bridge log export``, from which the events are erased, too.
        approve: is asked before anything is changed.

    Returns:
        What was erased; None if it was not approved.

    Raises:
        SinkError: There is no log, it lacks events of the ledger, another process uses the ledger, or a file cannot be written.
    """
    with _exclusive(ledger_path):
        pass  # before the work begins
    with export_lock(ledger_path):
        return _erase(ledger_path, selection, settings, drop_older=drop_older, archive=archive, approve=approve)


def _erase(  # noqa: PLR0913 - as above
    ledger_path: Path,
    selection: EventSelection,
    settings: Settings,
    *,
    drop_older: bool,
    archive: Path | None,
    approve: Callable[[Erasure], bool],
) -> Erasure | None:
    with _new_plan(ledger_path, selection, settings, archive) as plan:
        if not (plan.rebuilt.is_complete or drop_older):
            raise SinkError(
                "the log lacks events whose states are in the ledger, so only a new ledger can forget the events",
                location=str(ledger_path if archive is None else archive),
                remedy="pass the folder of `dh-bridge log export` that has them with --archive, or --drop-older to drop their states",
            )
        if not approve(plan.erasure):
            return None
        with _exclusive(ledger_path) as file, ReadOnlyLog(plan.log_folder) as event_log:
            forget = partial(_forget, file, plan.erasure, plan.touched, selection.text, forget_all=drop_older)
            adopt_states(file, event_log, plan.rebuilt, settings, forget)
    if log_folder(ledger_path).is_dir():
        erase_events(log_folder(ledger_path), selection.matches)
        delete_snapshots(log_folder(ledger_path))
    if archive is not None:
        erase_archived(archive, selection.matches)
    if _is_catalogue(ledger_path):
        with CatalogSink(Catalog(ledger_path)) as sink, open_ledger(None, sink, settings) as ledger:
            assert ledger is not None  # noqa: S101 - of a catalogue
            list(ledger.render_withheld())
            delete_orphans(sink.catalog)
    with _exclusive(ledger_path) as file:
        file.connection.execute("VACUUM")
    return plan.erasure


@contextmanager
def _new_plan(
    ledger_path: Path, selection: EventSelection, settings: Settings, archive: Path | None
) -> Iterator[_Plan]:
    with joined_log(ledger_path, archive) as joined_folder:
        archived: set[int] = set()
        if archive is not None:
            with ReadOnlyLog(joined_folder) as event_log:
                archived = find_archived(archive, bytes.fromhex(event_log.log_id()), selection.matches)
        touched = _touched_entities(joined_folder, selection, settings)
        with rebuild_states(ledger_path, joined_folder, settings, is_left_out=selection.matches) as rebuilt:
            erasure = Erasure(
                len(archived.union(touched.positions)),
                sorted(touched.urns - rebuilt.urns),
                sorted(touched.urns & rebuilt.urns),
                None if archive is None else len(archived),
            )
            yield _Plan(joined_folder, touched, rebuilt, erasure)


def _touched_entities(joined_folder: Path, selection: EventSelection, settings: Settings) -> _TouchedEntities:
    """Merge the selected events alone in a temporary ledger, and return what they would send."""
    positions: list[int] = []
    zone = zone_of(settings)
    points: set[tuple[str, bytes]] = set()
    with ReadOnlyLog(joined_folder, lambda event: not selection.matches(event)) as event_log, _scratch_file() as path:
        with open_ledger(path, NullSink(), settings) as ledger:
            assert ledger is not None  # noqa: S101 - of a path
            events = event_log.positioned_events()
            while batch := list(islice(events, _EVENTS_PER_BATCH)):
                positions += [position for position, _ in batch]
                items = [item for _, event in batch for item in events_of(event.event, event.location, zone)]
                translation, _ = ledger.process_and_deliver(items)
                points |= {
                    (proposal.aspect_name, document_id(proposal.entity_urn, proposal.value))
                    for proposal in translation.proposals
                    if is_timeseries(proposal.aspect_name)
                }
        with Database(path, readonly=True) as file:
            urns = frozenset(urn for (urn,) in file.connection.execute("SELECT urn FROM sent"))
    return _TouchedEntities(positions, urns, frozenset(points))


@contextmanager
def _scratch_file() -> Iterator[Path]:
    with scratch_folder("erase") as folder:
        yield folder / "ledger.db"


@contextmanager
def _exclusive(ledger_path: Path) -> Iterator[Catalog]:
    """Yield a ledger that no other process can open; deleted rows are overwritten, and its write-ahead log is gone.

    Raises:
        SinkError: Another process uses the ledger.
    """
    Catalog(ledger_path, readonly=True).close()  # an error if there is none
    with Catalog(ledger_path) as file:
        try:
            file.connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLIS}")
            file.connection.execute("PRAGMA secure_delete = ON")
            file.connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
            file.connection.execute("PRAGMA main.journal_mode = DELETE").fetchone()
            file.connection.execute("BEGIN EXCLUSIVE")
            file.connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise SinkError(
                f"another process uses the ledger: {error}",
                location=str(ledger_path),
                remedy="stop `dh-bridge serve` and `emit`, and run the command again",
                retryable=True,
            ) from error
        yield file


def _is_catalogue(ledger_path: Path) -> bool:
    with Catalog(ledger_path, readonly=True) as file:
        return bool(file.connection.execute("SELECT EXISTS (SELECT 1 FROM entity)").fetchone()[0])


def _forget(file: Catalog, erasure: Erasure, touched: _TouchedEntities, text: str, *, forget_all: bool) -> None:
    """Delete what the erased events left, in the caller's transaction; the entities that stay are rendered again."""
    urns = [*erasure.vanished, *erasure.shared]
    runs = {urn for urn in urns if urn.startswith(RUN_URN_PREFIX)}
    documents = [
        *touched.points,
        *(row for urn in runs for row in file.connection.execute(_SELECT_POINTS, (urn,)).fetchall()),
    ]
    file.connection.executemany(
        "DELETE FROM sent_point WHERE key = ?", ((aspect.encode() + document,) for aspect, document in documents)
    )
    file.connection.executemany("DELETE FROM point WHERE aspect = ? AND document = ?", documents)
    delete_entities(file, {*erasure.vanished, *runs})
    delete_entities(file, set(urns) - runs, with_points=False)
    for table in _URN_TABLES:
        if forget_all:
            file.connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants of the schema
        file.connection.executemany(f"DELETE FROM {table} WHERE urn = ?", ((urn,) for urn in urns))  # noqa: S608 - as above
    if forget_all:
        forget_missing_events(file.connection)
    failures = LogFailures(file.connection)
    for position in touched.positions:
        failures.delete(position)
    if text:
        forget_text(file, text)
    _drop_dictionaries(file)


def _drop_dictionaries(file: Database) -> None:
    """Compress fingerprints with the dictionary of the package, and delete those that were made of values of the ledger."""
    compression = compression_of(file.connection)
    for urn, aspects in file.connection.execute("SELECT urn, aspects FROM sent").fetchall():
        stored = compression.compress_portable(compression.decompress(aspects))
        file.connection.execute("UPDATE sent SET aspects = ? WHERE urn = ?", (stored, urn))
    file.connection.execute("DELETE FROM dictionary")
    compression.forget()
