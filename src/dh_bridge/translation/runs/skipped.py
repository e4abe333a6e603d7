"""dbt tests that dbt skipped: told by the run of their model, which failed under the same parent, or by their own.

dbt's events call such a test failed. Of those that are written when all is over, all that differs is that no value stands in
them. Its own events do not tell that from a test that broke, so it takes the runs of one call together; a test whose model is
not among them stays an ERROR. Events that follow dbt's log end the run of a skipped test with ABORT, and invent a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.translation.assertions import outcome
from dh_bridge.translation.assertions.check import said
from dh_bridge.translation.facts import CHECKS, OUTPUT, PARENT, RESULTS, RUN_PROPERTIES
from dh_bridge.translation.fold import value
from dh_bridge.translation.properties import kept
from dh_bridge.translation.reading.checks import RESULT_NOTE
from dh_bridge.translation.runs.contributions import io_of
from dh_bridge.translation.runs.history import history
from dh_bridge.translation.trace import Note, Reached

if TYPE_CHECKING:
    from dh_bridge.translation.assertions import AssertionTable, Check
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.merge import Stamp
    from dh_bridge.translation.reading.checks import Stated
    from dh_bridge.translation.runstate import RunState

Notes = list[tuple[str, Note]]
PROPERTY = "test.skipped"
_FACET = "test"
_PLATFORM = "dbt"


def is_skipped(at: Place) -> bool:
    """Return whether dbt came to none of the tests of this event."""
    return at.assertion_platform == _PLATFORM and at.event.type == "ABORT"


def withdraw_skipped(states: list[RunState], table: AssertionTable) -> None:
    """Forget the results of tests that dbt skipped, and keep their names on their runs, as those of a status ``skip``."""
    failed = [(state, parent) for state in states if _ended(state, "FAIL") and (parent := _parent(state)) is not None]
    if len(failed) < 2:  # the model's run and the test's
        return
    broken: dict[tuple[str, str], set[str]] = {}
    for state, parent in failed:
        outputs = {*io_of(state, OUTPUT), *state.listed}
        if outputs and not history(state.events).completed:
            for dataset in outputs:
                broken.setdefault((parent, dataset), set()).add(state.urn)
    for state, parent in failed:
        for dataset in [urn for urn in state.cells if broken.get((parent, urn), set()) - {state.urn}]:
            _withdraw(state, dataset, table)


def settled_notes(notes: Notes, state: RunState) -> Notes:
    """Return the notes of an event of a closed run: what they say of results that may be withdrawn is known now."""
    if not any(isinstance(note, str) and note.startswith(RESULT_NOTE) for _, note in notes):
        return notes
    facet = value(state.cells.get(state.urn, {}), RUN_PROPERTIES, _FACET) or {}
    withdrawn: Note = "too-large" if _names(facet.get(PROPERTY)) is None else Reached((RUN_PROPERTIES[PROPERTY],))
    found: Notes = []
    for path, note in notes:
        if isinstance(note, str) and note.startswith(RESULT_NOTE):
            urn, _, dataset = note.removeprefix(RESULT_NOTE).partition(" ")
            if any(key[0] == urn for key in state.cells.get(dataset, {}).get(RESULTS, ())):
                continue  # the result stands, as the facet's row says
            found.append((path, withdrawn))
        else:
            found.append((path, note))
    return found


def _withdraw(state: RunState, dataset: str, table: AssertionTable) -> None:
    slots = state.cells[dataset]
    results, checks = slots.get(RESULTS, {}), slots.get(CHECKS, {})
    skipped = {key: cell for key, cell in results.items() if _is_skipped(cell[1], checks[key[0]][1], table)}
    if not skipped:
        return
    slots[RESULTS] = {key: cell for key, cell in results.items() if key not in skipped}
    _keep(
        state,
        {check.name or check.assertion for _, check in skipped.values()},
        max(cell[0] for cell in skipped.values()),
    )


def _is_skipped(check: Check, stated: Stated, table: AssertionTable) -> bool:
    ended = outcome(check, stated.platform, table)
    return ended == "ERROR" and stated.platform == _PLATFORM and said(check.expected) is None


def _keep(state: RunState, names: set[str], stamp: Stamp) -> None:
    """Add names to the property that the facet ``test`` has for tests that it calls skipped."""
    properties = dict(value(state.cells.get(state.urn, {}), RUN_PROPERTIES, _FACET) or {})
    before = _names(properties.get(PROPERTY))
    if before is None:
        return
    properties[PROPERTY] = kept(PROPERTY, [*before, *sorted(names.difference(before))]) or ""
    cells = state.cells.setdefault(state.urn, {}).setdefault(RUN_PROPERTIES, {})
    held = cells.get(_FACET)
    cells[_FACET] = (max(held[0], stamp) if held is not None else stamp, properties)


def _names(text: str | None) -> list[str] | None:
    """Return the names of the property, None when it was cut: no more go in."""
    try:
        return msgspec.json.decode(text or "[]", type=list[str])
    except msgspec.DecodeError:
        return None


def _ended(state: RunState, kind: str) -> bool:
    return state.kind == "run" and any(word == kind for _, word in state.events)


def _parent(state: RunState) -> str | None:
    found = value(state.cells.get(state.urn, {}), PARENT)
    return found[0] if found is not None else None
