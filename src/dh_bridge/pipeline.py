"""The steps in order: events -> facts -> states of runs -> states of shared entities -> aspects -> proposals."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from dh_bridge.aggregate.contributions import contribute
from dh_bridge.aggregate.other_runs import resolve_other_runs
from dh_bridge.closing import close_runs, iter_valid, render_runs, resolve_own_facts
from dh_bridge.extract import FactExtractor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.closing import ClosedRun, RejectedProposal
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.model.run_state import RunState
    from dh_bridge.model.trace import Trace
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options


class RunAggregator:
    """The open runs of a call; :meth:`close` turns runs into proposals, once, together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.extractor = FactExtractor(options)
        self.runs: dict[str, RunState] = {}
        self.rejected: list[RejectedProposal] = []
        #: the runs of the last close, with their facts resolved
        self.closed_runs: list[RunState] = []

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Add one event to its run; return the run's state, or None if a filter drops the event."""
        return self.extractor.extract(event, self.runs, trace)

    def close(self, keys: Iterable[str] | None = None) -> list[Proposal]:
        """Return the valid proposals of the runs ``keys`` (all by default), which are forgotten."""
        return list(chain.from_iterable(self.close_in_pieces(keys)))

    def close_in_pieces(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:
        """Yield what :meth:`close` returns, some hundreds at a time; the runs are forgotten with the first."""
        chosen = list(self.runs) if keys is None else list(keys)
        store = _SessionStore(self.options)
        states = resolve_own_facts([self.runs.pop(key) for key in chosen])
        closed, folded = close_runs(states, store, self.options)
        self.closed_runs = states
        written = render_runs(closed, store.shared, self.options, merged_urns=folded)
        yield from iter_valid(written, self.options.validator, self.rejected)

    def unchanged_proposals(self, urns: Iterable[str]) -> Iterator[Proposal]:  # noqa: ARG002 - the method of an aggregator with a ledger
        """Return the earlier aspects of unchanged entities: none, because no state outlives the call."""
        return iter(())


class _SessionStore:
    """State in the memory of one call: all runs that are known close together (see `ClosingStore`)."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.shared: FactsByEntity = {}

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Move what runs state of other runs to these; facts of runs that are not there are dropped."""
        resolve_other_runs(states)
        return states

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Merge the facts of the runs into ``shared``."""
        if len(closed) == 1:  # a single run shares with no other: its registers are used without a copy
            self.shared = closed[0].state.facts
        for state, history in closed:
            contribute(state, history, self.shared, self._options)
