"""One call: events folded into runs, runs closed into translations, and what is counted and reported on the way."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from dh_bridge.datahub.proposal import Proposal, Remembered, upsert
from dh_bridge.datahub.search_texts import cut_fields, shortened
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.redaction import DEFAULT, redaction
from dh_bridge.translation.closing import Rejected
from dh_bridge.translation.report.newer import newer_aspects
from dh_bridge.translation.report.report import Report
from dh_bridge.translation.report.written import Written, entities, proposed
from dh_bridge.translation.runs.foreign_owned import by_key
from dh_bridge.translation.runs.skipped import settled_notes
from dh_bridge.translation.trace import Trace
from dh_bridge.translation.translate import Fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dh_bridge.translation.extract import Walk
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

Found = TypeVar("Found")

_PLATFORM = "openlineage"
PLATFORM_FLOWS = f"urn:li:dataFlow:({_PLATFORM},"
#: DataHub has no platform ``openlineage`` by itself.
PLATFORM = upsert(
    "dataPlatform",
    f"urn:li:dataPlatform:{_PLATFORM}",
    "dataPlatformInfo",
    {"name": _PLATFORM, "displayName": "OpenLineage", "type": "OTHERS", "datasetNameDelimiter": "."},
)


class Counts(msgspec.Struct):
    """How much went in and came out; ``mapped``, ``properties`` and ``dropped`` (fields by outcome) are None without a report.

    ``newer`` counts aspects that were left out because the profile does not know them, ``cut`` texts that were cut because
    they are too long for the search index.
    """

    events: int = 0
    runs: int = 0
    jobs: int = 0
    datasets: int = 0
    proposals: int = 0
    dead: int = 0
    rejected: int = 0
    newer: int = 0
    cut: int = 0
    filtered: Counter[str] = msgspec.field(default_factory=Counter)
    notes: Counter[str] = msgspec.field(default_factory=Counter)
    mapped: int | None = None
    properties: int | None = None
    dropped: int | None = None

    def add(self, other: Counts) -> None:
        """Add the counts of another translation; entities of several windows are counted in each."""
        for name in ("events", "runs", "jobs", "datasets", "proposals", "dead", "rejected", "newer", "cut"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.filtered.update(other.filtered)
        self.notes.update(other.notes)
        for name in ("mapped", "properties", "dropped"):
            count = getattr(other, name)
            if count is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)


class _Named:
    """URNs of the jobs and datasets that the proposals of a call are about, told piece by piece."""

    def __init__(self) -> None:
        self.jobs: set[str] = set()
        self.datasets: set[str] = set()


def counted(proposals: list[Proposal], named: _Named | None = None) -> tuple[set[str], Counts]:
    """Return the URNs of the flows that proposals are about, and the counts of jobs, datasets and proposals.

    ``named``: the jobs and datasets of those before them, which are not counted again; theirs come to it.
    """
    named = _Named() if named is None else named
    jobs, datasets = len(named.jobs), len(named.datasets)
    flows: set[str] = set()
    of_type = {"dataFlow": flows, "dataJob": named.jobs, "dataset": named.datasets}
    last = ""
    cut = 0
    for proposal in proposals:
        if type(proposal) is Remembered:
            cut += len(cut_fields(proposal))
        if (urn := proposal.entity_urn) != last and (urns := of_type.get(proposal.entity_type)) is not None:
            urns.add(urn)
        last = urn
    counts = Counts(
        jobs=len(named.jobs) - jobs, datasets=len(named.datasets) - datasets, proposals=len(proposals), cut=cut
    )
    return flows, counts


class Translation(msgspec.Struct):
    """What a call makes of its events: proposals, unusable events, proposals that we refused ourselves, counts."""

    proposals: list[Proposal]
    dead: list[DeadLetter]
    rejected: list[Rejected]
    counts: Counts
    report: Report | None = None


class Folds(Protocol):
    """What a call folds its events with: `translate.Fold`, or a fold over states that outlive the call."""

    walk: Walk
    rejected: list[Rejected]
    closed: list[RunState]

    @property
    def runs(self) -> dict[str, RunState]:
        """The open runs by key."""

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Fold one event into its run; None when a filter left it out."""

    def closing(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:
        """Yield the valid proposals of the runs ``keys``, of all by default, piece by piece.

        With the first, ``closed`` has the runs as they were settled.
        """

    def standing(self, urns: Iterable[str]) -> Iterator[Proposal]:
        """Yield what was written in earlier calls of entities that these did not change."""


class Call:
    """The open runs of one call, and what the report needs of their events."""

    def __init__(self, options: Options, *, report: bool, fold: Folds | None = None) -> None:
        options.need_environments()
        self._options = options
        self._fold: Folds = fold or Fold(options)
        self._plain = options.settings.redaction == DEFAULT
        self._report = report
        self._seen: dict[str, list[tuple[Event, Trace]]] = {}
        self._loose: list[tuple[Event, Trace]] = []
        self._events = 0
        self._notes: list[str] = []
        self._introduced = not options.settings.identity.register_platform
        self.dead: list[DeadLetter] = []

    @property
    def waiting(self) -> bool:
        """Whether anything is left to tell: after an input that ends with a window, runs are open all the same."""
        return bool(self._events or self._fold.runs or self.dead)

    def add(self, event: Event) -> str | None:
        """Fold an event; return the key of its run, None when it was filtered out."""
        self._options.masking.event(event)
        refusal = self._options.refusal(event)
        if refusal is not None:  # counted as dead alone: events and dead letters are together all that came
            self.dead.append(DeadLetter(event.place, refusal, event.raw))
            return None
        self._events += 1
        self._notes += event.notes
        trace = Trace() if self._report else None
        state = self._hiding(self._fold.add, event, trace)
        if state is None:
            if trace is not None:
                self._loose.append((event, trace))
            return None
        if trace is not None:
            self._seen.setdefault(state.key, []).append((event, trace))
        return state.key

    def close(self, keys: list[str] | None) -> Translation:
        """Return the translation of the runs ``keys``, or of all that are open."""
        states = self._open(keys)
        pieces = self._fold.closing(states)
        proposals, counts = self._with_platform(self._hiding(list, chain.from_iterable(pieces)), _Named())
        report = self._reported(states, proposals) if self._report else None
        return self._told_of(states, proposals, counts, report)

    def closing(self, keys: list[str] | None, *, piecewise: bool) -> Iterator[Translation]:
        """Yield what :meth:`close` returns; ``piecewise``: some hundreds of proposals at a time, each soon after it was made.

        The first tells what came in. A report is told at once, of all of it.
        """
        if self._report or not piecewise:
            yield self.close(keys)
            return
        states, named = self._open(keys), _Named()
        pieces = self._fold.closing(states)
        first = self._hiding(next, pieces, [])
        yield self._told_of(states, *self._with_platform(first, named), None)
        while (piece := self._hiding(next, pieces, None)) is not None:
            proposals, counts = self._with_platform(piece, named)
            rejected = self._rejected()
            counts.rejected = len(rejected)
            yield Translation(proposals, [], rejected, counts)

    def _told_of(
        self, states: dict[str, RunState], proposals: list[Proposal], counts: Counts, report: Report | None
    ) -> Translation:
        """Return the translation of ``states`` that became ``proposals``, with all that came in beside them."""
        fold = self._fold
        counts.runs = sum([1 for state in states.values() if state.urn])
        fold.closed = []
        counts.newer = newer_aspects(states.values(), self._options)
        counts.events, self._events = self._events, 0
        rejected = self._rejected()
        counts.dead, counts.rejected = len(self.dead), len(rejected)
        if fold.walk.filters.dropped:
            counts.filtered, fold.walk.filters.dropped = fold.walk.filters.dropped, Counter()
        if self._notes:
            counts.notes, self._notes = Counter(self._notes), []
        if report is not None:
            counts.mapped, counts.properties, counts.dropped = report.mapped, report.properties, report.dropped
        letters = [self._options.masking.letter(letter) for letter in self.dead]
        found = Translation(proposals, letters, rejected, counts, report)
        self.dead = []
        return found

    def _open(self, keys: list[str] | None) -> dict[str, RunState]:
        """Return the open ones of the runs ``keys``, or all that are open."""
        runs = self._fold.runs
        return dict(runs) if keys is None else {key: runs[key] for key in keys if key in runs}

    def _rejected(self) -> list[Rejected]:
        """Return what was refused since the last time; those that are still being made go to the same list."""
        found = self._fold.rejected[:]
        self._fold.rejected.clear()
        return found

    def forget(self) -> None:
        """Drop what came since the last close: whoever keeps the states took it back."""
        self._events, self._notes, self.dead = 0, [], []
        self._seen.clear()
        self._loose.clear()
        self._introduced = not self._options.settings.identity.register_platform
        self._fold.rejected = []
        self._fold.walk.filters.dropped = Counter()

    def _hiding(self, do: Callable[..., Found], *args: Any) -> Found:
        """Return what ``do`` returns, secrets hidden as the settings say."""
        if self._plain:
            return do(*args)
        with redaction(self._options.settings.redaction):
            return do(*args)

    def _with_platform(self, proposals: list[Proposal], named: _Named) -> tuple[list[Proposal], Counts]:
        """Put the platform ``openlineage`` before its first flow: DataHub does not know it by itself."""
        flows, counts = counted(proposals, named)
        if not self._introduced and any([urn.startswith(PLATFORM_FLOWS) for urn in flows]):  # noqa: C419 - faster
            self._introduced = True
            proposals = [PLATFORM, *proposals]
            counts.proposals += 1
        return proposals, counts

    def _reported(self, states: dict[str, RunState], proposals: list[Proposal]) -> Report:
        with redaction(self._options.settings.redaction):  # the report tells what it hid
            return self._told(states, proposals)

    def _told(self, states: dict[str, RunState], proposals: list[Proposal]) -> Report:
        report = Report(self._options.prefix)
        for event, trace in self._loose:
            report.add(event, trace, None)
        self._loose = []
        settled_by = by_key(self._fold.closed)
        closed = [(key, settled_by.get(key, state)) for key, state in states.items() if key in self._seen]
        version = self._options.profile.name
        standing = [
            shortened(one, version)
            for one in self._fold.standing({urn for _, state in closed for urn in entities(state)})
        ]
        by_urn = proposed([*standing, *proposals], [one.proposal for one in self._fold.rejected], self._options)
        for key, state in closed:
            written = Written(state, by_urn, self._options)
            for event, trace in self._seen.pop(key):
                trace.notes = settled_notes(trace.notes, state)
                report.add(event, trace, written)
        return report
