"""Closing runs: the steps from the states of runs to valid proposals, the same wherever state lives.

1. `settle_own`: each run resolves what it states of itself.
2. `close_runs`: runs resolve what they state of each other, get their history, and contribute to what runs share.
3. `render_runs`: runs, and the shared entities that are chosen, become proposals.
4. `valid`: proposals are checked; those that a schema refuses are left out.

A call keeps state in memory (`translate.Fold`), a ledger in SQLite (`ledger/fold.py`), partitioned translation in parts that know of
each other by witnesses (`replay/runs.py`). Each is a `ClosingStore`, and differs in nothing else.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.search_texts import shortened
from dh_bridge.translation.facts import FOLDED, RUN_ALIAS
from dh_bridge.translation.render.order import proposals
from dh_bridge.translation.runs.foreign_owned import matched, ours
from dh_bridge.translation.runs.history import History  # noqa: TC001 - a NamedTuple's
from dh_bridge.translation.runs.operations import carried, without_runs
from dh_bridge.translation.runs.settling import history_of, settle_alone, settle_among
from dh_bridge.translation.runstate import RunState, kinds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.validation import Validator
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options

#: Proposals that are checked at once, soon after they were made.
_TOGETHER = 256


class ClosedRun(NamedTuple):
    """A run whose facts are resolved, with its history."""

    state: RunState
    history: History


class ClosingStore(Protocol):
    """Where state lives while runs close."""

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Give runs the facts that other runs state of them.

        Returns:
            All runs that change each other: ``states``, and those that are known from elsewhere.
        """

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Fold what runs state of shared entities into these entities."""


def settle_own(states: list[RunState]) -> list[RunState]:
    """Resolve, in place, what each run states of itself; of a run that is known by two ids one state remains."""
    if any([RUN_ALIAS in state.cells.get(state.urn, ()) for state in states]):  # noqa: C419 - a list is faster
        states = matched(states)
    for state in states:
        settle_alone(state)
    return states


def close_runs(states: list[RunState], store: ClosingStore, options: Options) -> tuple[list[ClosedRun], frozenset[str]]:
    """Resolve, in place, what runs state of each other, and contribute to what they share.

    Args:
        states: Runs, as `settle_own` returned them.
        store: Where their state lives.
        options: The compiled settings.

    Returns:
        The closed runs, and the URNs of those whose facts other runs carry (`identity.granularity`).
    """
    together = store.exchange(states)
    kinds = kinds_of(together)
    settle_among(together, kinds, options)
    folded = carried(states) if FOLDED in kinds else frozenset()
    closed = [ClosedRun(state, history_of(state, options)) for state in states]
    store.contribute(closed)
    return closed, folded


def render_runs(
    closed: list[ClosedRun],
    shared: Cells,
    options: Options,
    *,
    folded: frozenset[str] = frozenset(),
    others: Iterable[Proposal] = (),
) -> Iterator[Proposal]:
    """Yield the proposals of closed runs and of shared entities, without those that the settings leave to other tools.

    Args:
        closed: The runs; none to render shared entities alone.
        shared: The shared entities to render; ``get`` may find more of them.
        options: The compiled settings.
        folded: Runs whose facts other runs carry; they are left out by `identity.fold_runs: drop`.
        others: Proposals that follow those of the runs.
    """
    states = [run.state for run in closed]
    histories = [run.history for run in closed]
    written = chain(proposals(states, histories, shared, options), others)
    if options.settings.identity.fold_runs == "drop":
        written = without_runs(written, folded)  # type: ignore[assignment]
    return ours(written, states, histories, options)


class Rejected(msgspec.Struct, frozen=True):
    """A proposal of ours that its schema refuses: our fault, told loudly; the others go on."""

    proposal: Proposal
    reason: str

    @property
    def text(self) -> str:
        """What is left out and why, in a line."""
        return f"left out: {self.proposal.entity_urn}: {self.reason}"


def valid(written: Iterable[Proposal], validator: Validator, rejected: list[Rejected]) -> list[Proposal]:
    """Return the proposals that their schemas take; the others go into ``rejected`` with the reason."""
    return list(chain.from_iterable(sound(written, validator, rejected)))


def sound(written: Iterable[Proposal], validator: Validator, rejected: list[Rejected]) -> Iterator[list[Proposal]]:
    """Yield what :func:`valid` returns, soon after it was made; texts that are too long for the search index are cut."""
    left = iter(written)
    while some := list(islice(left, _TOGETHER)):
        if validator.takes(some):
            yield some
            continue
        taken = []
        for whole in some:
            proposal = shortened(whole, validator.version)
            if (error := validator.refusal(proposal)) is None:
                taken.append(proposal)
            else:
                rejected.append(Rejected(proposal, str(error)))
        yield taken
