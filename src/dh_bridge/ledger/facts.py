"""Facts that many runs share: schemas, names, jobs. Each is stored once; the states of runs refer to it by number.

A fact is *touched* at most a day before a run that refers to it is written. So a fact that is a day older than all runs is
unused and can be deleted.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.ledger.codec import decode_verified, seal
from dh_bridge.ledger.compression import compression_of
from dh_bridge.state_codec.codec import decode_object, decode_run, encode_object, encode_run
from dh_bridge.storage.damage import DamageError

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.model.run_state import RunState

DAY_MILLIS = 86_400_000
_MAX_CACHED_OBJECTS = 10_000
_WRITE_OBJECT = """
    INSERT INTO state_object (hash, value, touched) VALUES (?, ?, ?)
    ON CONFLICT (hash) DO UPDATE SET touched = excluded.touched RETURNING id
"""
_DELETE_UNUSED = """
    DELETE FROM state_object WHERE touched < ?1 - 2 * ?2 AND touched < coalesce(
        (SELECT min(touched) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL), ?1) - 2 * ?2
    AND touched < coalesce((SELECT min(touched) FROM run WHERE state IS NOT NULL AND ended IS NULL), ?1) - 2 * ?2
"""


class _CachedObject(NamedTuple):
    """A cached fact; ``value`` is referenced, so its ``id()`` cannot be reused."""

    number: int
    value: Any
    last_used: int


class StateObjectStore:
    """Encodes and decodes the states of runs; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        self._by_identity: OrderedDict[int, _CachedObject] = OrderedDict()
        self._by_number: dict[int, Any] = {}
        self._now = 0
        self._decode = partial(decode_run, find_object=self.load_object)

    def encode_state(self, state: RunState, contribution: FactsByEntity, now: int) -> bytes:
        """Encode a run and its contribution, at ``now`` (milliseconds)."""
        self._now = now
        return seal(encode_run(state, contribution, store_object=self._store_object), self._compression)

    def decode_state(self, data: bytes, *, location: str) -> tuple[RunState, FactsByEntity]:
        """Decode a run and its contribution; a SinkError if ``data`` is invalid."""
        return decode_verified(data, self._decode, self._compression, location=location)

    def delete_unused(self, now: int) -> None:
        """Delete the facts that no run refers to."""
        self._connection.execute(_DELETE_UNUSED, (now, DAY_MILLIS))

    def clear_cache(self) -> None:
        """Clear the cache: another process has written to the file, or a batch was rolled back."""
        self._by_identity.clear()
        self._by_number.clear()

    def trim_cache(self) -> None:
        """Limit the memory of the cache, between two batches."""
        while len(self._by_identity) > _MAX_CACHED_OBJECTS:
            _, cached = self._by_identity.popitem(last=False)
            self._by_number.pop(cached.number, None)

    def _store_object(self, value: Any) -> int:
        """Return the number of a fact; it is written if it is new or was touched long ago."""
        cached = self._by_identity.get(id(value))
        if cached is None or cached.last_used < self._now - DAY_MILLIS:
            data = encode_object(value)
            row = (blake2b(data, digest_size=16).digest(), seal(data, self._compression), self._now)
            (number,) = self._connection.execute(_WRITE_OBJECT, row).fetchone()
            cached = self._cache(number, value, self._now)
        return cached.number

    def _cache(self, number: int, value: Any, last_used: int) -> _CachedObject:
        cached = self._by_identity[id(value)] = _CachedObject(number, value, last_used)
        self._by_number.setdefault(number, value)
        return cached

    def load_object(self, number: int) -> Any:
        """Return the fact with a number."""
        stored_object = self._by_number.get(number)
        if stored_object is None:
            row = self._connection.execute("SELECT value, touched FROM state_object WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise DamageError(f"fact {number} is missing", where=f"fact {number}")
            stored_object = decode_verified(row[0], decode_object, self._compression, location=f"fact {number}")
            self._cache(number, stored_object, row[1])
        return stored_object
