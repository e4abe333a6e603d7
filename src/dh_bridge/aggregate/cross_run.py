"""Steps of closing runs: cross-run facts, history, and contributions.

`dh_bridge.closing` takes these steps in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.application_totals import add_application_totals
from dh_bridge.aggregate.attempts import resolve_retries, stated_attempts
from dh_bridge.aggregate.collapse import collapse_temporary
from dh_bridge.aggregate.contributions import contribute, outputs_of, resolve_placeholders, resolve_snapshots
from dh_bridge.aggregate.integrations import resolve_integration
from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.aggregate.run_history import History, build_history, mark_failed, single_event_history
from dh_bridge.aggregate.skipped import drop_skipped_results
from dh_bridge.model.facts import CAN_RETRY, IS_WRITTEN, RESULTS, TEMPORARY
from dh_bridge.model.fold import FactsByEntity, add_facts
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.model.precedence import TYPE_BATCHES, TYPE_RESTARTS, TYPE_STREAMING

if TYPE_CHECKING:
    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options


def resolve_run(state: RunState) -> None:
    """Resolve the facts of a single run: its integration, placeholders and snapshots."""
    resolve_integration(state)

    resolve_placeholders(state)
    resolve_snapshots(state)


def resolve_between_runs(states: list[RunState], fact_kinds: set[FactKind], options: Options) -> None:
    """Resolve facts between runs: temporary datasets, and tests of a failed model; ``fact_kinds`` as in `fact_kinds_of`."""
    if TEMPORARY in fact_kinds or any([state.collapsed_urns for state in states]):  # noqa: C419 - a list is faster
        collapse_temporary(states)
    if RESULTS in fact_kinds and len(states) > 1:
        drop_skipped_results(states, options.tables.assertions)
    if CAN_RETRY in fact_kinds and len(states) > 1:
        resolve_retries(states)


def history_of(state: RunState, options: Options) -> History:
    """Return the history of a resolved run, by the settings."""
    settings = options.settings.runs
    stated_numbers = stated_attempts(state.facts.get(state.urn, {}))
    run_history = (None if stated_numbers else single_event_history(state.events)) or build_history(
        state.events,
        streaming=state.has_type_hint(TYPE_STREAMING),
        heartbeat=settings.heartbeat,
        other_as=settings.other_as,
        start_skew=settings.start_skew_seconds,
        restarts=state.has_type_hint(TYPE_RESTARTS),
        batches=state.has_type_hint(TYPE_BATCHES),
        stated_numbers=stated_numbers,
    )
    return mark_failed(run_history) if state.has_failed_operation else run_history


def contribution(state: RunState, run_history: History, options: Options) -> FactsByEntity:
    """Return the facts that a resolved run contributes to shared entities and other runs."""
    foreign_facts = {
        urn: registers for urn, registers in state.facts.items() if urn.startswith(RUN_URN_PREFIX) and urn != state.urn
    }
    for urn in foreign_facts:
        del state.facts[urn]
    add_application_totals(state, foreign_facts)
    shared: FactsByEntity = {}
    contribute(state, run_history, shared, options)
    shared.update(foreign_facts)
    for placeholder in [urn for urn in shared if urn.startswith("?")]:  # of a job that is not written
        del shared[placeholder]
    mark_written(state, shared)
    return shared


def mark_written(state: RunState, shared: FactsByEntity) -> None:
    """Record in ``shared`` which datasets a run wrote, or a dataset event is about."""
    for urn in outputs_of(state):
        add_facts(shared, ((urn, IS_WRITTEN, "", None),), MIN_VERSION)
