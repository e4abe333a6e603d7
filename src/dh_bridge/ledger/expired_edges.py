"""Edges of a job that have left, where `edges` says so: they are forgotten with the runs that the ledger lets go of.

An edge has left for good when a run that is gone did without it, and none named it since: what such a run has left is never taken
back. It shows nowhere; kept, it would cost each batch of its job more. Named again, it is a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.edge_expiry import drop_expired_edges
from dh_bridge.model.facts import EDGE_LAST_USED, INPUT_EDGE, LAST_COMPLETE_RUN, OUTPUT_EDGE

if TYPE_CHECKING:
    from dh_bridge.model.fold import Registers
    from dh_bridge.settings import Settings

_KINDS_BY_DIRECTION = {"input": INPUT_EDGE, "output": OUTPUT_EDGE}


def drop_expired(base: Registers, registers: Registers, settings: Settings) -> tuple[Registers, Registers] | None:
    """Return what runs that are gone have left of an entity (``base``) and all that is known of it, without what left for good.

    None: nothing did.
    """
    if settings.edges == "accumulate" or LAST_COMPLETE_RUN not in base:
        return None
    expiry_registers = {LAST_COMPLETE_RUN: base[LAST_COMPLETE_RUN], EDGE_LAST_USED: registers.get(EDGE_LAST_USED, {})}
    combined_registers = {**registers, **expiry_registers}
    if drop_expired_edges(combined_registers, settings) is combined_registers:
        return None
    return _drop_edges(base, expiry_registers, settings), _drop_edges(registers, expiry_registers, settings)


def _drop_edges(registers: Registers, expiry_registers: Registers, settings: Settings) -> Registers:
    remaining = {**drop_expired_edges({**registers, **expiry_registers}, settings)}
    edges = {
        (direction, urn) for direction, fact_kind in _KINDS_BY_DIRECTION.items() for urn in remaining.get(fact_kind, ())
    }
    last_uses = {key: versioned for key, versioned in registers.get(EDGE_LAST_USED, {}).items() if key in edges}
    return {
        **{fact_kind: remaining[fact_kind] for fact_kind in remaining if fact_kind not in expiry_registers},
        LAST_COMPLETE_RUN: registers[LAST_COMPLETE_RUN],
        EDGE_LAST_USED: last_uses,
    }
