"""Merges the events of a batch into the states that the ledger stores; the stateful counterpart of `pipeline.RunAggregator`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.cross_run import contribution
from dh_bridge.aggregate.edge_expiry import drop_expired_edges
from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX, apply_foreign_facts
from dh_bridge.closing import (
    ClosedRun,
    RejectedProposal,
    close_runs,
    render_runs,
    resolve_own_facts,
    valid_proposals,
)
from dh_bridge.datahub.proposal import upsert
from dh_bridge.extract import FactExtractor
from dh_bridge.ledger.ancestry import RunAncestry
from dh_bridge.ledger.checks import AffectedChecks
from dh_bridge.ledger.related_runs import RelatedRuns, tokens_of
from dh_bridge.ledger.retention import Retention
from dh_bridge.ledger.runs import RunStore
from dh_bridge.ledger.shared import SharedEntityStore
from dh_bridge.model.facts import CANDIDATE_RUN, FLOW_JOB
from dh_bridge.model.fold import value
from dh_bridge.render.assertions import ENTITY as ASSERTION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.fold import FactsByEntity, Registers
    from dh_bridge.model.run_state import RunState
    from dh_bridge.model.trace import Trace
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options

    #: closed runs, by key
    Closed = dict[str, ClosedRun]


class StatefulAggregator:
    """Adds events to the runs of the ledger; :meth:`close` renders each entity whose facts changed.

    ``full``: render also unchanged entities that the runs of the batch name.
    """

    def __init__(self, connection: sqlite3.Connection, options: Options, *, full: bool = False) -> None:
        self.options = options
        self._is_full = full
        #: with `full`: entities that the runs of this batch name, changed or not
        self._contributed_urns: set[str] = set()
        self.extractor = FactExtractor(options)
        self.shared = SharedEntityStore(connection)
        self.runs = RunStore(connection)
        self._checks = AffectedChecks(self.shared, options)
        self._related_runs = RelatedRuns(connection)
        self._ancestry = RunAncestry(connection, self.runs, has_aliases=options.settings.identity.shares_entities)
        self.retention = Retention(
            connection, options.settings.ledger, self.runs, self.shared, self._related_runs, self._ancestry,
            edge_settings=options.settings,
        )  # fmt: skip
        self.rejected: list[RejectedProposal] = []
        #: events of this batch that arrived after the ledger had evicted their run
        self.late_event_count = 0
        #: the entities that this batch renders, changed or not: URNs of shared entities, keys of runs
        self.rerender_keys: Iterable[str] = ()
        #: the entities that the last batch rendered completely: every aspect of them was among its proposals
        self.rendered_urns: set[str] = set()
        #: the runs of the last batch after cross-run facts were resolved
        self.closed_runs: list[RunState] = []

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Add an event to its run; return the state of the run, or None if a filter drops the event."""
        return self.extractor.extract(event, self.runs, trace)

    def close_in_pieces(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:  # noqa: ARG002 - a batch closes as a whole
        """Yield the valid proposals of the runs of the batch and of all entities that it changed."""
        self._load_rerendered()
        closed_runs: Closed = {}
        other_run_urns: set[str] = set()
        merged_urns: set[str] = set()
        pending_keys = list(self.runs)
        while pending_keys:
            changed_ancestors = self._changed_ancestors(pending_keys)
            merged_urns |= self._close_groups(pending_keys, closed_runs)
            self.shared.merge_stale(self.runs)
            # other runs that these runs name: their facts are resolved again with this batch
            changed_run_urns = {urn for urn in self.shared.changed_urns if urn.startswith(RUN_URN_PREFIX)}
            self.shared.skip_rendering(changed_run_urns)
            other_run_urns |= changed_run_urns
            descendants = self._ancestry.descendants(changed_ancestors) - closed_runs.keys()
            pending_keys = [urn for urn in sorted(changed_run_urns | descendants) if self.runs.get(urn) is not None]
        if self._is_full:
            other_run_urns |= {urn for urn in self._contributed_urns if urn.startswith(RUN_URN_PREFIX)}
            self.shared.changed_urns |= self._contributed_urns - other_run_urns
            self._contributed_urns = set()
        for state, _ in closed_runs.values():
            self._ancestry.apply_ancestors(state)
        expired_urns, check_registers = self._checks.select_checks()
        selected_entities = self._selected_entities(
            {urn for urn in other_run_urns if urn not in closed_runs and not self.runs.is_known(urn)}
        )
        states = [state for state, _ in closed_runs.values()]
        self.closed_runs = states
        self.late_event_count = sum(len(state.events) for state in states if state.urn and state.is_complete is False)
        selected_entities.update(check_registers)
        self.rendered_urns = {*selected_entities, *(state.urn for state in states if state.urn and state.is_complete)}
        removals = [upsert(ASSERTION, urn, "status", {"removed": True}) for urn in expired_urns]
        proposals = render_runs(
            list(closed_runs.values()),
            selected_entities,
            self.options,
            merged_urns=frozenset(merged_urns),
            additional_proposals=removals,
        )
        yield valid_proposals(proposals, self.options.validator, self.rejected)

    def unchanged_proposals(self, urns: Iterable[str]) -> Iterator[Proposal]:
        """Return the facts about shared entities, changed or not: unchanged ones were written earlier."""
        chosen = _SelectedEntities(self.shared)
        chosen.update(
            {
                urn: drop_expired_edges(cells, self.options.settings)
                for urn in urns
                if (cells := self.shared.registers_of(urn))
            }
        )
        return render_runs([], chosen, self.options)

    def save(self, now: int, *, is_rerender: bool = False) -> None:
        """Write the changes of the batch; ``now`` in milliseconds; ``is_rerender`` as in :meth:`LedgerRuns.save`."""
        self.runs.save(now, is_rerender=is_rerender)
        self.shared.save()
        self.retention.apply(now)

    def clear_cache(self) -> None:
        """Clear the caches: another process has written to the file, or a batch was rolled back."""
        self.runs.clear_cache()
        self.shared.clear_cache()
        self._contributed_urns = set()

    def _load_rerendered(self) -> None:
        """Add entities to render again to the batch; a run with a state is loaded, a run without one is a shared entity."""
        for key in self.rerender_keys:
            if not (key.startswith(RUN_URN_PREFIX) and self.runs.is_known(key)) and self.shared.registers_of(key):
                self.shared.changed_urns.add(key)
            else:
                self.runs.get(key)
        self.rerender_keys = ()

    def _changed_ancestors(self, keys: Iterable[str]) -> list[RunState]:
        """Return the runs whose changes affect their descendants."""
        runs = (self.runs[key] for key in keys if key not in self.runs.evicted)
        return [run for run in runs if run.urn and self._ancestry.record_run(self.runs.ensure_record(run).run_id, run)]

    def _close_groups(self, keys: Iterable[str], closed_runs: Closed) -> set[str]:
        """Resolve the facts of related runs and replace their contributions; return the URNs whose facts other runs carry."""
        merged_urns: set[str] = set()
        groups: list[list[RunState]] = []
        ungrouped_states: dict[int, RunState] = {}
        for key in keys:
            state = self.runs[key]
            is_unrelated = (
                state.kind == "job"
                and not state.collapsed_urns
                and self.options.settings.temporary.dataset_type == "keep"
            )
            if is_unrelated or state.key in self.runs.evicted:
                self._close_permanently(state, closed_runs)
                continue
            number, run_tokens = self.runs.ensure_record(state).run_id, list(tokens_of(state, self.options))
            if run_tokens:
                self._related_runs.add_tokens(number, run_tokens)
                ungrouped_states[number] = state
            else:  # a row without a token, so the run has no related runs
                groups.append([state])
        while ungrouped_states:
            number, state = ungrouped_states.popitem()
            group = {member: self._related_state(member) for member in self._related_runs.related_ids(number)}
            group[number] = state
            for member in group:
                ungrouped_states.pop(member, None)
            groups.append([group[member] for member in sorted(group)])
        for states in groups:
            closed, group_merged_urns = self._close_copies(states, partial(self._replace_contributions, states))
            merged_urns |= group_merged_urns
            for state in states:
                closed_runs.pop(state.key, None)
            closed_runs.update({run.state.key: run for run in closed})
        return merged_urns

    def _close_copies(
        self, states: list[RunState], contribute: Callable[[list[ClosedRun]], None]
    ) -> tuple[list[ClosedRun], frozenset[str]]:
        """Close copies of related runs: the stored states are needed for later events."""
        copies = resolve_own_facts([state.copy() for state in states])
        return close_runs(copies, LedgerClosingStore(self.shared, contribute), self.options)

    def _replace_contributions(self, states: list[RunState], closed: list[ClosedRun]) -> None:
        """Replace what runs contribute; a run that is merged into another one contributes nothing."""
        closed_by_key = {run.state.key: run for run in closed}
        for state in states:
            run = closed_by_key.get(state.key)
            shared_facts = contribution(*run, self.options) if run is not None else {}
            self._note_contributed(shared_facts)
            self.shared.replace_contribution(self.runs.ensure_record(state), shared_facts)
        for run in closed:
            run.state.is_complete = True

    def _close_permanently(self, state: RunState, closed_runs: Closed) -> None:
        """Close states that no later event needs: a job event, or a run of which too little is known."""
        (run,), _ = self._close_copies([state], self._add_permanently)
        closed_runs[run.state.key] = run

    def _add_permanently(self, closed: list[ClosedRun]) -> None:
        """Add facts that are never replaced."""
        ((state, history),) = closed
        if state.kind != "job":
            state.is_complete = False
        shared_facts = contribution(state, history, self.options)
        if state.kind != "job":  # it states less about other runs than before
            shared_facts = {
                urn: registers for urn, registers in shared_facts.items() if not urn.startswith(RUN_URN_PREFIX)
            }
        self._note_contributed(shared_facts)
        self.shared.add_permanently(shared_facts)

    def _note_contributed(self, shared_facts: FactsByEntity) -> None:
        if self._is_full:
            self._contributed_urns.update(shared_facts)

    def _related_state(self, number: int) -> RunState:
        """Return the state of a related run; it belongs to the batch from now on."""
        key = self.runs.record_by_id(number).state.key
        state = self.runs.get(key)
        if state is None:
            raise LookupError(f"the ledger has no state of run {key}")
        return state

    def _selected_entities(self, implied_urns: set[str]) -> _SelectedEntities:
        """Return the shared entities to render: those that changed, and implied parents."""
        selected_entities = _SelectedEntities(self.shared)
        for urn in sorted(self.shared.changed_urns | implied_urns):  # the same order in each process
            selected_entities[urn] = drop_expired_edges(self.shared.registers_of(urn), self.options.settings)
        for urn in list(selected_entities):
            # a parent without events of its own may be a run of this job
            for run_urn in selected_entities[urn].get(CANDIDATE_RUN, ()):
                if run_urn not in selected_entities and not self.runs.is_known(run_urn):
                    selected_entities[run_urn] = self.shared.registers_of(run_urn)
        for urn in list(selected_entities):
            own_job = value(selected_entities[urn], FLOW_JOB)
            if (
                own_job is not None
                and own_job.job_urn not in selected_entities
                and (flow_job := self.shared.registers_of(own_job.job_urn))
            ):
                selected_entities[own_job.job_urn] = drop_expired_edges(
                    flow_job, self.options.settings
                )  # it shows the facets of the flow
        return selected_entities


class LedgerClosingStore:
    """State in SQLite: what other runs state about a run is stored with the shared entity of its URN (see `ClosingStore`)."""

    def __init__(self, shared: SharedEntityStore, contribute: Callable[[list[ClosedRun]], None] | None = None) -> None:
        """Merge runs into shared entities with ``contribute``; without it they contribute nothing."""
        self._shared = shared
        self._contribute = contribute

    def exchange(self, states: list[RunState]) -> list[RunState]:
        """Add to runs what other runs state about them."""
        for state in states:
            if state.urn and (registers := self._shared.registers_of(state.urn)):
                apply_foreign_facts(state, registers)
        return states

    def contribute(self, closed: list[ClosedRun]) -> None:
        """Merge the runs into the shared entities of the ledger."""
        if self._contribute is not None:
            self._contribute(closed)


class _SelectedEntities(dict[str, "Registers"]):
    """The shared entities to render; ``get`` also finds entities whose facts they show."""

    def __init__(self, shared: SharedEntityStore) -> None:
        super().__init__()
        self._shared = shared

    def get(self, urn: str, default: Any = None) -> Any:
        """Return the facts of an entity, whether it is rendered or not."""
        registers = super().get(urn)
        return registers if registers is not None else self._shared.registers_of(urn) or default
