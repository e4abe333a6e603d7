"""Stage one: records, sorted by run, into proposals of runs and pieces of what they share."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.search_texts import cut_fields
from dh_bridge.errors import EventError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.parsing import parse
from dh_bridge.redaction import redaction
from dh_bridge.replay.entities import Piece, pieces
from dh_bridge.replay.others import is_open, witness
from dh_bridge.session import Counts
from dh_bridge.translation.closing import ClosedRun, Rejected, close_runs, render_runs, settle_own, valid
from dh_bridge.translation.report.newer import newer_aspects
from dh_bridge.translation.runs.contributions import contribute
from dh_bridge.translation.runs.foreign_owned import joined_checks
from dh_bridge.translation.runs.other_runs import hand_over
from dh_bridge.translation.runs.settling import mark_written
from dh_bridge.translation.runstate import RunState
from dh_bridge.translation.state_codec import decode_run
from dh_bridge.translation.translate import Fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from dh_bridge.replay.records import Record
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options

HELD = 4_000
"""Entities whose pieces a worker folds before it hands them on: about 100 MB of tables with 40 columns."""
APART = 0
"""As ``held``: the pieces of each run apart, so that they can be replaced when the run goes on (streams)."""
BATCH = 500
"""Open runs that close together."""
_NEVER = (-(1 << 63), "", "")


class Run(msgspec.Struct, frozen=True):
    """What became of a run: its proposals; ``key`` as of its records, ``time`` and ``place`` of its last event."""

    key: str
    run_id: str
    time: int
    place: str
    proposals: list[Proposal]


class Said(msgspec.Struct, frozen=True):
    """A run that speaks of others: ``told`` for those, None if it only listens; ``open``: it is to close with all witnesses."""

    key: str
    told: RunState | None
    open: bool


class Runs:
    """Folds records and closes runs; one object for each part of the data.

    The records of a run, or of a family of runs, come one after the other, in any order (:meth:`closed` is called when
    another key begins).
    ``witnesses`` are encoded ones of all parts: with them every run closes, without them open runs are only named.
    ``origin`` is, with ``held=APART``, the key of the run whose pieces are being yielded.
    """

    def __init__(
        self, options: Options, zone: tzinfo, *, witnesses: Iterable[bytes] | None = None, held: int = HELD
    ) -> None:
        """Raise a SettingsError for environments that the profile does not know."""
        options.need_environments()
        self._options = options
        self._zone = zone
        self._witnesses = None if witnesses is None else list(witnesses)
        self._held = held
        self._fold = Fold(options)
        self._shared: Cells = {}
        self._last: dict[str, tuple[int, str, str]] = {}
        self.origin = ""
        self._waiting: list[RunState] = []
        self._waiting_last: dict[str, tuple[int, str, str]] = {}
        self.counts = Counts()
        self.rejected: list[Rejected] = []

    def translated(self, records: Iterable[Record]) -> Iterator[tuple[str, Iterator[Run | Said | Piece | DeadLetter]]]:
        """Yield each key of the records, which are sorted by it, and what comes up to its end; what was held back under "".

        A key's part is to be used up before the next one is asked for; ``counts`` and ``rejected`` are whole at the end.
        """
        with redaction(self._options.settings.redaction):
            for key, run in groupby(records, key=attrgetter("key")):
                yield key, self._told(run)
            yield "", self.ended()

    def _told(self, records: Iterable[Record]) -> Iterator[Run | Said | Piece | DeadLetter]:
        yield from (letter for letter in map(self.fold, records) if letter is not None)
        yield from self.closed()

    def fold(self, record: Record) -> DeadLetter | None:
        """Fold a record; return the dead letter of one that cannot be used."""
        try:
            event = parse(record.raw, record.place, self._zone)
        except EventError as error:
            self.counts.dead += 1
            return self._options.masking.letter(DeadLetter(record.place, str(error), record.raw))
        self._options.masking.event(event)
        refusal = self._options.refusal(event)
        if refusal is not None:
            self.counts.dead += 1
            return DeadLetter(record.place, refusal, event.raw)
        self.counts.events += 1
        self.counts.notes.update(event.notes)
        state = self._fold.add(event)
        if state is None:
            return None
        last = (event.time, record.place, record.key)
        if last > self._last.get(state.key, _NEVER):
            self._last[state.key] = last
        return None

    def closed(self) -> Iterator[Run | Said | Piece]:
        """Yield the results of the runs that are being folded, and forget these runs."""
        states = self._settled()
        if self._witnesses is not None:
            self._hold(states)
            if len(self._waiting) >= BATCH:
                yield from self._together()
        else:
            waits = any(is_open(state, self._options) for state in states)
            for state in states:
                told = witness(state, self._options)
                if told is not None or waits:
                    yield Said(self._last[state.key][2], told, waits)
            if waits:  # counted here, not when they are folded again
                self.counts.newer += newer_aspects(states, self._options)
                for state in states:
                    self._last.pop(state.key)
            else:
                yield from self._rendered(states, (), self._last)
        if len(self._shared) >= max(self._held, 1):
            yield from self._pieces()

    def ended(self) -> Iterator[Run | Piece]:
        """Yield what is still held back, and make the counts whole."""
        yield from self._together()
        yield from self._pieces()
        self.counts.filtered, self._fold.walk.filters.dropped = self._fold.walk.filters.dropped, Counter()

    def _hold(self, states: list[RunState]) -> None:
        self._waiting += states
        self._waiting_last.update((state.key, self._last.pop(state.key)) for state in states)

    def _settled(self) -> list[RunState]:
        found = [self._fold.runs.pop(key) for key in list(self._fold.runs)]
        self.counts.runs += sum(bool(state.urn) for state in found)
        states = settle_own(found)
        if len(states) < len(found):  # of a run under two ids one state stands for both
            for key in {state.key for state in found}.difference(state.key for state in states):
                self._last.pop(key)
        return states

    def _together(self) -> Iterator[Run | Piece]:
        states, self._waiting = self._waiting, []
        if states:
            last, self._waiting_last = self._waiting_last, {}
            yield from self._rendered(states, [decode_run(told)[0] for told in self._witnesses or ()], last)

    def _rendered(
        self, states: list[RunState], witnesses: Iterable[RunState], last: dict[str, tuple[int, str, str]]
    ) -> Iterator[Run | Piece]:
        store = _PartStore(self._options, witnesses, self._shared, apart=self._held == APART)
        closed, folded = close_runs(states, store, self._options)
        self.counts.newer += newer_aspects(states, self._options)
        for run in closed:
            written = render_runs([run], {}, self._options, folded=folded)
            own = valid(written, self._options.validator, self.rejected)
            self.counts.cut += sum([len(cut_fields(proposal)) for proposal in own])
            time, place, self.origin = last.pop(run.state.key)
            if own:
                yield Run(self.origin, run.state.run_id, time, place, own)
            if self._held == APART:
                yield from pieces(store.apart.pop(run.state.key), self._options)

    def _pieces(self) -> Iterator[Piece]:
        shared, self._shared = self._shared, {}
        yield from pieces(shared, self._options)


class _PartStore:
    """State in parts: runs of other parts are known by their witnesses, which are used up (see `ClosingStore`).

    ``apart``: what each run contributes, by the run's key, where it is not folded into ``shared``.
    """

    def __init__(self, options: Options, witnesses: Iterable[RunState], shared: Cells, *, apart: bool) -> None:
        self._options = options
        self._witnesses = witnesses
        self._shared = shared
        self._is_apart = apart
        self.apart: dict[str, Cells] = {}

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Move what the runs and the witnesses state of other runs to these."""
        together = [*self._witnesses, *states]  # the last of one URN is the one that is handed over to
        hand_over(together)
        return together

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Fold the runs into the shared entities of the part."""
        for state, history in closed:
            shared = self.apart.setdefault(state.key, {}) if self._is_apart else self._shared
            mark_written(state, shared)
            contribute(state, history, shared, self._options)
            for urn in joined_checks(state):  # the tool writes them, whatever runs say of them
                shared.pop(urn, None)
