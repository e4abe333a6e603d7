"""One call: merges events into runs, closes runs into translations, counts and reports."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from dh_bridge.aggregate.event_zones import ZONE_OF_RUN
from dh_bridge.aggregate.foreign_owned import states_by_key
from dh_bridge.aggregate.skipped import resolve_notes
from dh_bridge.closing import RejectedProposal
from dh_bridge.datahub.proposal import CachedProposal, Proposal, upsert
from dh_bridge.datahub.search_texts import cut_fields, cut_long_texts
from dh_bridge.model.job import DEFAULT_PLATFORM
from dh_bridge.model.trace import Trace
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.pipeline import RunAggregator
from dh_bridge.redaction import DEFAULT, redaction_mode
from dh_bridge.report.newer import count_newer_aspects
from dh_bridge.report.report import Report
from dh_bridge.report.written import WrittenAspects, entity_urns, proposed_aspects

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from dh_bridge.extract import FactExtractor
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

ResultT = TypeVar("ResultT")

PLATFORM_FLOWS = f"urn:li:dataFlow:({DEFAULT_PLATFORM},"
#: DataHub has no platform ``openlineage`` by itself.
PLATFORM = upsert(
    "dataPlatform",
    f"urn:li:dataPlatform:{DEFAULT_PLATFORM}",
    "dataPlatformInfo",
    {"name": DEFAULT_PLATFORM, "displayName": "OpenLineage", "type": "OTHERS", "datasetNameDelimiter": "."},
)


#: An empty counter: ``Counter()`` takes ten times as long, to update the counter with nothing, and each event alone has three.
_no_counts = partial(Counter.__new__, Counter)


class Counts(msgspec.Struct):
    """Counts of input and output; ``mapped``, ``properties`` and ``dropped`` (fields by outcome) are None without a report.

    ``lost`` counts the dropped fields that had a value to store: no empty values, duplicates or descriptions of facets.

    ``newer`` counts aspects that were left out because the DataHub version does not support them, ``cut`` texts that were
    truncated because they are too long for the search index.
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
    filtered: Counter[str] = msgspec.field(default_factory=_no_counts)
    notes: Counter[str] = msgspec.field(default_factory=_no_counts)
    mapped: int | None = None
    properties: int | None = None
    dropped: int | None = None
    lost: int | None = None

    def add(self, counts: Counts) -> None:
        """Add the counts of another translation; entities of several windows are counted in each."""
        for name in ("events", "runs", "jobs", "datasets", "proposals", "dead", "rejected", "newer", "cut"):
            setattr(self, name, getattr(self, name) + getattr(counts, name))
        self.filtered.update(counts.filtered)
        self.notes.update(counts.notes)
        for name in ("mapped", "properties", "dropped", "lost"):
            count = getattr(counts, name)
            if count is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)


class _CountedEntities:
    """The URNs of jobs and datasets in the proposals of a call, collected piece by piece."""

    def __init__(self) -> None:
        self.jobs: set[str] = set()
        self.datasets: set[str] = set()


def count_entities(proposals: list[Proposal], entity_urns: _CountedEntities | None = None) -> tuple[set[str], Counts]:
    """Return the URNs of the flows in the proposals, and the counts of jobs, datasets and proposals.

    ``entity_urns``: the jobs and datasets of earlier proposals, which are not counted again; new ones are added.
    """
    entity_urns = _CountedEntities() if entity_urns is None else entity_urns
    jobs, datasets = len(entity_urns.jobs), len(entity_urns.datasets)
    flows: set[str] = set()
    of_type = {"dataFlow": flows, "dataJob": entity_urns.jobs, "dataset": entity_urns.datasets}
    last = ""
    cut_count = 0
    for proposal in proposals:
        if type(proposal) is CachedProposal and "cut" in proposal.__dict__:
            cut_count += len(cut_fields(proposal))
        if (urn := proposal.entity_urn) is not last and (urns := of_type.get(proposal.entity_type)) is not None:
            urns.add(urn)
        last = urn
    counts = Counts(
        jobs=len(entity_urns.jobs) - jobs,
        datasets=len(entity_urns.datasets) - datasets,
        proposals=len(proposals),
        cut=cut_count,
    )
    return flows, counts


class Translation(msgspec.Struct):
    """The result of a call: proposals, unusable events, proposals that violate their schema, counts."""

    proposals: list[Proposal]
    dead: list[DeadLetter]
    rejected: list[RejectedProposal]
    counts: Counts
    report: Report | None = None


class Aggregator(Protocol):
    """The aggregator of a call: `pipeline.RunAggregator`, or `ledger.fold.StatefulAggregator`, whose states outlive the call."""

    extractor: FactExtractor
    rejected: list[RejectedProposal]
    closed_runs: list[RunState]

    @property
    def runs(self) -> dict[str, RunState]:
        """The open runs by key."""

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Add an event to its run; return None if a filter drops it."""

    def close_in_pieces(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:
        """Yield the valid proposals of the runs ``keys``, of all by default, piece by piece.

        After the first piece, ``closed_runs`` has the runs with their resolved facts.
        """

    def unchanged_proposals(self, urns: Iterable[str]) -> Iterator[Proposal]:
        """Yield facts from earlier calls about entities that the events did not change."""


class Session:
    """The open runs of one call, and the data of their events for the report."""

    def __init__(self, options: Options, *, report: bool, aggregator: Aggregator | None = None) -> None:
        options.check_environments()
        self._options = options
        self._aggregator: Aggregator = aggregator or RunAggregator(options)
        self._has_default_redaction = options.settings.redaction == DEFAULT
        self._has_report = report
        self._events_by_run: dict[str, list[tuple[Event, Trace]]] = {}
        self._filtered_events: list[tuple[Event, Trace]] = []
        self._events = 0
        self._notes: list[str] = []
        self._has_platform = False
        self.dead: list[DeadLetter] = []

    @property
    def has_pending(self) -> bool:
        """Whether anything remains to be returned: runs are open even if the input ends with a window."""
        return bool(self._events or self._aggregator.runs or self.dead)

    def add(self, event: Event) -> str | None:
        """Add an event; return the key of its run, None if it was filtered out."""
        self._options.masking.mask_event(event)
        refusal = self._options.rejection_reason(event)
        if refusal is not None:  # counted as dead only: events and dead letters together are the input
            self.dead.append(DeadLetter(event.location, refusal, event.raw))
            return None
        self._events += 1
        trace = Trace() if self._has_report else None
        state = self._call_redacted(self._aggregator.add, event, trace)
        self._notes += event.notes  # those about its names are added by the extraction
        if state is None:
            if trace is not None:
                self._filtered_events.append((event, trace))
            return None
        if trace is not None:
            self._events_by_run.setdefault(state.key, []).append((event, trace))
        return state.key

    def skip_report_unless_noted(self, reasons: Collection[str]) -> None:
        """Return no report if no field of the open events was dropped for one of ``reasons``: a report takes longest of all."""
        noted_events = chain(self._filtered_events, chain.from_iterable(self._events_by_run.values()))
        if not any(
            any(note in reasons for _, note in trace.notes)
            or any(note.partition(":")[0] in reasons for note in event.notes)
            for event, trace in noted_events
        ):
            self._has_report = False

    def close(self, keys: list[str] | None) -> Translation:
        """Return the translation of the runs ``keys``, or of all open runs."""
        states = self._open_states(keys)
        pieces = self._aggregator.close_in_pieces(states)
        proposals, counts = self._add_platform(
            self._call_redacted(list, chain.from_iterable(pieces)), _CountedEntities()
        )
        report = self._build_report(states, proposals) if self._has_report else None
        return self._build_translation(states, proposals, counts, report)

    def close_in_pieces(self, keys: list[str] | None, *, piecewise: bool) -> Iterator[Translation]:
        """Yield what :meth:`close` returns; ``piecewise``: some hundred proposals at a time, each soon after it was made.

        The first piece has the counts of the input. A report is returned as a whole.
        """
        if self._has_report or not piecewise:
            yield self.close(keys)
            return
        states, entity_urns = self._open_states(keys), _CountedEntities()
        pieces = self._aggregator.close_in_pieces(states)
        first_piece = self._call_redacted(next, pieces, [])
        yield self._build_translation(states, *self._add_platform(first_piece, entity_urns), None)
        while (piece := self._call_redacted(next, pieces, None)) is not None:
            proposals, counts = self._add_platform(piece, entity_urns)
            rejected = self._take_rejected()
            counts.rejected = len(rejected)
            yield Translation(proposals, [], rejected, counts)

    def _build_translation(
        self, states: dict[str, RunState], proposals: list[Proposal], counts: Counts, report: Report | None
    ) -> Translation:
        """Return the translation of ``states`` with their ``proposals``, and the counts of the input."""
        aggregator = self._aggregator
        counts.runs = sum([1 for state in states.values() if state.urn])
        zone_reads = sum([state.zone_reads for state in aggregator.closed_runs])
        aggregator.closed_runs = []
        counts.newer = count_newer_aspects(states.values(), self._options)
        counts.events, self._events = self._events, 0
        rejected = self._take_rejected()
        counts.dead, counts.rejected = len(self.dead), len(rejected)
        if aggregator.extractor.filters.drop_counts:
            counts.filtered = aggregator.extractor.filters.take_counts()
        if self._notes:
            counts.notes, self._notes = Counter(self._notes), []
        if zone_reads:
            counts.notes[ZONE_OF_RUN] = zone_reads
        if report is not None:
            counts.mapped, counts.properties = report.mapped, report.properties
            counts.dropped, counts.lost = report.dropped, report.lost
        letters = [self._options.masking.mask_dead_letter(letter) for letter in self.dead]
        translation = Translation(proposals, letters, rejected, counts, report)
        self.dead = []
        return translation

    def _open_states(self, keys: list[str] | None) -> dict[str, RunState]:
        """Return the open ones of the runs ``keys``, or all open runs."""
        runs = self._aggregator.runs
        return dict(runs) if keys is None else {key: runs[key] for key in keys if key in runs}

    def _take_rejected(self) -> list[RejectedProposal]:
        """Return the invalid proposals since the last call; later ones are added to the same list."""
        rejected = self._aggregator.rejected[:]
        self._aggregator.rejected.clear()
        return rejected

    def discard(self) -> None:
        """Drop the input since the last close: the owner of the states rolled it back."""
        self._events, self._notes, self.dead = 0, [], []
        self._events_by_run.clear()
        self._filtered_events.clear()
        self._has_platform = False
        self._aggregator.rejected = []
        self._aggregator.extractor.filters.take_counts()

    def _call_redacted(self, function: Callable[..., ResultT], *args: Any) -> ResultT:
        """Return the result of ``function``, with secrets masked as the settings define."""
        if self._has_default_redaction:
            return function(*args)
        with redaction_mode(self._options.settings.redaction):
            return function(*args)

    def _add_platform(self, proposals: list[Proposal], entity_urns: _CountedEntities) -> tuple[list[Proposal], Counts]:
        """Add the platform ``openlineage`` before its first flow: DataHub does not have it."""
        flows, counts = count_entities(proposals, entity_urns)
        if not self._has_platform and any([urn.startswith(PLATFORM_FLOWS) for urn in flows]):  # noqa: C419 - faster
            self._has_platform = True
            proposals = [PLATFORM, *proposals]
            counts.proposals += 1
        return proposals, counts

    def _build_report(self, states: dict[str, RunState], proposals: list[Proposal]) -> Report:
        with redaction_mode(self._options.settings.redaction):  # the report contains what was masked
            return self._report_states(states, proposals)

    def _report_states(self, states: dict[str, RunState], proposals: list[Proposal]) -> Report:
        report = Report(self._options.prefix)
        for event, trace in self._filtered_events:
            report.add(event, trace, None)
        self._filtered_events = []
        resolved_states = states_by_key(self._aggregator.closed_runs)
        closed = [(key, resolved_states.get(key, state)) for key, state in states.items() if key in self._events_by_run]
        version = self._options.profile.name
        earlier_proposals = [
            cut_long_texts(item, version)
            for item in self._aggregator.unchanged_proposals({urn for _, state in closed for urn in entity_urns(state)})
        ]
        by_urn = proposed_aspects(
            [*earlier_proposals, *proposals], [item.proposal for item in self._aggregator.rejected], self._options
        )
        for key, state in closed:
            written = WrittenAspects(state, by_urn, self._options)
            for event, trace in self._events_by_run.pop(key):
                trace.notes = resolve_notes(trace.notes, state)
                report.add(event, trace, written)
        return report
