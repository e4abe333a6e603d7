"""The story in order: events -> facts -> state of runs -> state of what they share -> aspects -> proposals."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from dh_bridge.translation.closing import close_runs, render_runs, settle_own, sound
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.runs.contributions import contribute
from dh_bridge.translation.runs.other_runs import hand_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.closing import ClosedRun, Rejected
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState
    from dh_bridge.translation.trace import Trace


class Fold:
    """The open runs of a call; :meth:`close` turns runs into proposals, once, together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.walk = Walk(options)
        self.runs: dict[str, RunState] = {}
        self.rejected: list[Rejected] = []
        #: the runs of the last close as they were settled
        self.closed: list[RunState] = []

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Fold one event into its run; the run's state, or None when a filter left the event out."""
        return self.walk.event(event, self.runs, trace)

    def close(self, keys: Iterable[str] | None = None) -> list[Proposal]:
        """Return the valid proposals of the runs ``keys`` (all by default), which are forgotten."""
        return list(chain.from_iterable(self.closing(keys)))

    def closing(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:
        """Yield what :meth:`close` returns, some hundreds at a time; the runs are forgotten with the first."""
        chosen = list(self.runs) if keys is None else list(keys)
        store = _CallStore(self.options)
        states = settle_own([self.runs.pop(key) for key in chosen])
        closed, folded = close_runs(states, store, self.options)
        self.closed = states
        written = render_runs(closed, store.shared, self.options, folded=folded)
        yield from sound(written, self.options.validator, self.rejected)

    def standing(self, urns: Iterable[str]) -> Iterator[Proposal]:  # noqa: ARG002 - as a fold that has an earlier call
        """Return what was written earlier of entities that did not change: nothing outlives the call."""
        return iter(())


class _CallStore:
    """State in the memory of one call: all runs that are known close together (see `ClosingStore`)."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.shared: Cells = {}

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Move what runs state of other runs to these; facts of runs that are not there are dropped."""
        hand_over(states)
        return states

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Fold the runs into ``shared``."""
        if len(closed) == 1:  # a run that is alone shares with nobody: its own cells serve, and nothing is copied
            self.shared = closed[0].state.cells
        for state, history in closed:
            contribute(state, history, self.shared, self._options)
