"""Old runs of ours and retired checks, for `dh-bridge prune`: which they are, and how the ledger forgets them.

A run is as old as its last terminal event; one that never ended, as what was last told of it. The newest runs of each job
stay, whatever their age. What a run said of jobs and datasets stays, too.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SettingsError
from dh_bridge.ledger.ancestry import Heritage
from dh_bridge.ledger.related_runs import Kin
from dh_bridge.ledger.retention import Retention
from dh_bridge.ledger.runs import Runs
from dh_bridge.ledger.sent import Sent
from dh_bridge.ledger.shared import Shared
from dh_bridge.translation.runs.assertion_expiry import retired
from dh_bridge.translation.runs.other_runs import RUN

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dh_bridge.catalog.store import Catalog
    from dh_bridge.settings import LedgerSettings
    from dh_bridge.storage.database import Database

_LEDGER = "SELECT key, job, coalesce(ended / 1000, touched) FROM run WHERE key GLOB ? ORDER BY key"
_CATALOG = """
    SELECT entity.urn, job.urn, max(point.time) FROM entity
    LEFT JOIN point ON point.entity = entity.id AND point.aspect = 'dataProcessInstanceRunEvent'
    LEFT JOIN relationship ON relationship.source = entity.id AND relationship.name = 'InstanceOf'
    LEFT JOIN entity AS job ON job.id = relationship.target
    WHERE entity.type = 'dataProcessInstance' GROUP BY entity.id ORDER BY entity.urn
"""
_PROPERTIES = "dataProcessInstanceProperties"


class _Known(NamedTuple):
    """A run: its URN, what tells its job from others, its time in milliseconds."""

    urn: str
    job: Hashable
    time: int


def old_runs(file: Catalog, before: int, keep: int, *, catalogue: bool) -> list[str]:
    """Return the URNs of the runs that are older than ``before`` (milliseconds), without the newest ``keep`` of each job.

    ``catalogue``: the runs that are in the catalogue of this file; else those that the ledger in it knows.
    """
    jobs: dict[Hashable, list[_Known]] = defaultdict(list)
    for run in _in_catalogue(file) if catalogue else _in_ledger(file):
        jobs[run.job].append(run)
    found = []
    for runs in jobs.values():
        runs.sort(key=lambda run: (run.time, run.urn), reverse=True)
        found += [run.urn for run in runs[keep:] if run.time < before]
    return sorted(found)


def forget(file: Database, urns: Iterable[str], settings: LedgerSettings, *, removed: int | None = None) -> None:
    """Let the ledger forget runs as if they had never been, but for what they said of others; the caller opens the transaction.

    ``removed``: when they were removed softly (milliseconds): one that is told of again is to be visible again.
    """
    numbers, kept = [], []
    gone = list(urns)
    for urn in gone:
        row = file.connection.execute("SELECT id, state IS NOT NULL FROM run WHERE key = ?", (urn,)).fetchone()
        if row is not None:
            numbers.append(row[0])
            if row[1]:
                kept.append(row[0])
    runs, shared, kin = Runs(file.connection), Shared(file.connection), Kin(file.connection)
    heritage = Heritage(file.connection, runs)
    Retention(file.connection, settings, runs, shared, kin, heritage).forget(kept, numbers)
    # also what late events of a run that had been let go brought
    file.connection.executemany("DELETE FROM sent WHERE urn = ?", ((urn,) for urn in gone))
    if removed is not None:
        sent = Sent(file.connection)
        for urn in gone:
            sent.note_removal(urn, removed)


def retired_checks(file: Database, rule: str) -> list[str]:
    """Return the URNs of the checks that have retired by ``rule`` (`assertions.retire`), but for those that were pruned before."""
    if rule == "off":
        raise SettingsError("no check ever retires", where="assertions.retire", now="say when, such as runs:5")
    shared, sent = Shared(file.connection), Sent(file.connection)
    rows = file.connection.execute("SELECT urn FROM shared WHERE urn GLOB 'urn:li:assertion:*' ORDER BY urn").fetchall()
    return [urn for (urn,) in rows if retired(urn, shared.cells, rule) and not sent.is_buried(urn)]


def forget_checks(file: Database, urns: Iterable[str]) -> None:
    """Note that checks are gone for good: nothing is sent of them until they are made again, and then all; in a transaction."""
    sent = Sent(file.connection)
    for urn in urns:
        sent.bury(urn)


def _in_ledger(file: Database) -> Iterator[_Known]:
    for row in file.connection.execute(_LEDGER, (f"{RUN}*",)):
        yield _Known(*row)


def _in_catalogue(file: Catalog) -> Iterator[_Known]:
    for urn, job, time in file.connection.execute(_CATALOG).fetchall():
        created = None if time is not None else file.aspect(urn, _PROPERTIES)  # of a parent without events of its own
        found = time if time is not None else (created or {}).get("created", {}).get("time")
        if found is not None:
            yield _Known(urn, job, found)
