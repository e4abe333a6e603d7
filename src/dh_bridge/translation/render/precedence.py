"""Ladders and properties: what is left of a slot's cells when an aspect is rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import GONE
from dh_bridge.translation.properties import Joined, bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.merge import Cell


def combined(slots: Slots, slot: Slot, prefix: str) -> dict[str, str]:
    """Return the custom properties of all facets, prefixed; of two facets with one key the later stamp wins.

    Facets of one event share a stamp: among them the key decides, so that arrival does not.
    """
    found = _gathered(slots, slot)
    return {prefix + key: text for key, text in bounded(found).items()} if found else {}


def too_many(slots: Slots, slot: Slot) -> list[str]:
    """Return the keys, without a prefix, that :func:`combined` leaves out because there are too many."""
    found = _gathered(slots, slot)
    return sorted(found.keys() - bounded(found).keys())


def _gathered(slots: Slots, slot: Slot) -> dict[str, str]:
    elements = slots.get(slot)
    if not elements:
        return {}
    cells: Iterable[tuple[Any, Cell]] = elements.items()
    if len(elements) > 1:
        cells = sorted(cells, key=lambda entry: (entry[1][0], entry[0]))
    found: dict[str, str] = {}
    joined: dict[str, Joined] = {}
    for _, (_, properties) in cells:
        if type(properties) is Joined:
            name = properties.name
            joined[name] = joined[name].with_members(properties) if name in joined else properties
        elif properties is not GONE:
            found.update(properties)
    for name, whole in joined.items():
        found[name] = whole.text
    return found


def fields(slots: Slots, slot: Slot) -> Iterator[tuple[str, Any]]:
    """Yield (field, value) of a slot whose keys are (field, rung): the lowest rung that says something; GONE if retracted."""
    elements = slots.get(slot)
    if not elements:
        return
    best: dict[str, tuple[int, Any]] = {}
    for (field, rung), (_, value) in elements.items():
        rank = rung if value is not GONE else 1_000_000 + rung
        if field not in best or rank < best[field][0]:
            best[field] = (rank, value)
    for field in sorted(best):
        yield field, best[field][1]
