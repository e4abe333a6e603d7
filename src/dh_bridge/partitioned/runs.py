"""Stage one: records, sorted by run, into proposals of runs and pieces of shared entities."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.aggregate.contributions import contribute
from dh_bridge.aggregate.cross_run import mark_written
from dh_bridge.aggregate.event_zones import ZONE_OF_RUN
from dh_bridge.aggregate.foreign_owned import foreign_checks
from dh_bridge.aggregate.other_runs import resolve_other_runs
from dh_bridge.closing import (
    PROPOSALS_PER_CHECK,
    ClosedRun,
    RejectedProposal,
    check_groups,
    close_runs,
    render_runs,
    resolve_own_facts,
)
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.search_texts import cut_fields
from dh_bridge.errors import EventError
from dh_bridge.model.run_state import RunState
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.partitioned.entities import Piece, iter_pieces
from dh_bridge.partitioned.others import is_open, witness_of
from dh_bridge.pipeline import RunAggregator
from dh_bridge.redaction import redaction_mode
from dh_bridge.report.newer import count_newer_aspects
from dh_bridge.session import Counts
from dh_bridge.state_codec.codec import decode_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.options import Options
    from dh_bridge.partitioned.records import EventRecord

MAX_HELD_ENTITIES = 4_000
"""Entities whose pieces a worker merges before it yields them: about 100 MB of tables with 40 columns."""
PIECES_BY_RUN = 0
"""Value of ``max_entities``.

The pieces of each run are separate, so that they can be replaced when the run continues (streams).
"""
OPEN_RUNS_PER_BATCH = 500
"""Maximum number of open runs that close together."""
_BEFORE_ALL_EVENTS = (-(1 << 63), "", "")


class TranslatedRun(msgspec.Struct, frozen=True):
    """The result of a run: its proposals, and those that violate their schema.

    ``key`` as in its records, ``time`` and ``location`` of its last event.
    """

    key: str
    run_id: str
    time: int
    location: str
    proposals: list[Proposal]
    rejected: list[RejectedProposal]


class _RenderedRun(NamedTuple):
    """A run whose proposals are not validated yet."""

    key: str
    run_id: str
    time: int
    location: str
    candidates: list[Proposal]


class CrossRunFacts(msgspec.Struct, frozen=True):
    """A run with cross-run facts: ``witness`` has its facts about other runs, or is None; ``is_open``.

    It closes with all witnesses.
    """

    key: str
    witness: RunState | None
    is_open: bool


class PartitionTranslator:
    """Merges records and closes runs; one object for each part of the data.

    The records of a run, or of a family of runs, are adjacent, in any order (:meth:`close_current` is called when another key
    begins). ``witnesses`` are the encoded ones of all parts: with them every run closes, without them open runs are only named.
    The proposals of several runs are validated together, so they are yielded some runs later, in the order of the runs.
    ``origin_key`` is, with ``max_entities=PIECES_BY_RUN``, the key of the run whose pieces are being yielded.
    """

    def __init__(
        self,
        options: Options,
        zone: tzinfo,
        *,
        witnesses: Iterable[bytes] | None = None,
        max_entities: int = MAX_HELD_ENTITIES,
    ) -> None:
        """Raise a SettingsError for environments that the DataHub version does not know."""
        options.check_environments()
        self._options = options
        self._zone = zone
        self._witnesses = None if witnesses is None else list(witnesses)
        self._max_entities = max_entities
        self._aggregator = RunAggregator(options)
        self._shared: FactsByEntity = {}
        self._last_events: dict[str, tuple[int, str, str]] = {}
        self.origin_key = ""
        self._open_states: list[RunState] = []
        self._open_last_events: dict[str, tuple[int, str, str]] = {}
        self._rendered: list[_RenderedRun] = []
        self._rendered_count = 0
        self.counts = Counts()

    def translate(self, records: Iterable[EventRecord]) -> Iterator[TranslatedRun | CrossRunFacts | Piece | DeadLetter]:
        """Yield the results of the sorted records; ``counts`` are complete at the end."""
        with redaction_mode(self._options.settings.redaction):
            for _, run_records in groupby(records, key=attrgetter("key")):
                for record in run_records:
                    if (letter := self.add_record(record)) is not None:
                        yield letter
                yield from self.close_current()
            yield from self.finish()

    def add_record(self, record: EventRecord) -> DeadLetter | None:
        """Add a record; return the dead letter of one that cannot be used."""
        try:
            event = parse_event(record.raw, record.location, self._zone)
        except EventError as error:
            self.counts.dead += 1
            return self._options.masking.mask_dead_letter(DeadLetter(record.location, str(error), record.raw))
        self._options.masking.mask_event(event)
        refusal = self._options.rejection_reason(event)
        if refusal is not None:
            self.counts.dead += 1
            return DeadLetter(record.location, refusal, event.raw)
        self.counts.events += 1
        state = self._aggregator.add(event)
        self.counts.notes.update(event.notes)  # those about its names are added by the extraction
        if state is None:
            return None
        event_position = (event.time, record.location, record.key)
        if event_position > self._last_events.get(state.key, _BEFORE_ALL_EVENTS):
            self._last_events[state.key] = event_position
        return None

    def close_current(self) -> Iterator[TranslatedRun | CrossRunFacts | Piece]:
        """Yield the results of the present runs, and drop these runs."""
        states = self._take_states()
        if self._witnesses is not None:
            self._keep_open(states)
            if len(self._open_states) >= OPEN_RUNS_PER_BATCH:
                yield from self._close_open()
        else:
            has_open = any(is_open(state, self._options) for state in states)
            for state in states:
                witness_state = witness_of(state, self._options)
                if witness_state is not None or has_open:
                    yield CrossRunFacts(self._last_events[state.key][2], witness_state, has_open)
            if has_open:  # counted here, not when they are merged again
                self.counts.newer += count_newer_aspects(states, self._options)
                for state in states:
                    self._last_events.pop(state.key)
            else:
                yield from self._render(states, (), self._last_events)
        if len(self._shared) >= max(self._max_entities, 1):
            yield from self._take_pieces()

    def finish(self) -> Iterator[TranslatedRun | Piece]:
        """Yield the postponed results, and complete the counts."""
        yield from self._close_open()
        yield from self._take_rendered()
        yield from self._take_pieces()
        self.counts.filtered = self._aggregator.extractor.filters.take_counts()

    def _keep_open(self, states: list[RunState]) -> None:
        self._open_states += states
        self._open_last_events.update((state.key, self._last_events.pop(state.key)) for state in states)

    def _take_states(self) -> list[RunState]:
        open_states = [self._aggregator.runs.pop(key) for key in list(self._aggregator.runs)]
        self.counts.runs += sum(bool(state.urn) for state in open_states)
        states = resolve_own_facts(open_states)
        zone_reads = sum(state.zone_reads for state in states)
        if zone_reads:
            self.counts.notes[ZONE_OF_RUN] += zone_reads
        if len(states) < len(open_states):  # a run with two ids has one state
            for key in {state.key for state in open_states}.difference(state.key for state in states):
                self._last_events.pop(key)
        return states

    def _close_open(self) -> Iterator[TranslatedRun | Piece]:
        states, self._open_states = self._open_states, []
        if states:
            last_events, self._open_last_events = self._open_last_events, {}
            yield from self._render(
                states, [decode_run(witness_bytes)[0] for witness_bytes in self._witnesses or ()], last_events
            )

    def _render(
        self, states: list[RunState], witnesses: Iterable[RunState], last_events: dict[str, tuple[int, str, str]]
    ) -> Iterator[TranslatedRun | Piece]:
        store = _PartitionStore(self._options, witnesses, self._shared, by_run=self._max_entities == PIECES_BY_RUN)
        closed, merged_urns = close_runs(states, store, self._options)
        self.counts.newer += count_newer_aspects(states, self._options)
        for run in closed:
            candidates = list(render_runs([run], {}, self._options, merged_urns=merged_urns))
            time, location, self.origin_key = last_events.pop(run.state.key)
            self._rendered.append(_RenderedRun(self.origin_key, run.state.run_id, time, location, candidates))
            self._rendered_count += len(candidates)
            if self._max_entities == PIECES_BY_RUN:
                yield from iter_pieces(store.facts_by_run.pop(run.state.key))
            if self._rendered_count >= PROPOSALS_PER_CHECK:
                yield from self._take_rendered()

    def _take_rendered(self) -> Iterator[TranslatedRun]:
        """Yield the rendered runs, their proposals validated together."""
        rendered_runs, self._rendered, self._rendered_count = self._rendered, [], 0
        checked_groups = check_groups([run.candidates for run in rendered_runs], self._options.validator)
        for run, (proposals, rejected) in zip(rendered_runs, checked_groups, strict=True):
            self.counts.cut += sum([len(cut_fields(proposal)) for proposal in proposals])
            if proposals or rejected:
                yield TranslatedRun(run.key, run.run_id, run.time, run.location, proposals, rejected)

    def _take_pieces(self) -> Iterator[Piece]:
        shared, self._shared = self._shared, {}
        yield from iter_pieces(shared)


class _PartitionStore:
    """State of a part: facts about runs of other parts come from their witnesses, which are consumed (see `ClosingStore`).

    ``by_run``: the contributions of each run by its key, if they are not merged into ``shared``.
    """

    def __init__(self, options: Options, witnesses: Iterable[RunState], shared: FactsByEntity, *, by_run: bool) -> None:
        self._options = options
        self._witnesses = witnesses
        self._shared = shared
        self._is_by_run = by_run
        self.facts_by_run: dict[str, FactsByEntity] = {}

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Add to runs the facts of other runs and of the witnesses about them."""
        all_states = [*self._witnesses, *states]  # of several states with one URN, the last one gets them
        resolve_other_runs(all_states)
        return all_states

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Merge the runs into the shared entities of the part."""
        for state, history in closed:
            shared = self.facts_by_run.setdefault(state.key, {}) if self._is_by_run else self._shared
            mark_written(state, shared)
            contribute(state, history, shared, self._options)
            for urn in foreign_checks(state):  # the tool writes them itself
                shared.pop(urn, None)
