"""Closing runs: the steps from the states of runs to valid proposals, the same wherever state lives.

1. `resolve_own_facts`: each run resolves what it states of itself.
2. `close_runs`: runs resolve what they state of each other, get their history, and contribute to what runs share.
3. `render_runs`: runs, and the shared entities that are chosen, become proposals.
4. `iter_valid`: proposals are checked against their schemas; invalid ones are dropped.

A call keeps state in memory (`pipeline.py`), a ledger in SQLite (`ledger/fold.py`). Parts of a partitioned translation share facts through
witnesses (`partitioned/runs.py`). Each has a `ClosingStore`; nothing else differs.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from dh_bridge.aggregate.cross_run import history_of, resolve_between_runs, resolve_run
from dh_bridge.aggregate.event_zones import hold_uncertain_events, read_in_offset
from dh_bridge.aggregate.foreign_owned import drop_foreign_aspects, merge_aliases
from dh_bridge.aggregate.operations import drop_runs, merge_operations
from dh_bridge.aggregate.run_history import History  # noqa: TC001 - a NamedTuple's
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.search_texts import cut_long_texts
from dh_bridge.model.facts import MERGED_OPERATION, RUN_ALIAS
from dh_bridge.model.run_state import RunState, fact_kinds_of
from dh_bridge.render.order import render_proposals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.validation import Validator
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.options import Options

PROPOSALS_PER_CHECK = 256
"""Proposals that are checked at once, soon after they were made."""


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
        """Merge the facts that runs state of shared entities into these entities."""


def resolve_own_facts(states: list[RunState]) -> list[RunState]:
    """Resolve, in place, the facts that each run states of itself; two states of one run with two ids become one."""
    if any([RUN_ALIAS in state.facts.get(state.urn, ()) for state in states]):  # noqa: C419 - a list is faster
        states = merge_aliases(states)
    for state in states:
        read_in_offset(state)
        resolve_run(state)
    return states


def close_runs(states: list[RunState], store: ClosingStore, options: Options) -> tuple[list[ClosedRun], frozenset[str]]:
    """Resolve, in place, the facts that runs state of each other, and contribute to shared entities.

    Args:
        states: Runs, as `resolve_own_facts` returned them.
        store: Where their state lives.
        options: The compiled settings.

    Returns:
        The closed runs, and the URNs of those whose facts other runs carry (`identity.granularity`).
    """
    if options.is_stateful:
        for state in states:
            hold_uncertain_events(state, options)
    related_states = store.exchange(states)
    fact_kinds = fact_kinds_of(related_states)
    resolve_between_runs(related_states, fact_kinds, options)
    merged_runs = merge_operations(states) if MERGED_OPERATION in fact_kinds else frozenset()
    closed_runs = [ClosedRun(state, history_of(state, options)) for state in states]
    store.contribute(closed_runs)
    return closed_runs, merged_runs


def render_runs(
    closed_runs: list[ClosedRun],
    shared: FactsByEntity,
    options: Options,
    *,
    merged_urns: frozenset[str] = frozenset(),
    additional_proposals: Iterable[Proposal] = (),
) -> Iterator[Proposal]:
    """Yield the proposals of closed runs and of shared entities, without those that the settings leave to other tools.

    Args:
        closed_runs: The runs; none to render shared entities alone.
        shared: The shared entities to render; ``get`` may find more of them.
        options: The compiled settings.
        merged_urns: Runs whose facts other runs carry; they are left out by `identity.fold_runs: drop`.
        additional_proposals: Proposals that follow those of the runs.
    """
    states = [run.state for run in closed_runs]
    histories = [run.history for run in closed_runs]
    all_proposals: Iterator[Proposal] = chain(
        render_proposals(states, histories, shared, options), additional_proposals
    )
    if options.settings.identity.fold_runs == "drop":
        all_proposals = drop_runs(all_proposals, merged_urns)
    return drop_foreign_aspects(all_proposals, states, histories, options)


class RejectedProposal(msgspec.Struct, frozen=True):
    """A proposal that its schema rejects: a bug of the bridge. It is reported, and the others are delivered."""

    proposal: Proposal
    reason: str

    @property
    def message(self) -> str:
        """One line that names the proposal and the reason."""
        return f"not sent: {self.proposal.entity_urn}: {self.reason}"


def valid_proposals(
    candidates: Iterable[Proposal], validator: Validator, rejected: list[RejectedProposal]
) -> list[Proposal]:
    """Return the proposals that their schemas take; the others go into ``rejected`` with the reason."""
    return list(chain.from_iterable(iter_valid(candidates, validator, rejected)))


def check_groups(
    groups: list[list[Proposal]], validator: Validator
) -> Iterator[tuple[list[Proposal], list[RejectedProposal]]]:
    """Yield (valid proposals, rejected proposals) of each group; the groups are checked together, which is faster.

    Args:
        groups: The proposals of some runs or entities, in their order.
        validator: The schemas.
    """
    if validator.accepts_all(chain.from_iterable(groups)):
        yield from ((group, []) for group in groups)
        return
    for group in groups:
        rejected: list[RejectedProposal] = []
        yield valid_proposals(group, validator, rejected), rejected


def iter_valid(
    candidates: Iterable[Proposal], validator: Validator, rejected: list[RejectedProposal]
) -> Iterator[list[Proposal]]:
    """Yield what :func:`valid_proposals` returns, soon after it was made; texts that are too long for the search index are cut."""
    iterator = iter(candidates)
    while batch := list(islice(iterator, PROPOSALS_PER_CHECK)):
        if validator.accepts_all(batch):
            yield batch
            continue
        accepted = []
        for candidate in batch:
            proposal = cut_long_texts(candidate, validator.version)
            if (error := validator.refusal(proposal)) is None:
                accepted.append(proposal)
            else:
                rejected.append(RejectedProposal(proposal, str(error)))
        yield accepted
