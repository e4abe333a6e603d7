"""The fold: statements into cells, by the law of their slot. One loop for a run and for what runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import Slot, Statement
from dh_bridge.translation.merge import Cell, Stamp

if TYPE_CHECKING:
    from collections.abc import Iterable

#: what is said of one entity, and of all of them
Slots = dict[Slot, dict[Any, Cell]]
Cells = dict[str, Slots]


def fold(cells: Cells, statements: Iterable[Statement], stamp: Stamp) -> None:
    """Fold ``statements`` of one stamp into ``cells``."""
    for entity, slot, key, value in statements:
        slots = cells.get(entity)
        if slots is None:
            cells[entity] = {slot: {key: (stamp, value)}}
            continue
        elements = slots.get(slot)
        if elements is None:
            slots[slot] = {key: (stamp, value)}
            continue
        old = elements.get(key)
        new = (stamp, value)
        elements[key] = new if old is None else slot.law(old, new)


def merge(target: Cells, source: Cells, *, shared: bool = True) -> None:
    """Fold the cells of ``source`` into ``target``: only the slots that runs share, unless ``shared`` is False."""
    for entity, slots in source.items():
        into = target.get(entity)
        for slot, elements in slots.items():
            if shared and not slot.shared:
                continue
            if into is None:
                into = target[entity] = {}
            held = into.get(slot)
            if held is None:
                into[slot] = dict(elements)
            else:
                pour(held, slot, elements)


def pour(target: dict[Any, Cell], slot: Slot, elements: dict[Any, Cell]) -> None:
    """Fold the elements of one slot into another's."""
    for key, cell in elements.items():
        old = target.get(key)
        target[key] = cell if old is None else slot.law(old, cell)


def value(slots: Slots, slot: Slot, key: Any = "") -> Any:
    """Return the value at ``slot`` and ``key``, or None."""
    elements = slots.get(slot)
    if elements is None:
        return None
    cell = elements.get(key)
    return None if cell is None else cell[1]


def standing(slots: Slots, slot: Slot, tombstone: Any) -> dict[Any, Cell]:
    """Return the elements of a slot that were added after its last tombstone."""
    elements = slots.get(slot)
    if not elements or tombstone not in elements:
        return elements or {}
    gone = elements[tombstone][0]
    return {key: cell for key, cell in elements.items() if key != tombstone and cell[0] > gone}


def first_rung(slots: Slots, slot: Slot) -> Any:
    """Return the value of the lowest rung of a ladder, or None."""
    elements = slots.get(slot)
    return elements[min(elements)][1] if elements else None
