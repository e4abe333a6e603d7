"""The state of one run: the cells that its events folded into, and which jobs they named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.facts import RUN_TYPE
from dh_bridge.model.fold import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.model.job import Job
    from dh_bridge.model.merge import Version
    from dh_bridge.openlineage.events import Event

#: Entities that stand for the jobs a placeholder event belongs to, until a named event of the run tells.
ANY_OWNER = "?owner"
ANY_TASK = "?task"
_NO_QUERIES: Mapping[str, str] = {}
_NO_URNS: frozenset[str] = frozenset()
"""One for all: there may be tens of thousands of open runs, and most have none of these."""


class RunState:
    """What a call knows of one run; a job or dataset event, which has no run, is a state of its own with ``urn`` "".

    ``key`` tells the states of a call apart: the run's URN, or what a job or dataset event says, so that one that comes
    twice is one.
    """

    __slots__ = (
        "collapsed_urns",
        "events",
        "facts",
        "has_failed_operation",
        "is_complete",
        "is_single_event",
        "jobs",
        "key",
        "kind",
        "producer",
        "queries",
        "run_id",
        "schema_url",
        "snapshot_outputs",
        "unlinked_urns",
        "urn",
    )

    def __init__(self, urn: str, run_id: str, kind: str, key: str = "") -> None:
        self.key = key or urn
        self.urn = urn
        self.run_id = run_id
        self.kind = kind
        #: dataset URNs that any event listed as output, where snapshots left some of them out
        self.snapshot_outputs = _NO_URNS
        self.facts: FactsByEntity = {}
        self.events: list[tuple[Version, str | None]] = []
        #: whether an operation that it carries failed last; known once the run is settled
        self.has_failed_operation = False
        #: task URN -> (job, (whether terminal, stamp) of its last event)
        self.jobs: dict[str, tuple[Job, tuple[bool, Version]]] = {}
        #: dataset URNs that are filtered out but lineage runs through
        self.collapsed_urns = _NO_URNS
        #: dataset URNs that no edge of lineage is to name; known once the run is settled
        self.unlinked_urns = _NO_URNS
        #: task URN -> query URN, where `queries: on`
        self.queries: Mapping[str, str] = _NO_QUERIES
        self.producer: tuple[Version, str] | None = None
        self.schema_url: tuple[Version, str] | None = None
        self.is_single_event = False
        #: whether this is all that was ever said of the run; None: it is when its START is there
        self.is_complete: bool | None = None

    @property
    def guid(self) -> str | None:
        """What tells its points from those of other runs; None without a run.

        Its id may not: what is no UUID may be of runs of several jobs, and one run of a tool of DataHub has several ids.
        """
        return self.urn.rpartition(":")[2] or None

    def copy(self) -> RunState:
        """Return a state that can be settled without changing this one; cells themselves are never changed in place."""
        duplicate = RunState(self.urn, self.run_id, self.kind, self.key)
        duplicate.facts = {
            urn: {fact_kind: dict(elements) for fact_kind, elements in registers.items()}
            for urn, registers in self.facts.items()
        }
        duplicate.events, duplicate.jobs, duplicate.collapsed_urns = (
            list(self.events),
            dict(self.jobs),
            frozenset(self.collapsed_urns),
        )
        duplicate.producer, duplicate.schema_url, duplicate.is_single_event = (
            self.producer,
            self.schema_url,
            self.is_single_event,
        )
        duplicate.snapshot_outputs, duplicate.is_complete, duplicate.queries = (
            self.snapshot_outputs,
            self.is_complete,
            self.queries,
        )
        return duplicate

    def has_type_hint(self, hint: str) -> bool:
        """Whether any event of the run gave this hint at its type, as ``rungs.TYPE_STREAMING``."""
        return value(self.facts.get(self.urn, {}), RUN_TYPE, hint) is True

    def add_job(self, job: Job, version: Version, *, terminal: bool) -> None:
        """Note that an event of ``version`` belongs to ``job``."""
        rank = (terminal, version)
        previous = self.jobs.get(job.job_urn)
        if previous is None or rank > previous[1]:
            self.jobs[job.job_urn] = (job, rank)

    def job(self) -> Job | None:
        """Return the job that the run's template is: of the last terminal event, else of the last event."""
        entries = [entry for entry in self.jobs.values() if not entry[0].placeholder]
        if len(entries) == 1:
            return entries[0][0]
        return max(entries, key=lambda entry: entry[1])[0] if entries else None

    def runner(self) -> Job | None:
        """Return the job that tells what ran the run: its own, else a placeholder, which has a platform if no name."""
        return self.job() or max(self.jobs.values(), key=lambda entry: entry[1], default=(None,))[0]


def fact_kinds_of(states: Iterable[RunState]) -> set[FactKind]:
    """Return what kinds of things any of the runs says: for what none does nobody need look through all of them."""
    return set().union(*[registers for state in states for registers in state.facts.values()])


def state_without_run(event: Event, subject: str | None, runs: dict[str, RunState], version: Version) -> RunState:
    """Return the state of an event without a run; those ``subject`` one dataset and of one millisecond have one point."""
    key = f"dataset:{subject} {event.time // 1000}" if subject is not None else f"job:{version[2].value.hex()}"
    return runs.get(key) or runs.setdefault(key, RunState("", "", event.kind, key))
