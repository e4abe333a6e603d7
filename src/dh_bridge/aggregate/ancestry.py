"""Attributes that a run inherits from its ancestors: its type, and whether it is a stream.

The run's own values win, then those that its parent facet forwards, then those of the nearest ancestor that has any. This needs
the events of all of them, so only a ledger or a partitioned translation does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.identity.runs import run_type
from dh_bridge.model.facts import PARENT, RUN_TYPE
from dh_bridge.model.fold import add_facts, value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.model.precedence import (
    TYPE_AIRFLOW_RUN,
    TYPE_EXTERNAL_TRIGGER,
    TYPE_INHERITED,
    TYPE_INTEGRATION,
    TYPE_JOB,
    TYPE_NOMINAL,
    TYPE_OF_ANCESTOR,
    TYPE_PROCESSING,
    TYPE_PROCESSING_OF_ANCESTOR,
    TYPE_START_REASON,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState

_MAX_ANCESTORS = 50
#: own values first, then those of the parent facet, then those of ancestors
_PROCESSING = (TYPE_PROCESSING, TYPE_INHERITED, TYPE_PROCESSING_OF_ANCESTOR)


def parent_urn_of(state: RunState) -> str | None:
    """Return the URN of a run's parent."""
    parent = value(state.facts.get(state.urn, {}), PARENT)
    return None if parent is None else str(parent[0])


def run_type_of(registers: Registers) -> str | None:
    """Return the type of a run from the facts of its URN."""
    if RUN_TYPE not in registers:
        return None
    return run_type(
        processing_type=next(
            (processing_type for key in _PROCESSING if (processing_type := value(registers, RUN_TYPE, key))), None
        ),
        start_reason=value(registers, RUN_TYPE, TYPE_START_REASON),
        airflow_run_type=value(registers, RUN_TYPE, TYPE_AIRFLOW_RUN),
        has_nominal_time=bool(value(registers, RUN_TYPE, TYPE_NOMINAL)),
        job_type=value(registers, RUN_TYPE, TYPE_JOB),
        integration=value(registers, RUN_TYPE, TYPE_INTEGRATION),
        external_trigger=bool(value(registers, RUN_TYPE, TYPE_EXTERNAL_TRIGGER)),
        parent=value(registers, RUN_TYPE, TYPE_OF_ANCESTOR),
    )


def inheritable_types(registers: Registers) -> tuple[str | None, str | None]:
    """Return a run's own processing type and type, which its descendants may inherit."""
    if RUN_TYPE not in registers:
        return None, None
    return value(registers, RUN_TYPE, TYPE_PROCESSING) or value(registers, RUN_TYPE, TYPE_INHERITED), run_type_of(
        registers
    )


def inherit_types(state: RunState, registers_of: Callable[[str], Registers | None]) -> None:
    """Add inherited attributes to a resolved run; ``registers_of`` returns the facts of a run, None for an unknown one."""
    processing: str | None = None
    kind: str | None = None
    for registers in reversed(_ancestors(state, registers_of)):
        type_register: dict[Any, Any] = dict(registers.get(RUN_TYPE, {}))
        type_register.update({key: (MIN_VERSION, hint) for key, hint in _inherited_hints(processing, kind)})
        processing, kind = (
            inheritable_types({RUN_TYPE: type_register})[0] or processing,
            run_type_of({RUN_TYPE: type_register}),
        )
    add_facts(
        state.facts, ((state.urn, RUN_TYPE, key, hint) for key, hint in _inherited_hints(processing, kind)), MIN_VERSION
    )


def _inherited_hints(processing: str | None, kind: str | None) -> list[tuple[str, str]]:
    return [(key, hint) for key, hint in ((TYPE_PROCESSING_OF_ANCESTOR, processing), (TYPE_OF_ANCESTOR, kind)) if hint]


def _ancestors(state: RunState, registers_of: Callable[[str], Registers | None]) -> list[Registers]:
    """Return the facts of a run's ancestors, the nearest first; a cycle ends the chain."""
    ancestors: list[Registers] = []
    visited = {state.urn}
    parent = value(state.facts.get(state.urn, {}), PARENT)
    while parent is not None and parent[0] not in visited and len(ancestors) < _MAX_ANCESTORS:
        registers = registers_of(parent[0])
        if registers is None:
            break
        visited.add(parent[0])
        ancestors.append(registers)
        parent = value(registers, PARENT)
    return ancestors
