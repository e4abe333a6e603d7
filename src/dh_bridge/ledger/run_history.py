"""The history of each run: its events and the aspects that were sent for them; ``dh-bridge explain --run`` prints it.

There is one row for each event, without facets and values. The aspects that a batch sent of a run and of its entities are stored with the
last event of the run in that batch. The rows are deleted with the run. A run with very many events, such as a stream, is thinned: its
newest events stay. Of the older ones between START and end, the first and the last of each day stay, with the aspects sent meanwhile.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.aggregate.run_history import History
from dh_bridge.closing import close_runs, resolve_own_facts
from dh_bridge.errors import EventError
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.fold import LedgerClosingStore
from dh_bridge.ledger.runs import RunStore
from dh_bridge.ledger.shared import SharedEntityStore
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger.compression import Compression
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options


class RunHistoryEntry(msgspec.Struct, array_like=True):
    """An event of a run: the time of its batch in milliseconds, its type and job, and the aspects that its batch sent, by URN."""

    recorded_at: int
    type: str | None
    namespace: str
    name: str
    producer: str | None
    sent_aspects: dict[str, list[str]] = {}


class RunHistory(msgspec.Struct):
    """A run: its events by time (microseconds), and their result."""

    urn: str
    events: list[tuple[int, RunHistoryEntry]]
    history: History


_decode = msgspec.msgpack.Decoder(RunHistoryEntry).decode
_encode = msgspec.msgpack.Encoder().encode
_DAY_MICROS = 86_400_000_000
_UNTHINNED_EVENTS = 200
"""The newest events of a run, which are never thinned; a run is thinned when it has twice as many."""
_EVENTS_PER_CHECK = 64
"""One in so many events, chosen by its hash, checks the length of the history of its run."""
_SELECT_NTH = "SELECT 1 FROM run_history WHERE run = ? LIMIT 1 OFFSET ?"
_SELECT_OLDER = (
    "SELECT time, event, entry FROM run_history WHERE run = ? ORDER BY time DESC, event DESC LIMIT -1 OFFSET ?"
)
_UPDATE_ENTRY = "UPDATE run_history SET entry = ? WHERE run = ? AND time = ? AND event = ?"
_ZLIB_PREFIX = b"x"
"""First byte of long entries of earlier versions; MessagePack's arrays do not begin with it."""


def _encode_entry(entry: RunHistoryEntry, compression: Compression) -> bytes:
    return compression.compress(_encode(entry))


def _decode_entry(data: bytes, compression: Compression) -> RunHistoryEntry:
    return _decode(zlib.decompress(data) if data.startswith(_ZLIB_PREFIX) else compression.decompress(data))


class RunHistoryWriter:
    """Writes the histories of the runs of each batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        self._batch: dict[str, list[Event]] = {}

    def add_event(self, key: str | None, event: Event) -> None:
        """Collect an event of the run ``key`` until the batch is written; events without a run have no history."""
        if key is not None and key.startswith(RUN_URN_PREFIX):
            self._batch.setdefault(key, []).append(event)

    def save(self, runs: RunStore, proposals: Iterable[Proposal], now: int) -> None:
        """Write the batch: its runs are still in ``runs``, and ``proposals`` are what is sent for it."""
        aspects_by_urn: dict[str, set[str]] = {}
        for proposal in proposals:
            aspects_by_urn.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        rows = []
        checked_ids = set()
        for key, events in self._batch.items():
            record = runs.record(key)
            if record is None:
                continue  # the run is evicted
            entity_urns = (record.state.urn, *record.contribution)
            own_aspects = {urn: sorted(aspects_by_urn[urn]) for urn in entity_urns if urn in aspects_by_urn}
            events.sort(key=lambda item: item.time)
            for event in events:
                entry_aspects = own_aspects if event is events[-1] else {}
                entry = RunHistoryEntry(now, event.type, event.namespace, event.name, event.producer, entry_aspects)
                event_hash = blake2b(event.raw, digest_size=8).digest()
                rows.append(
                    (
                        record.run_id,
                        event.time,
                        event_hash,
                        _encode_entry(entry, self._compression),
                        bool(entry_aspects),
                    )
                )
                if not event_hash[0] % _EVENTS_PER_CHECK:
                    checked_ids.add(record.run_id)
        # a duplicate event keeps its first row, unless aspects were sent for it
        self._connection.executemany(
            "INSERT INTO run_history (run, time, event, entry) VALUES (?1, ?2, ?3, ?4)"
            " ON CONFLICT DO UPDATE SET entry = excluded.entry WHERE ?5",
            rows,
        )
        for run_id in checked_ids:
            if self._connection.execute(_SELECT_NTH, (run_id, 2 * _UNTHINNED_EVENTS - 1)).fetchone() is not None:
                self._thin_run(run_id)
        self._batch.clear()

    def _thin_run(self, run_id: int) -> None:
        """Delete the older events of a run between the first and the last of each day, except STARTs and ends."""
        rows = self._connection.execute(_SELECT_OLDER, (run_id, _UNTHINNED_EVENTS)).fetchall()
        older_entries = [
            (time, event_hash, _decode_entry(data, self._compression)) for time, event_hash, data in reversed(rows)
        ]
        deleted_keys: list[tuple[int, int, bytes]] = []
        for day, group in groupby(older_entries, key=lambda row: _day_of(row[0], row[2])):
            _, *later_entries = group
            if day is None or len(later_entries) < 2:
                continue
            deleted_keys += [(run_id, time, event_hash) for time, event_hash, _ in later_entries[:-1]]
            time, event_hash, entry = later_entries[-1]
            all_aspects = _merge_aspects(later_entry.sent_aspects for *_, later_entry in later_entries)
            if all_aspects != entry.sent_aspects:
                entry.sent_aspects = all_aspects
                self._connection.execute(
                    _UPDATE_ENTRY, (_encode_entry(entry, self._compression), run_id, time, event_hash)
                )
        self._connection.executemany("DELETE FROM run_history WHERE run = ? AND time = ? AND event = ?", deleted_keys)

    def discard(self) -> None:
        """Drop the batch: it was rolled back."""
        self._batch.clear()


def _day_of(time: int, entry: RunHistoryEntry) -> int | None:
    """Return the day of an event that neither begins nor ends anything; None for one that does."""
    return None if entry.type == "START" or entry.type in TERMINAL_TYPES else time // _DAY_MICROS


def _merge_aspects(aspect_maps: Iterable[dict[str, list[str]]]) -> dict[str, list[str]]:
    """Return by URN the aspects that were sent of several events."""
    merged_names: dict[str, set[str]] = {}
    for aspects_by_urn in aspect_maps:
        for urn, names in aspects_by_urn.items():
            merged_names.setdefault(urn, set()).update(names)
    return {urn: sorted(names) for urn, names in merged_names.items()}


def read_history(connection: sqlite3.Connection, run: str, options: Options, *, location: str) -> RunHistory:
    """Return the history of a run.

    Args:
        connection: The ledger.
        run: The id or the URN of the run.
        options: The compiled settings.
        location: The ledger, for the message of an error.

    Raises:
        EventError: The ledger does not have the run.
    """
    urn = run if run.startswith(RUN_URN_PREFIX) else f"{RUN_URN_PREFIX}{run}"
    runs = RunStore(connection)
    record = runs.record(urn)
    if record is None:
        is_evicted = urn in runs.evicted
        problem = f"the ledger has deleted run {run}" if is_evicted else f"the ledger has no run {run}"
        remedy = (
            "ledger.retention_days sets how long the ledger keeps a run"
            if is_evicted
            else "use the id or the URN of a run"
        )
        raise EventError(problem, location=location, remedy=remedy)
    rows = connection.execute(
        "SELECT time, entry FROM run_history WHERE run = ? ORDER BY time, event", (record.run_id,)
    )
    compression = compression_of(connection)
    events = [(time, _decode_entry(data, compression)) for time, data in rows]
    (closed,), _ = close_runs(
        resolve_own_facts([record.state.copy()]), LedgerClosingStore(SharedEntityStore(connection)), options
    )
    return RunHistory(urn, events, closed.history)
