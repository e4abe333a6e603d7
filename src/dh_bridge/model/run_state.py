"""The state of one run: the merged facts of its events, and the jobs that they name."""

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

#: Entities that replace the jobs of a placeholder event, until an event of the run names a job.
ANY_OWNER = "?owner"
ANY_TASK = "?task"
_NO_QUERIES: Mapping[str, str] = {}
_NO_URNS: frozenset[str] = frozenset()
"""Shared by all states: there may be tens of thousands of open runs, and most have no such URNs."""


class RunState:
    """The state of one run; a job or dataset event, which has no run, has a state of its own with ``urn`` "".

    ``key`` identifies the state: the URN of the run, or the content of a job or dataset event, so that duplicates have one state.
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
        "zone_reads",
    )

    def __init__(self, urn: str, run_id: str, kind: str, key: str = "") -> None:
        self.key = key or urn
        self.urn = urn
        self.run_id = run_id
        self.kind = kind
        #: dataset URNs that any event listed as outputs, if later snapshots dropped some of them
        self.snapshot_outputs = _NO_URNS
        self.facts: FactsByEntity = {}
        self.events: list[tuple[Version, str | None]] = []
        #: whether the last operation that is merged into the run failed; set when facts are resolved
        self.has_failed_operation = False
        #: task URN -> (job, (whether terminal, version) of its last event)
        self.jobs: dict[str, tuple[Job, tuple[bool, Version]]] = {}
        #: URNs of filtered datasets across which lineage is collapsed
        self.collapsed_urns = _NO_URNS
        #: dataset URNs that get no edge of lineage; set when facts are resolved
        self.unlinked_urns = _NO_URNS
        #: task URN -> query URN, with `optional_metadata: [queries]`
        self.queries: Mapping[str, str] = _NO_QUERIES
        self.producer: tuple[Version, str] | None = None
        self.schema_url: tuple[Version, str] | None = None
        self.is_single_event = False
        #: events that were read in the offset of others; set when facts are resolved
        self.zone_reads = 0
        #: whether these are all facts of the run; None: they are if its START is there
        self.is_complete: bool | None = None

    @property
    def guid(self) -> str | None:
        """The part of the URN that identifies the run in timeseries points; None without a run.

        The run id does not: an id that is no UUID may belong to runs of several jobs, and a run of a DataHub connector has several ids.
        """
        return self.urn.rpartition(":")[2] or None

    def copy(self) -> RunState:
        """Return a state whose facts can be resolved without changing this one; values are never changed in place."""
        duplicate = RunState(self.urn, self.run_id, self.kind, self.key)
        duplicate.facts = {
            urn: {fact_kind: dict(elements) for fact_kind, elements in registers.items()}
            for urn, registers in self.facts.items()
        }
        duplicate.events = list(self.events)
        duplicate.jobs = dict(self.jobs)
        duplicate.collapsed_urns = frozenset(self.collapsed_urns)
        duplicate.producer = self.producer
        duplicate.schema_url = self.schema_url
        duplicate.is_single_event = self.is_single_event
        duplicate.snapshot_outputs = self.snapshot_outputs
        duplicate.is_complete = self.is_complete
        duplicate.queries = self.queries
        return duplicate

    def has_type_hint(self, hint: str) -> bool:
        """Return whether an event of the run has this hint at its type, for example ``precedence.TYPE_STREAMING``."""
        return value(self.facts.get(self.urn, {}), RUN_TYPE, hint) is True

    def add_job(self, job: Job, version: Version, *, is_terminal: bool) -> None:
        """Note that an event of ``version`` belongs to ``job``."""
        rank = (is_terminal, version)
        previous = self.jobs.get(job.job_urn)
        if previous is None or rank > previous[1]:
            self.jobs[job.job_urn] = (job, rank)

    def job(self) -> Job | None:
        """Return the job of the run: of the last terminal event, else of the last event."""
        entries = [entry for entry in self.jobs.values() if not entry[0].placeholder]
        if len(entries) == 1:
            return entries[0][0]
        return max(entries, key=lambda entry: entry[1])[0] if entries else None

    def runner(self) -> Job | None:
        """Return the job of the run, else a placeholder, which has a platform and no name."""
        return self.job() or max(self.jobs.values(), key=lambda entry: entry[1], default=(None,))[0]


def fact_kinds_of(states: Iterable[RunState]) -> set[FactKind]:
    """Return the kinds of all facts of the runs: steps for other kinds are skipped."""
    return set().union(*[registers for state in states for registers in state.facts.values()])


def state_without_run(event: Event, subject: str | None, runs: dict[str, RunState], version: Version) -> RunState:
    """Return the state of an event without a run; ``subject`` is the dataset of a DatasetEvent, which has one point a millisecond."""
    key = f"dataset:{subject} {event.time // 1000}" if subject is not None else f"job:{version[2].value.hex()}"
    return runs.get(key) or runs.setdefault(key, RunState("", "", event.kind, key))
