"""What a run has from those above it: its type, and whether it is a stream.

A run's own words come first, then those that its parent facet forwards, then those of the nearest ancestor that has any. It takes
the events of all of them, so only a home that keeps states asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import PARENT, RUN_TYPE
from dh_bridge.translation.fold import fold, value
from dh_bridge.translation.identity.runs import run_type
from dh_bridge.translation.merge import BEFORE
from dh_bridge.translation.precedence import (
    TYPE_ABOVE,
    TYPE_AIRFLOW_RUN,
    TYPE_EXTERNAL_TRIGGER,
    TYPE_INHERITED,
    TYPE_INTEGRATION,
    TYPE_JOB,
    TYPE_NOMINAL,
    TYPE_PROCESSING,
    TYPE_PROCESSING_ABOVE,
    TYPE_START_REASON,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.runstate import RunState

_HIGHEST = 50
#: own words first, then those forwarded with the parent facet, then those from above
_PROCESSING = (TYPE_PROCESSING, TYPE_INHERITED, TYPE_PROCESSING_ABOVE)


def parent_of(state: RunState) -> str | None:
    """Return the URN of a run's parent."""
    parent = value(state.cells.get(state.urn, {}), PARENT)
    return None if parent is None else str(parent[0])


def type_of(slots: Slots) -> str | None:
    """Return the type of a run by the cells of its own URN."""
    if RUN_TYPE not in slots:
        return None
    return run_type(
        processing_type=next((word for key in _PROCESSING if (word := value(slots, RUN_TYPE, key))), None),
        start_reason=value(slots, RUN_TYPE, TYPE_START_REASON),
        airflow_run_type=value(slots, RUN_TYPE, TYPE_AIRFLOW_RUN),
        nominal=bool(value(slots, RUN_TYPE, TYPE_NOMINAL)),
        job_type=value(slots, RUN_TYPE, TYPE_JOB),
        integration=value(slots, RUN_TYPE, TYPE_INTEGRATION),
        external_trigger=bool(value(slots, RUN_TYPE, TYPE_EXTERNAL_TRIGGER)),
        parent=value(slots, RUN_TYPE, TYPE_ABOVE),
    )


def handed_down(slots: Slots) -> tuple[str | None, str | None]:
    """Return a run's own processing type and type: what those below it may have from it."""
    if RUN_TYPE not in slots:
        return None, None
    return value(slots, RUN_TYPE, TYPE_PROCESSING) or value(slots, RUN_TYPE, TYPE_INHERITED), type_of(slots)


def inherit(state: RunState, above: Callable[[str], Slots | None]) -> None:
    """Fold into a settled run what its ancestors hand down; ``above`` gives the cells of a run, None for an unknown one."""
    processing: str | None = None
    kind: str | None = None
    for slots in reversed(_ancestors(state, above)):
        own: dict[Any, Any] = dict(slots.get(RUN_TYPE, {}))
        own.update({key: (BEFORE, said) for key, said in _cells(processing, kind)})
        processing, kind = handed_down({RUN_TYPE: own})[0] or processing, type_of({RUN_TYPE: own})
    fold(state.cells, ((state.urn, RUN_TYPE, key, said) for key, said in _cells(processing, kind)), BEFORE)


def _cells(processing: str | None, kind: str | None) -> list[tuple[str, str]]:
    return [(key, said) for key, said in ((TYPE_PROCESSING_ABOVE, processing), (TYPE_ABOVE, kind)) if said]


def _ancestors(state: RunState, above: Callable[[str], Slots | None]) -> list[Slots]:
    """Return the cells of a run's ancestors, the nearest first; a chain that comes back to a run ends there."""
    found: list[Slots] = []
    seen = {state.urn}
    parent = value(state.cells.get(state.urn, {}), PARENT)
    while parent is not None and parent[0] not in seen and len(found) < _HIGHEST:
        slots = above(parent[0])
        if slots is None:
            break
        seen.add(parent[0])
        found.append(slots)
        parent = value(slots, PARENT)
    return found
