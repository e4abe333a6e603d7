"""The journal of each run: its events in short, and what was sent for them; ``dh-bridge explain --run`` tells it.

A row for each event: no facets, no values. What a batch sent of the run and of the entities it touches stands with the last of
the run's events in that batch. The rows of a run go when the ledger lets go of the run. Of a run that has very many, such as a
stream, the newest stay as they are; of the older ones that neither begin nor end anything the first and the last of each day,
with what was sent meanwhile.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.ledger.fold import LedgerStore
from dh_bridge.ledger.runs import Runs
from dh_bridge.ledger.shared import Shared
from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.closing import close_runs, settle_own
from dh_bridge.translation.runs.history import History
from dh_bridge.translation.runs.other_runs import RUN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.options import Options


class Told(msgspec.Struct, array_like=True):
    """An event of a run: when it was told (milliseconds), what it was, and by URN the aspects that its batch sent."""

    now: int
    type: str | None
    namespace: str
    name: str
    producer: str | None
    sent: dict[str, list[str]] = {}


class Story(msgspec.Struct):
    """A run: its events by time (microseconds), and what they come to."""

    urn: str
    events: list[tuple[int, Told]]
    history: History


_decode = msgspec.msgpack.Decoder(Told).decode
_encode = msgspec.msgpack.Encoder().encode
_DAY = 86_400_000_000
_NEWEST = 200
"""Events of a run that are told one by one, whatever they are; it is thinned when it has as many again."""
_LOOKS = 64
"""Of so many events one, by chance as their hashes are, looks how long the story of its run has become."""
_IS_LONG = "SELECT 1 FROM story WHERE run = ? LIMIT 1 OFFSET ?"
_OLDER = "SELECT time, event, told FROM story WHERE run = ? ORDER BY time DESC, event DESC LIMIT -1 OFFSET ?"
_AGAIN = "UPDATE story SET told = ? WHERE run = ? AND time = ? AND event = ?"
_LONG = 512
_ZLIB = b"x"


def _written(told: Told) -> bytes:
    """Return a row's bytes: long ones, which name many URNs, compressed; msgpack's arrays do not begin as zlib does."""
    data = _encode(told)
    return zlib.compress(data, 1) if len(data) > _LONG else data


def _read(data: bytes) -> Told:
    return _decode(zlib.decompress(data) if data.startswith(_ZLIB) else data)


class Journal:
    """Writes the stories of the runs of each batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._batch: dict[str, list[Event]] = {}

    def note(self, key: str | None, event: Event) -> None:
        """Remember an event of the run ``key`` until the batch is written; other events have no story."""
        if key is not None and key.startswith(RUN):
            self._batch.setdefault(key, []).append(event)

    def save(self, runs: Runs, proposals: Iterable[Proposal], now: int) -> None:
        """Write the batch: its runs are still in ``runs``, and ``proposals`` are what is sent for it."""
        sent: dict[str, set[str]] = {}
        for proposal in proposals:
            sent.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        rows = []
        looks = set()
        for key, events in self._batch.items():
            record = runs.record(key)
            if record is None:
                continue  # of a run that was let go
            touched = (record.state.urn, *record.contribution)
            own = {urn: sorted(sent[urn]) for urn in touched if urn in sent}
            events.sort(key=lambda one: one.time)
            for event in events:
                said = own if event is events[-1] else {}
                told = Told(now, event.type, event.namespace, event.name, event.producer, said)
                mark = blake2b(event.raw, digest_size=8).digest()
                rows.append((record.number, event.time, mark, _written(told), bool(said)))
                if not mark[0] % _LOOKS:
                    looks.add(record.number)
        # an event that comes again is told of once, unless something was sent for it
        self._connection.executemany(
            "INSERT INTO story (run, time, event, told) VALUES (?1, ?2, ?3, ?4)"
            " ON CONFLICT DO UPDATE SET told = excluded.told WHERE ?5",
            rows,
        )
        for number in looks:
            if self._connection.execute(_IS_LONG, (number, 2 * _NEWEST - 1)).fetchone() is not None:
                self._thin(number)
        self._batch.clear()

    def _thin(self, number: int) -> None:
        """Let the older events of a run go that stand between others of their day, and neither begin nor end anything."""
        rows = self._connection.execute(_OLDER, (number, _NEWEST)).fetchall()
        older = [(time, mark, _read(data)) for time, mark, data in reversed(rows)]
        gone: list[tuple[int, int, bytes]] = []
        for day, found in groupby(older, key=lambda row: _day(row[0], row[2])):
            _, *later = found
            if day is None or len(later) < 2:
                continue
            gone += [(number, time, mark) for time, mark, _ in later[:-1]]
            time, mark, told = later[-1]
            sent = _together(one.sent for *_, one in later)
            if sent != told.sent:
                told.sent = sent
                self._connection.execute(_AGAIN, (_written(told), number, time, mark))
        self._connection.executemany("DELETE FROM story WHERE run = ? AND time = ? AND event = ?", gone)

    def forget(self) -> None:
        """Drop the batch: it was rolled back."""
        self._batch.clear()


def _day(time: int, told: Told) -> int | None:
    """Return the day of an event that neither begins nor ends anything; None for one that does."""
    return None if told.type == "START" or told.type in TERMINAL else time // _DAY


def _together(all_sent: Iterable[dict[str, list[str]]]) -> dict[str, list[str]]:
    """Return by URN the aspects that were sent of several events."""
    found: dict[str, set[str]] = {}
    for sent in all_sent:
        for urn, names in sent.items():
            found.setdefault(urn, set()).update(names)
    return {urn: sorted(names) for urn, names in found.items()}


def story(connection: sqlite3.Connection, run: str, options: Options, *, where: str) -> Story:
    """Return the story of a run, by its id or its URN; an EventError when the ledger ``where`` does not have it."""
    urn = run if run.startswith(RUN) else f"{RUN}{run}"
    runs = Runs(connection)
    record = runs.record(urn)
    if record is None:
        gone = urn in runs.evicted
        what = f"has let go of run {run}" if gone else f"knows no run {run}"
        now = "ledger.retention_days says how long runs are kept" if gone else "name its id or its URN"
        raise EventError(what, where=where, now=now)
    rows = connection.execute("SELECT time, told FROM story WHERE run = ? ORDER BY time, event", (record.number,))
    events = [(time, _read(told)) for time, told in rows]
    (closed,), _ = close_runs(settle_own([record.state.copy()]), LedgerStore(Shared(connection)), options)
    return Story(urn, events, closed.history)
