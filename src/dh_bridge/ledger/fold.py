"""The fold of a batch over the states that the ledger keeps; it has the face of `translate.Fold`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import upsert
from dh_bridge.ledger.ancestry import Heritage
from dh_bridge.ledger.checks import Checks
from dh_bridge.ledger.related_runs import Kin, tokens
from dh_bridge.ledger.retention import Retention
from dh_bridge.ledger.runs import Runs
from dh_bridge.ledger.shared import Shared
from dh_bridge.translation.closing import ClosedRun, Rejected, close_runs, render_runs, settle_own, valid
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.facts import OWN_JOB
from dh_bridge.translation.fold import value
from dh_bridge.translation.render.assertions import ENTITY as ASSERTION
from dh_bridge.translation.runs.edge_expiry import present
from dh_bridge.translation.runs.other_runs import RUN, take_over
from dh_bridge.translation.runs.settling import contribution

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.fold import Cells, Slots
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState
    from dh_bridge.translation.trace import Trace

    #: closed runs, by key
    Closed = dict[str, ClosedRun]


class LedgerFold:
    """Folds events into the runs of the ledger; :meth:`close` renders every entity whose folded value changed.

    ``full``: and every other one that the runs of a batch tell of.
    """

    def __init__(self, connection: sqlite3.Connection, options: Options, *, full: bool = False) -> None:
        self.options = options
        self._full = full
        #: with `full`: what the runs of this batch tell of, changed or not
        self._told: set[str] = set()
        self.walk = Walk(options)
        self.shared = Shared(connection)
        self.runs = Runs(connection)
        self._checks = Checks(self.shared, options)
        self._kin = Kin(connection)
        self._heritage = Heritage(connection, self.runs, joined=options.settings.identity.mode == "join")
        self.retention = Retention(
            connection, options.settings.ledger, self.runs, self.shared, self._kin, self._heritage,
            leaving=options.settings,
        )  # fmt: skip
        self.rejected: list[Rejected] = []
        #: events of this batch that came after the ledger had let go of their run
        self.late = 0
        #: what this batch renders, changed or not: URNs of what runs share, keys of runs
        self.again: Iterable[str] = ()
        #: what the last batch rendered as a whole: of these entities every aspect was among its proposals
        self.rendered: set[str] = set()
        #: the runs of the last batch as they were settled
        self.closed: list[RunState] = []

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Fold one event into its run; the run's state, or None when a filter left the event out."""
        return self.walk.event(event, self.runs, trace)

    def closing(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:  # noqa: ARG002 - a batch closes as a whole
        """Yield, at once, the valid proposals of all entities that the batch changed, and of the runs in it."""
        self._look_again()
        done: Closed = {}
        others: set[str] = set()
        carried: set[str] = set()
        work = list(self.runs)
        while work:
            elders = self._elders(work)
            carried |= self._pour(work, done)
            self.shared.refold(self.runs)
            # what these runs say of other runs: those are settled anew, with it
            said = {urn for urn in self.shared.changed if urn.startswith(RUN)}
            self.shared.rendered(said)
            others |= said
            anew = self._heritage.heirs(elders) - done.keys()
            work = [urn for urn in sorted(said | anew) if self.runs.get(urn) is not None]
        if self._full:
            others |= {urn for urn in self._told if urn.startswith(RUN)}
            self.shared.changed |= self._told - others
            self._told = set()
        for state, _ in done.values():
            self._heritage.tell(state)
        retiring, related = self._checks.news()
        chosen = self._chosen({urn for urn in others if urn not in done and not self.runs.known(urn)})
        states = [state for state, _ in done.values()]
        self.closed = states
        self.late = sum(len(state.events) for state in states if state.urn and state.whole is False)
        chosen.update(related)
        self.rendered = {*chosen, *(state.urn for state in states if state.urn and state.whole)}
        removals = [upsert(ASSERTION, urn, "status", {"removed": True}) for urn in retiring]
        written = render_runs(list(done.values()), chosen, self.options, folded=frozenset(carried), others=removals)
        yield valid(written, self.options.validator, self.rejected)

    def standing(self, urns: Iterable[str]) -> Iterator[Proposal]:
        """Return what is said of entities that runs share, changed or not: what did not change was written earlier."""
        chosen = _Chosen(self.shared)
        chosen.update({urn: present(cells, self.options.settings) for urn in urns if (cells := self.shared.cells(urn))})
        return render_runs([], chosen, self.options)

    def save(self, now: int, *, quiet: bool = False) -> None:
        """Write what the batch changed; ``now`` in milliseconds; ``quiet`` as of the runs."""
        self.runs.save(now, quiet=quiet)
        self.shared.save()
        self.retention.apply(now)

    def forget(self) -> None:
        """Drop all that is in memory: another process has written to the file, or a batch was rolled back."""
        self.runs.forget()
        self.shared.forget()
        self._told = set()

    def _look_again(self) -> None:
        """Take into the batch what it is to render once more; a run comes by its own state, one that only others tell of is shared."""
        for key in self.again:
            if not (key.startswith(RUN) and self.runs.known(key)) and self.shared.cells(key):
                self.shared.changed.add(key)
            else:
                self.runs.get(key)
        self.again = ()

    def _elders(self, keys: Iterable[str]) -> list[RunState]:
        """Return the runs of which there is news to those below them."""
        runs = (self.runs[key] for key in keys if key not in self.runs.evicted)
        return [run for run in runs if run.urn and self._heritage.note(self.runs.kept(run).number, run)]

    def _pour(self, keys: Iterable[str], done: Closed) -> set[str]:
        """Settle runs with their kin, and replace what they contribute; return the URNs that others of their kin carry."""
        carried: set[str] = set()
        families: list[list[RunState]] = []
        numbers: dict[int, RunState] = {}
        for key in keys:
            state = self.runs[key]
            alone = state.kind == "job" and not state.through and self.options.settings.temporary == "keep"
            if alone or state.key in self.runs.evicted:
                self._pour_for_good(state, done)
                continue
            number, held = self.runs.kept(state).number, list(tokens(state, self.options))
            if held:
                self._kin.note(number, held)
                numbers[number] = state
            else:  # what holds a run is never lost, so this one has no kin
                families.append([state])
        while numbers:
            number, state = numbers.popitem()
            family = {other: self._relative(other) for other in self._kin.family(number)}
            family[number] = state
            for other in family:
                numbers.pop(other, None)
            families.append([family[other] for other in sorted(family)])
        for states in families:
            closed, folded = self._close(states, partial(self._contribute, states))
            carried |= folded
            for state in states:
                done.pop(state.key, None)
            done.update({run.state.key: run for run in closed})
        return carried

    def _close(
        self, states: list[RunState], contribute: Callable[[list[ClosedRun]], None]
    ) -> tuple[list[ClosedRun], frozenset[str]]:
        """Close copies of runs that change each other: the states that are kept go on with later events."""
        copies = settle_own([state.copy() for state in states])
        return close_runs(copies, LedgerStore(self.shared, contribute), self.options)

    def _contribute(self, states: list[RunState], closed: list[ClosedRun]) -> None:
        """Replace what runs contribute; a run that is one with another contributes nothing."""
        found = {run.state.key: run for run in closed}
        for state in states:
            run = found.get(state.key)
            said = contribution(*run, self.options) if run is not None else {}
            self._tells_of(said)
            self.shared.pour(self.runs.kept(state), said)
        for run in closed:
            run.state.whole = True

    def _pour_for_good(self, state: RunState, done: Closed) -> None:
        """Close what will not be asked for again: a job event, or a run of which too little is known."""
        (run,), _ = self._close([state], self._contribute_for_good)
        done[run.state.key] = run

    def _contribute_for_good(self, closed: list[ClosedRun]) -> None:
        """Fold in what will not be replaced."""
        ((state, history),) = closed
        if state.kind != "job":
            state.whole = False
        said = contribution(state, history, self.options)
        if state.kind != "job":  # of other runs it says less than it once did
            said = {urn: slots for urn, slots in said.items() if not urn.startswith(RUN)}
        self._tells_of(said)
        self.shared.pour_for_good(said)

    def _tells_of(self, said: Cells) -> None:
        if self._full:
            self._told.update(said)

    def _relative(self, number: int) -> RunState:
        """Return the state of another run of a family; it belongs to the batch from now on."""
        key = self.runs.by_number(number).state.key
        state = self.runs.get(key)
        if state is None:
            raise LookupError(f"run {key} is not kept")
        return state

    def _chosen(self, stubs: set[str]) -> _Chosen:
        """Return the shared entities that are to be rendered: those that changed, and parents without events of their own."""
        chosen = _Chosen(self.shared)
        for urn in self.shared.changed | stubs:
            chosen[urn] = present(self.shared.cells(urn), self.options.settings)
        for urn in list(chosen):
            own = value(chosen[urn], OWN_JOB)
            if own is not None and own.job_urn not in chosen and (twin := self.shared.cells(own.job_urn)):
                chosen[own.job_urn] = present(twin, self.options.settings)  # it shows what the flow's facets say
        return chosen


class LedgerStore:
    """State in SQLite: what other runs state of a run is kept in the shared cells of its URN (see `ClosingStore`)."""

    def __init__(self, shared: Shared, contribute: Callable[[list[ClosedRun]], None] | None = None) -> None:
        """Use ``contribute`` to fold runs into shared entities; without it they contribute nothing."""
        self._shared = shared
        self._contribute = contribute

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Give runs what the ledger has from other runs of them."""
        for state in states:
            if state.urn and (said := self._shared.cells(state.urn)):
                take_over(state, said)
        return states

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Fold the runs into the shared entities of the ledger."""
        if self._contribute is not None:
            self._contribute(closed)


class _Chosen(dict[str, "Slots"]):
    """The shared entities that are to be rendered; ``get`` looks further, for what they show of others."""

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self._shared = shared

    def get(self, urn: str, default: Any = None) -> Any:
        """Return the cells of an entity, whether it is rendered or not."""
        found = super().get(urn)
        return found if found is not None else self._shared.cells(urn) or default
