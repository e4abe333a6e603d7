"""The state of one run: the cells that its events folded into, and which jobs they named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import RUN_TYPE
from dh_bridge.translation.fold import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.merge import Stamp

#: Entities that stand for the jobs a placeholder event belongs to, until a named event of the run tells.
ANY_OWNER = "?owner"
ANY_TASK = "?task"
_NONE: Mapping[str, str] = {}
_NOTHING: frozenset[str] = frozenset()
"""One for all: there may be tens of thousands of open runs, and most have none of these."""


class RunState:
    """What a call knows of one run; a job or dataset event, which has no run, is a state of its own with ``urn`` "".

    ``key`` tells the states of a call apart: the run's URN, or what a job or dataset event says, so that one that comes
    twice is one.
    """

    __slots__ = (
        "cells",
        "events",
        "failed",
        "jobs",
        "key",
        "kind",
        "listed",
        "producer",
        "queries",
        "run_id",
        "schema_url",
        "single",
        "through",
        "unlinked",
        "urn",
        "whole",
    )

    def __init__(self, urn: str, run_id: str, kind: str, key: str = "") -> None:
        self.key = key or urn
        self.urn = urn
        self.run_id = run_id
        self.kind = kind
        #: dataset URNs that any event listed as output, where snapshots left some of them out
        self.listed = _NOTHING
        self.cells: Cells = {}
        self.events: list[tuple[Stamp, str | None]] = []
        #: whether an operation that it carries failed last; known once the run is settled
        self.failed = False
        #: task URN -> (job, (whether terminal, stamp) of its last event)
        self.jobs: dict[str, tuple[Job, tuple[bool, Stamp]]] = {}
        #: dataset URNs that are filtered out but lineage runs through
        self.through = _NOTHING
        #: dataset URNs that no edge of lineage is to name; known once the run is settled
        self.unlinked = _NOTHING
        #: task URN -> query URN, where `queries: on`
        self.queries: Mapping[str, str] = _NONE
        self.producer: tuple[Stamp, str] | None = None
        self.schema_url: tuple[Stamp, str] | None = None
        self.single = False
        #: whether this is all that was ever said of the run; None: it is when its START is there
        self.whole: bool | None = None

    @property
    def mark(self) -> str | None:
        """What tells its points from those of other runs; None without a run.

        Its id may not: what is no UUID may be of runs of several jobs, and one run of a tool of DataHub has several ids.
        """
        return self.urn.rpartition(":")[2] or None

    def copy(self) -> RunState:
        """Return a state that can be settled without changing this one; cells themselves are never changed in place."""
        found = RunState(self.urn, self.run_id, self.kind, self.key)
        found.cells = {
            urn: {slot: dict(elements) for slot, elements in slots.items()} for urn, slots in self.cells.items()
        }
        found.events, found.jobs, found.through = list(self.events), dict(self.jobs), frozenset(self.through)
        found.producer, found.schema_url, found.single = self.producer, self.schema_url, self.single
        found.listed, found.whole, found.queries = self.listed, self.whole, self.queries
        return found

    def hinted(self, hint: str) -> bool:
        """Whether any event of the run gave this hint at its type, as ``rungs.TYPE_STREAMING``."""
        return value(self.cells.get(self.urn, {}), RUN_TYPE, hint) is True

    def saw(self, job: Job, stamp: Stamp, *, terminal: bool) -> None:
        """Note that an event of ``stamp`` belongs to ``job``."""
        rank = (terminal, stamp)
        old = self.jobs.get(job.job_urn)
        if old is None or rank > old[1]:
            self.jobs[job.job_urn] = (job, rank)

    def job(self) -> Job | None:
        """Return the job that the run's template is: of the last terminal event, else of the last event."""
        named = [entry for entry in self.jobs.values() if not entry[0].placeholder]
        if len(named) == 1:
            return named[0][0]
        return max(named, key=lambda entry: entry[1])[0] if named else None

    def runner(self) -> Job | None:
        """Return the job that tells what ran the run: its own, else a placeholder, which has a platform if no name."""
        return self.job() or max(self.jobs.values(), key=lambda entry: entry[1], default=(None,))[0]


def kinds_of(states: Iterable[RunState]) -> set[Slot]:
    """Return what kinds of things any of the runs says: for what none does nobody need look through all of them."""
    return set().union(*[slots for state in states for slots in state.cells.values()])


def state_without_run(event: Event, about: str | None, runs: dict[str, RunState], stamp: Stamp) -> RunState:
    """Return the state of an event without a run; those ``about`` one dataset and of one millisecond have one point."""
    key = f"dataset:{about} {event.time // 1000}" if about is not None else f"job:{stamp[2].value.hex()}"
    return runs.get(key) or runs.setdefault(key, RunState("", "", event.kind, key))
