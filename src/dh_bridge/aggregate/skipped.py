"""dbt tests that dbt skipped: reported by the run of their model, which failed under the same parent, or by their own run.

dbt's events report such a test as failed. Events that are written at the end differ from a failed test only in a missing value.
Its own events have no difference at all, so the runs of one call are compared; a test whose model is not in the call stays an
ERROR. Events from dbt's log end the run of a skipped test with ABORT and an invented value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.aggregate.contributions import io_of
from dh_bridge.aggregate.run_history import build_history
from dh_bridge.assertions import evaluate_outcome
from dh_bridge.assertions.check import meaningful_value
from dh_bridge.facet_support.checks import RESULT_NOTE
from dh_bridge.model.facts import CHECKS, OUTPUT, PARENT, RESULTS, RUN_PROPERTIES
from dh_bridge.model.fold import value
from dh_bridge.model.properties import property_text
from dh_bridge.model.trace import FieldNote, FieldTargets

if TYPE_CHECKING:
    from dh_bridge.assertions import AssertionTable, Check
    from dh_bridge.facet_support.checks import StatedCheck
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.merge import Version
    from dh_bridge.model.run_state import RunState

Notes = list[tuple[str, FieldNote]]
PROPERTY = "test.skipped"
_FACET = "test"
_PLATFORM = "dbt"


def is_skipped_test(ctx: FacetContext) -> bool:
    """Return whether dbt ran none of the tests of this event."""
    return ctx.assertion_platform == _PLATFORM and ctx.event.type == "ABORT"


def drop_skipped_results(states: list[RunState], table: AssertionTable) -> None:
    """Drop the results of tests that dbt skipped; their names stay on their runs, as for a status ``skip``."""
    failed_runs = [
        (state, parent) for state in states if _has_event(state, "FAIL") and (parent := _parent_urn(state)) is not None
    ]
    if len(failed_runs) < 2:  # the run of the model and that of the test
        return
    failed_writers: dict[tuple[str, str], set[str]] = {}
    for state, parent in failed_runs:
        outputs = {*io_of(state, OUTPUT), *state.snapshot_outputs}
        if outputs and not build_history(state.events).has_completed:
            for dataset in outputs:
                failed_writers.setdefault((parent, dataset), set()).add(state.urn)
    for state, parent in failed_runs:
        for dataset in [urn for urn in state.facts if failed_writers.get((parent, urn), set()) - {state.urn}]:
            _drop_results(state, dataset, table)


def resolve_notes(notes: Notes, state: RunState) -> Notes:
    """Return the dropped fields of an event of a closed run; it is now known which results are withdrawn."""
    if not any(isinstance(note, str) and note.startswith(RESULT_NOTE) for _, note in notes):
        return notes
    facet = value(state.facts.get(state.urn, {}), RUN_PROPERTIES, _FACET) or {}
    outcome: FieldNote = (
        "too-large" if _skipped_names(facet.get(PROPERTY)) is None else FieldTargets((RUN_PROPERTIES[PROPERTY],))
    )
    resolved_notes: Notes = []
    for path, note in notes:
        if isinstance(note, str) and note.startswith(RESULT_NOTE):
            urn, _, dataset = note.removeprefix(RESULT_NOTE).partition(" ")
            if any(key[0] == urn for key in state.facts.get(dataset, {}).get(RESULTS, ())):
                continue  # the result stays valid, as the row of the facet states
            resolved_notes.append((path, outcome))
        else:
            resolved_notes.append((path, note))
    return resolved_notes


def _drop_results(state: RunState, dataset: str, table: AssertionTable) -> None:
    registers = state.facts[dataset]
    results, checks = registers.get(RESULTS, {}), registers.get(CHECKS, {})
    skipped = {
        key: versioned
        for key, versioned in results.items()
        if _is_skipped_result(versioned[1], checks[key[0]][1], table)
    }
    if not skipped:
        return
    registers[RESULTS] = {key: versioned for key, versioned in results.items() if key not in skipped}
    _add_skipped_names(
        state,
        {check.name or check.assertion for _, check in skipped.values()},
        max(versioned[0] for versioned in skipped.values()),
    )


def _is_skipped_result(check: Check, stated_check: StatedCheck, table: AssertionTable) -> bool:
    result_type = evaluate_outcome(check, stated_check.platform, table)
    return result_type == "ERROR" and stated_check.platform == _PLATFORM and meaningful_value(check.expected) is None


def _add_skipped_names(state: RunState, names: set[str], version: Version) -> None:
    """Add names to the property that the facet ``test`` writes for skipped tests."""
    properties = dict(value(state.facts.get(state.urn, {}), RUN_PROPERTIES, _FACET) or {})
    previous_names = _skipped_names(properties.get(PROPERTY))
    if previous_names is None:
        return
    properties[PROPERTY] = property_text(PROPERTY, [*previous_names, *sorted(names.difference(previous_names))]) or ""
    elements = state.facts.setdefault(state.urn, {}).setdefault(RUN_PROPERTIES, {})
    existing = elements.get(_FACET)
    elements[_FACET] = (max(existing[0], version) if existing is not None else version, properties)


def _skipped_names(text: str | None) -> list[str] | None:
    """Return the names in the property; None if it was truncated: no more fit."""
    try:
        return msgspec.json.decode(text or "[]", type=list[str])
    except msgspec.DecodeError:
        return None


def _has_event(state: RunState, event_type: str) -> bool:
    return state.kind == "run" and any(type_ == event_type for _, type_ in state.events)


def _parent_urn(state: RunState) -> str | None:
    parent = value(state.facts.get(state.urn, {}), PARENT)
    return parent[0] if parent is not None else None
