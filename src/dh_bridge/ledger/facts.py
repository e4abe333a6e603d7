"""Facts that many runs say alike: schemas, names, jobs. Each stands once in the file; the states of runs name it by a number.

A fact was *touched* no more than a day before any run that names it was written, so one that is older than all runs, and a day,
is named by none and may go.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from copyreg import dispatch_table
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.ledger.codec import sealed, unpacked
from dh_bridge.translation import facts
from dh_bridge.translation.columns import SchemaFields
from dh_bridge.translation.identity import Job
from dh_bridge.translation.naming import Name
from dh_bridge.translation.state_codec import PROTOCOL, Reader, packed

if TYPE_CHECKING:
    import sqlite3

DAY = 86_400_000
_REMEMBERED = 10_000
_WRITE = """
    INSERT INTO fact (hash, value, touched) VALUES (?, ?, ?)
    ON CONFLICT (hash) DO UPDATE SET touched = excluded.touched RETURNING id
"""
_SWEEP = """
    DELETE FROM fact WHERE touched < ?1 - 2 * ?2 AND touched < coalesce(
        (SELECT min(touched) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL), ?1) - 2 * ?2
    AND touched < coalesce((SELECT min(touched) FROM run WHERE state IS NOT NULL AND ended IS NULL), ?1) - 2 * ?2
"""


class _Fact(NamedTuple):
    """A fact as it is remembered; ``value`` is held, so that nothing else can have its identity."""

    number: int
    value: Any
    touched: int


class Facts:
    """Packs the states of runs, and reads them; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._by_identity: OrderedDict[int, _Fact] = OrderedDict()
        self._by_number: dict[int, Any] = {}
        self._now = 0
        #: what pickle asks how to write an object of a class
        self._table: dict[type, Any] = {**dispatch_table, facts.Slot: _slot_reduced}
        for kind in (SchemaFields, Name, Job):
            self._table[kind] = self._reduced

    def packed(self, value: Any, now: int) -> bytes:
        """Return the state of a run as bytes, at ``now`` (milliseconds)."""
        self._now = now
        file = io.BytesIO()
        pickler = pickle.Pickler(file, PROTOCOL)
        pickler.dispatch_table = self._table
        pickler.dump(value)
        return sealed(file.getvalue())

    def unpacked(self, data: bytes, *, where: str) -> Any:
        """Return the state that ``data`` holds; a SinkError when it holds something else, or was written by another release."""
        return unpacked(data, where=where, reader=self._reader)

    def sweep(self, now: int) -> None:
        """Drop the facts that no run names any more."""
        self._connection.execute(_SWEEP, (now, DAY))

    def forget(self) -> None:
        """Drop all that is in memory: another process has written to the file, or a batch was rolled back."""
        self._by_identity.clear()
        self._by_number.clear()

    def trim(self) -> None:
        """Keep memory within bounds, between two batches."""
        while len(self._by_identity) > _REMEMBERED:
            _, gone = self._by_identity.popitem(last=False)
            self._by_number.pop(gone.number, None)

    def _reader(self, file: io.BytesIO) -> _Reader:
        return _Reader(file, self)

    def _reduced(self, value: Any) -> tuple[Any, ...]:
        known = self._by_identity.get(id(value))
        if known is None or known.touched < self._now - DAY:
            data = packed(value)
            row = (blake2b(data, digest_size=16).digest(), sealed(data), self._now)
            (number,) = self._connection.execute(_WRITE, row).fetchone()
            known = self._remember(number, value, self._now)
        return fact, (known.number,)

    def _remember(self, number: int, value: Any, touched: int) -> _Fact:
        found = self._by_identity[id(value)] = _Fact(number, value, touched)
        self._by_number.setdefault(number, value)
        return found

    def value(self, number: int) -> Any:
        """Return the fact of a number."""
        found = self._by_number.get(number)
        if found is None:
            row = self._connection.execute("SELECT value, touched FROM fact WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise pickle.UnpicklingError(f"fact {number} is not there")
            found = unpacked(row[0], where=f"fact {number}")
            self._remember(number, found, row[1])
        return found


class _Reader(Reader):
    """Reads states; what a number stands for is in the file."""

    def __init__(self, file: io.BytesIO, facts: Facts) -> None:
        super().__init__(file)
        self._facts = facts

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a fact or a slot; else as the reader of all states."""
        if module == __name__:
            return {"fact": self._facts.value, "slot": slot}[name]
        return super().find_class(module, name)


def fact(number: int) -> Any:
    """Stand for a fact in the bytes of a state; the reader knows what it is."""
    raise LookupError(number)


def slot(name: str) -> Any:
    """Return the slot of a name."""
    if not name.isupper():
        raise pickle.UnpicklingError(f"{name} is no slot")
    return getattr(facts, name)


def _slot_reduced(one: facts.Slot) -> tuple[Any, ...]:
    return slot, (one.name,)
