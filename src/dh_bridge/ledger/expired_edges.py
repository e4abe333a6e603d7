"""Edges of a job that have left, where `edges` says so: they are forgotten with the runs that the ledger lets go of.

An edge has left for good when a run that is gone did without it, and none named it since: what such a run has left is never taken
back. It shows nowhere; kept, it would cost each batch of its job more. Named again, it is a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import INPUT_EDGE, NEWEST, OUTPUT_EDGE, SEEN
from dh_bridge.translation.runs.edge_expiry import present

if TYPE_CHECKING:
    from dh_bridge.settings import Settings
    from dh_bridge.translation.fold import Slots

_SIDES = {"input": INPUT_EDGE, "output": OUTPUT_EDGE}


def without_left(base: Slots, cells: Slots, settings: Settings) -> tuple[Slots, Slots] | None:
    """Return what runs that are gone have left of an entity (``base``) and all that is known of it, without what left for good.

    None: nothing did.
    """
    if settings.edges == "accumulate" or NEWEST not in base:
        return None
    judged = {NEWEST: base[NEWEST], SEEN: cells.get(SEEN, {})}
    known = {**cells, **judged}
    if present(known, settings) is known:
        return None
    return _without(base, judged, settings), _without(cells, judged, settings)


def _without(slots: Slots, judged: Slots, settings: Settings) -> Slots:
    found = {**present({**slots, **judged}, settings)}
    edges = {(side, urn) for side, slot in _SIDES.items() for urn in found.get(slot, ())}
    seen = {key: cell for key, cell in slots.get(SEEN, {}).items() if key in edges}
    return {**{slot: found[slot] for slot in found if slot not in judged}, NEWEST: slots[NEWEST], SEEN: seen}
