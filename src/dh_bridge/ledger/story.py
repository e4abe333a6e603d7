"""The journal of each run: its events in short, and what was sent for them; ``dh-bridge explain --run`` tells it.

A row for each event: no facets, no values. What a batch sent of the run and of the entities it touches stands with the last of
the run's events in that batch. The rows of a run go when the ledger lets go of the run.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import SinkError
from dh_bridge.ledger.runs import Runs
from dh_bridge.ledger.shared import Shared
from dh_bridge.translation.history import History
from dh_bridge.translation.other_runs import RUN
from dh_bridge.translation.settling import history_of, settled

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
        # an event that comes again is told of once, unless something was sent for it
        self._connection.executemany(
            "INSERT INTO story (run, time, event, told) VALUES (?1, ?2, ?3, ?4)"
            " ON CONFLICT DO UPDATE SET told = excluded.told WHERE ?5",
            rows,
        )
        self._batch.clear()

    def forget(self) -> None:
        """Drop the batch: it was rolled back."""
        self._batch.clear()


def story(connection: sqlite3.Connection, run: str, options: Options, *, where: str) -> Story:
    """Return the story of a run, by its id or its URN; a SinkError when the ledger ``where`` does not have it."""
    urn = run if run.startswith(RUN) else f"{RUN}{run}"
    runs = Runs(connection)
    record = runs.record(urn)
    if record is None:
        gone = urn in runs.evicted
        what = f"has let go of run {run}" if gone else f"knows no run {run}"
        now = "ledger.retention_days says how long runs are kept" if gone else "name its id or its URN"
        raise SinkError(what, where=where, now=now)
    rows = connection.execute("SELECT time, told FROM story WHERE run = ? ORDER BY time, event", (record.number,))
    events = [(time, _read(told)) for time, told in rows]
    (copy,), _ = settled([record.state], Shared(connection).cells)
    return Story(urn, events, history_of(copy, options))
