"""How many events each producer sent on each day, and when the last one arrived: counted while events are processed.

The table has one row for each producer and day (UTC, of the arrival), so nobody has to read the event log for an overview. An event
that is sent twice counts twice.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from dh_bridge.identity.producers import ProducerFamily
    from dh_bridge.openlineage.events import Event

DAY_MILLIS = 86_400_000
KEPT_DAYS = 400
"""Days after which counts are deleted."""
_MAX_PRODUCERS = 200
"""Unknown producers of a day that have a row of their own; the others are counted together, as senders choose their URIs."""
_OTHER_PRODUCERS = "other producers"
_MAX_NAME_LENGTH = 100
_UPSERT = """
    INSERT INTO producer_activity (day, producer, events, last) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (day, producer) DO UPDATE SET events = events + excluded.events, last = max(last, excluded.last)
"""
_IS_KNOWN = "SELECT 1 FROM producer_activity WHERE day = ? AND producer = ?"
_IS_FULL = "SELECT 1 FROM producer_activity WHERE day = ? LIMIT 1 OFFSET ?"


class ProducerDay(NamedTuple):
    """The events of a producer on a day: days since 1970, the producer, the number, and the last arrival in milliseconds."""

    day: int
    producer: str
    events: int
    last: int


class ProducerActivityWriter:
    """Counts the events of each batch by producer.

    Args:
        connection: The ledger; the caller opens transactions.
        find_family: Returns the family of a producer's URI, None for an unknown producer.
    """

    def __init__(
        self, connection: sqlite3.Connection, find_family: Callable[[str | None], ProducerFamily | None]
    ) -> None:
        self._connection = connection
        self._find_family = find_family
        self._batch: Counter[str | None] = Counter()

    def add_event(self, event: Event) -> None:
        """Count an event until the batch is written."""
        self._batch[event.producer] += 1

    def save(self, now: int) -> None:
        """Write the counts of the batch; ``now`` in milliseconds."""
        day = now // DAY_MILLIS
        counts: Counter[str] = Counter()
        for uri, count in self._batch.items():
            family = self._find_family(uri)
            counts[family.producer if family is not None else _name_of(uri)] += count
        for producer, count in counts.items():
            name = producer if self._has_room(day, producer) else _OTHER_PRODUCERS
            self._connection.execute(_UPSERT, (day, name, count, now))
        if counts:
            self._connection.execute("DELETE FROM producer_activity WHERE day < ?", (day - KEPT_DAYS,))
        self._batch.clear()

    def discard(self) -> None:
        """Forget the batch, which is not stored."""
        self._batch.clear()

    def _has_room(self, day: int, producer: str) -> bool:
        if self._connection.execute(_IS_KNOWN, (day, producer)).fetchone() is not None:
            return True
        return self._connection.execute(_IS_FULL, (day, _MAX_PRODUCERS - 1)).fetchone() is None


def read_producer_activity(connection: sqlite3.Connection, since_day: int) -> list[ProducerDay]:
    """Return the counts from a day (days since 1970) on, and the latest row of each producer that was last active before it."""
    rows = connection.execute(
        "SELECT day, producer, events, max(last) FROM producer_activity WHERE day < ?1 AND producer NOT IN"
        " (SELECT producer FROM producer_activity WHERE day >= ?1) GROUP BY producer"
        " UNION ALL SELECT day, producer, events, last FROM producer_activity WHERE day >= ?1 ORDER BY 1, 2",
        (since_day,),
    )
    return [ProducerDay(*row) for row in rows]


def _name_of(uri: str | None) -> str:
    """Return host and path of an unknown producer's URI, without the version that often follows, as a short name."""
    if not uri:
        return "no producer"
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri[:_MAX_NAME_LENGTH]
    path = parts.path.partition("/tree/")[0].partition("/blob/")[0].strip("/")
    name = f"{parts.hostname}/{path}".strip("/") if parts.hostname else uri
    return name[:_MAX_NAME_LENGTH]
