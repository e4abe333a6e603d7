"""What many runs share: for each job, flow, dataset, assertion the fold of all that runs contribute to it.

A run that changes mostly says more than before; then its new cells are folded in. Where it says less (a snapshot left an
output out), the cell is folded anew from the runs that touch it and from ``base``, what runs that are gone have left.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain
from typing import TYPE_CHECKING, Any

from dh_bridge.ledger.codec import sealed, unsealed
from dh_bridge.ledger.expired_edges import without_left
from dh_bridge.translation.runs.other_runs import RUN
from dh_bridge.translation.state_codec import decode_slots, encode_slots

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.runs import Record, Runs
    from dh_bridge.settings import Settings
    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.fold import Cells, Slots
    from dh_bridge.translation.merge import Cell

_REMEMBERED = 4_000
_NOTHING: dict[Any, Cell] = {}


class Entity:
    """The cells of one entity: ``cells`` of all runs, ``base`` of those that are gone."""

    __slots__ = ("base", "cells", "number")

    def __init__(self, number: int, base: Slots, cells: Slots) -> None:
        self.number = number
        self.base = base
        self.cells = cells


class Shared:
    """The entities that runs share, in memory and in the file.

    ``changed`` are those of this batch; ``taken_back`` are those of which runs took something back in it, each with the slot.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._entities: OrderedDict[str, Entity | None] = OrderedDict()
        self._stale: dict[str, set[tuple[Slot, Any]]] = {}
        self._touched: dict[str, set[int]] = {}
        self._based: set[str] = set()
        self.changed: set[str] = set()
        self.taken_back: set[tuple[str, Slot]] = set()

    def cells(self, urn: str) -> Slots:
        """Return what is known of an entity; empty for an unknown one. Not to be changed."""
        found = self._entity(urn)
        return found.cells if found is not None else {}

    def pour(self, record: Record, after: Cells) -> None:
        """Replace what a run contributes, in all entities that it touches."""
        before = record.contribution
        record.contribution = after
        for urn, new in after.items():
            old = before.get(urn)
            if old is None:
                self._touched.setdefault(urn, set()).add(record.number)
            self._fold(urn, old or {}, new)
        for urn in before.keys() - after.keys():
            self._fold(urn, before[urn], {})

    def pour_for_good(self, after: Cells) -> None:
        """Fold in what will never be taken back: of job and dataset events, and of runs that are gone."""
        for urn, new in after.items():
            entity = self._made(urn)
            self._based.add(urn)
            for slot, elements in new.items():
                base = entity.base.setdefault(slot, {})
                for key, cell in elements.items():
                    known = base.get(key)
                    base[key] = cell if known is None else slot.law(known, cell)
            self._fold(urn, {}, new)

    def let_leave(self, urn: str, settings: Settings) -> None:
        """Forget the edges of a job that have left for good; what shows of it is the same."""
        entity = self._entity(urn)
        found = without_left(entity.base, entity.cells, settings) if entity is not None else None
        if entity is not None and found is not None:
            entity.base, entity.cells = found
            self._based.add(urn)

    def refold(self, runs: Runs) -> None:
        """Fold the cells anew of which a run took something back."""
        for urn, places in self._stale.items():
            entity = self._made(urn)
            left = (runs.contribution(number).get(urn, {}) for number in self.touching(urn))
            found = _folded(places, chain([entity.base], left))
            for slot, key in places:
                self._put(urn, entity.cells, slot, key, found.get((slot, key)))
        self._stale.clear()

    def touching(self, urn: str) -> set[int]:
        """Return the numbers of the runs that contribute to an entity."""
        entity = self._entity(urn)
        if entity is None:
            return set()
        rows = self._connection.execute("SELECT run FROM touch WHERE entity = ?", (entity.number,))
        return {number for (number,) in rows} | self._touched.get(urn, set())

    def is_touched(self, urn: str) -> bool:
        """Whether a run that is kept contributes to an entity."""
        entity = self._entity(urn)
        if entity is None:
            return False
        there = self._connection.execute("SELECT 1 FROM touch WHERE entity = ? LIMIT 1", (entity.number,)).fetchone()
        return there is not None or urn in self._touched

    def let_go(self, number: int) -> list[tuple[str, bool]]:
        """Forget what a run touched; return the runs among it, each with whether others touch it still."""
        query = "SELECT urn FROM shared JOIN touch ON entity = shared.id WHERE run = ? AND urn GLOB ?"
        found = [urn for (urn,) in self._connection.execute(query, (number, f"{RUN}*"))]
        self._connection.execute("DELETE FROM touch WHERE run = ?", (number,))
        return [(urn, self.is_touched(urn)) for urn in found]

    def drop(self, urn: str) -> None:
        """Forget an entity of which nothing will be asked any more."""
        self._connection.execute("DELETE FROM shared WHERE urn = ?", (urn,))
        self._entities.pop(urn, None)
        self._based.discard(urn)
        self.changed.discard(urn)

    def save(self) -> None:
        """Write what this batch changed, and close the batch."""
        write = self._connection.executemany
        rows = []
        for urn in self.changed | self._based:
            entity = self._made(urn)
            base = sealed(encode_slots(entity.base)) if entity.base else None
            rows.append((base, sealed(encode_slots(entity.cells)), entity.number))
        write("UPDATE shared SET base = ?, cells = ? WHERE id = ?", rows)
        write(
            "INSERT OR IGNORE INTO touch (entity, run) VALUES (?, ?)",
            ((self._made(urn).number, number) for urn, numbers in self._touched.items() for number in numbers),
        )
        for done in (self.changed, self.taken_back, self._based, self._touched):
            done.clear()
        while len(self._entities) > _REMEMBERED:
            self._entities.popitem(last=False)

    def rendered(self, urns: set[str]) -> None:
        """Note that these need no rendering any more in this batch; they are written all the same."""
        self._based |= urns
        self.changed -= urns

    def forget(self) -> None:
        """Drop all that is in memory."""
        for kept in (self._entities, self._stale, self._touched, self._based, self.changed, self.taken_back):
            kept.clear()

    def _fold(self, urn: str, old: Slots, new: Slots) -> None:
        """Fold into an entity what a run says now, ``new``; what it said before and takes back goes stale."""
        cells = self._made(urn).cells
        for slot, after in new.items():
            before = old.get(slot, _NOTHING)
            known, law = cells.get(slot, _NOTHING), slot.law
            for key, now in after.items():
                was = before.get(key)
                if was is not None:
                    if was is now or was == now:
                        continue
                    if law(was, now) != now:
                        self._takes_back(urn, slot, key)
                        continue
                there = known.get(key)
                cell = now if there is None else law(there, now)
                if cell is not there and cell != there:
                    if known is _NOTHING:
                        known = cells[slot] = {}
                    known[key] = cell
                    self.changed.add(urn)
            for key in before.keys() - after.keys():
                self._takes_back(urn, slot, key)
        for slot in old.keys() - new.keys():
            for key in old[slot]:
                self._takes_back(urn, slot, key)

    def _takes_back(self, urn: str, slot: Slot, key: Any) -> None:
        self._stale.setdefault(urn, set()).add((slot, key))

    def _put(self, urn: str, cells: Slots, slot: Slot, key: Any, cell: Cell | None) -> None:
        elements = cells.get(slot)
        known = None if elements is None else elements.get(key)
        if known is cell or known == cell:
            return
        self.changed.add(urn)
        self.taken_back.add((urn, slot))
        if cell is not None:
            cells.setdefault(slot, {})[key] = cell
        elif elements is not None:
            del elements[key]
            if not elements:
                del cells[slot]

    def _entity(self, urn: str) -> Entity | None:
        if urn in self._entities:
            self._entities.move_to_end(urn)
            return self._entities[urn]
        row = self._connection.execute("SELECT id, base, cells FROM shared WHERE urn = ?", (urn,)).fetchone()
        found = None
        if row is not None:
            where = f"what is shared of {urn}"
            base = unsealed(row[1], decode_slots, where=where) if row[1] is not None else {}
            found = Entity(row[0], base, unsealed(row[2], decode_slots, where=where) if row[2] else {})
        self._entities[urn] = found
        return found

    def _made(self, urn: str) -> Entity:
        found = self._entity(urn)
        if found is None:
            (number,) = self._connection.execute(
                "INSERT INTO shared (urn, cells) VALUES (?, x'') RETURNING id", (urn,)
            ).fetchone()
            found = self._entities[urn] = Entity(number, {}, {})
        return found


def _folded(places: set[tuple[Slot, Any]], contributions: Iterable[Slots]) -> dict[tuple[Slot, Any], Cell]:
    """Return the fold of some cells over all who contribute to them; those to which nobody does any more are left out."""
    found: dict[tuple[Slot, Any], Cell] = {}
    for slots in contributions:
        for place in places:
            slot, key = place
            cell = slots.get(slot, _NOTHING).get(key)
            if cell is not None:
                found[place] = slot.law(found[place], cell) if place in found else cell
    return found
