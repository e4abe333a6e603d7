"""Finds old runs and expired assertions for `dh-bridge prune`, and deletes them from the ledger.

The age of a run counts from its last terminal event or, if it never ended, from the last event that named it. The newest runs
of each job stay, whatever their age. What a run stated about jobs and datasets stays, too.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.aggregate.assertion_expiry import is_expired
from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.errors import SettingsError
from dh_bridge.ledger.ancestry import RunAncestry
from dh_bridge.ledger.related_runs import RelatedRuns
from dh_bridge.ledger.retention import Retention
from dh_bridge.ledger.runs import RunStore
from dh_bridge.ledger.sent import SentFingerprints
from dh_bridge.ledger.shared import SharedEntityStore

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dh_bridge.catalog.store import Catalog
    from dh_bridge.settings import LedgerSettings
    from dh_bridge.storage.database import Database

_SELECT_LEDGER_RUNS = "SELECT key, job, coalesce(ended / 1000, touched) FROM run WHERE key GLOB ? ORDER BY key"
_SELECT_CATALOGUE_RUNS = """
    SELECT entity.urn, job.urn, max(point.time) FROM entity
    LEFT JOIN point ON point.entity = entity.id AND point.aspect = 'dataProcessInstanceRunEvent'
    LEFT JOIN relationship ON relationship.source = entity.id AND relationship.name = 'InstanceOf'
    LEFT JOIN entity AS job ON job.id = relationship.target
    WHERE entity.type = 'dataProcessInstance' GROUP BY entity.id ORDER BY entity.urn
"""
_PROPERTIES_ASPECT = "dataProcessInstanceProperties"


class _PrunableRun(NamedTuple):
    """A run: its URN, the key of its job, its time in milliseconds."""

    urn: str
    job: Hashable
    time: int


def old_runs(file: Catalog, cutoff: int, keep_count: int, *, from_catalogue: bool) -> list[str]:
    """Return the URNs of the runs that are older than ``cutoff`` (milliseconds).

    Without the newest ``keep_count`` of each job.

    ``from_catalogue``: the runs in the catalogue of this file; else those of the ledger in it.
    """
    jobs: dict[Hashable, list[_PrunableRun]] = defaultdict(list)
    for run in _catalogue_runs(file) if from_catalogue else _ledger_runs(file):
        jobs[run.job].append(run)
    urns = []
    for runs in jobs.values():
        runs.sort(key=lambda run: (run.time, run.urn), reverse=True)
        urns += [run.urn for run in runs[keep_count:] if run.time < cutoff]
    return sorted(urns)


def prune_runs(file: Database, urns: Iterable[str], settings: LedgerSettings, *, removed_at: int | None = None) -> None:
    """Delete runs from the ledger, except what they state about other entities; the caller opens the transaction.

    ``removed_at``: when they were soft-deleted (milliseconds). A run that is named again later is restored.
    """
    run_ids, stored_ids = [], []
    run_urns = list(urns)
    for urn in run_urns:
        row = file.connection.execute("SELECT id, state IS NOT NULL FROM run WHERE key = ?", (urn,)).fetchone()
        if row is not None:
            run_ids.append(row[0])
            if row[1]:
                stored_ids.append(row[0])
    runs, shared, related_runs = (
        RunStore(file.connection),
        SharedEntityStore(file.connection),
        RelatedRuns(file.connection),
    )
    ancestry = RunAncestry(file.connection, runs)
    Retention(file.connection, settings, runs, shared, related_runs, ancestry).forget_runs(stored_ids, run_ids)
    # also what late events of an evicted run added
    file.connection.executemany("DELETE FROM sent WHERE urn = ?", ((urn,) for urn in run_urns))
    if removed_at is not None:
        fingerprints = SentFingerprints(file.connection)
        for urn in run_urns:
            fingerprints.record_removal(urn, removed_at)


def expired_checks(file: Database, rule: str) -> list[str]:
    """Return the URNs of the assertions that expired by ``rule`` (`assertions.expire`).

    Without those that were pruned before.
    """
    if rule == "off":
        raise SettingsError(
            "this setting is off, so no assertion can be removed",
            location="assertions.expire",
            remedy="set it, e.g. to runs:5",
        )
    shared, fingerprints = SharedEntityStore(file.connection), SentFingerprints(file.connection)
    rows = file.connection.execute("SELECT urn FROM shared WHERE urn GLOB 'urn:li:assertion:*' ORDER BY urn").fetchall()
    return [
        urn for (urn,) in rows if is_expired(urn, shared.registers_of, rule) and not fingerprints.is_hard_deleted(urn)
    ]


def prune_checks(file: Database, urns: Iterable[str]) -> None:
    """Record in a transaction that assertions were hard-deleted.

    They are sent again, completely, when they are evaluated again.
    """
    fingerprints = SentFingerprints(file.connection)
    for urn in urns:
        fingerprints.mark_hard_deleted(urn)


def _ledger_runs(file: Database) -> Iterator[_PrunableRun]:
    for row in file.connection.execute(_SELECT_LEDGER_RUNS, (f"{RUN_URN_PREFIX}*",)):
        yield _PrunableRun(*row)


def _catalogue_runs(file: Catalog) -> Iterator[_PrunableRun]:
    for urn, job, time in file.connection.execute(_SELECT_CATALOGUE_RUNS).fetchall():
        properties = None if time is not None else file.aspect(urn, _PROPERTIES_ASPECT)  # of an implied parent
        run_time = time if time is not None else (properties or {}).get("created", {}).get("time")
        if run_time is not None:
            yield _PrunableRun(urn, job, run_time)
