"""Facts that many runs say alike: schemas, names, jobs. Each stands once in the file; the states of runs name it by a number.

A fact was *touched* no more than a day before any run that names it was written, so one that is older than all runs, and a day,
is named by none and may go.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.ledger.codec import sealed, unsealed
from dh_bridge.storage.damage import DamageError
from dh_bridge.translation.state_codec import decode_object, decode_run, encode_object, encode_run

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.runstate import RunState

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
        self._decode = partial(decode_run, find=self.value)

    def encoded(self, state: RunState, contribution: Cells, now: int) -> bytes:
        """Return a run and its contribution as bytes, at ``now`` (milliseconds)."""
        self._now = now
        return sealed(encode_run(state, contribution, number=self._number))

    def decoded(self, data: bytes, *, where: str) -> tuple[RunState, Cells]:
        """Return the run and the contribution that ``data`` holds; a SinkError when it holds something else."""
        return unsealed(data, self._decode, where=where)

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

    def _number(self, value: Any) -> int:
        """Return the number of a fact, which is written if it is new or was touched long ago."""
        known = self._by_identity.get(id(value))
        if known is None or known.touched < self._now - DAY:
            data = encode_object(value)
            row = (blake2b(data, digest_size=16).digest(), sealed(data), self._now)
            (number,) = self._connection.execute(_WRITE, row).fetchone()
            known = self._remember(number, value, self._now)
        return known.number

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
                raise DamageError(f"fact {number} is not there", where=f"fact {number}")
            found = unsealed(row[0], decode_object, where=f"fact {number}")
            self._remember(number, found, row[1])
        return found
