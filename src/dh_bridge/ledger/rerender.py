"""Renders what the ledger has sent from its present states: `dh-bridge verify` compares it with the target."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from dh_bridge.errors import EventError
from dh_bridge.ledger.fold import StatefulAggregator
from dh_bridge.ledger.sent import DAY_MILLIS, SentFingerprints
from dh_bridge.redaction import redaction_mode
from dh_bridge.session import PLATFORM

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.options import Options
    from dh_bridge.storage.database import Database

_ENTITIES_PER_CHUNK = 500
_MAX_SENT_TIME = (1 << 60) - 1  # hard-deleted entities have a later time


class DeliveryLog:
    """The times of the batches of each delivery (the runId of its proposals); the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def record(self, delivery_id: str, now: int, *, retention_days: int) -> None:
        """Record a batch of ``delivery_id`` at ``now`` (milliseconds); deliveries older than ``retention_days`` are deleted."""
        self._connection.execute(
            "INSERT INTO delivery (run, first, last) VALUES (?1, ?2, ?2) ON CONFLICT DO UPDATE SET last = excluded.last",
            (delivery_id, now),
        )
        self._connection.execute("DELETE FROM delivery WHERE last < ?", (now - retention_days * DAY_MILLIS,))

    def time_range(self, delivery_id: str, *, location: str) -> tuple[int, int]:
        """Return the times of the first and the last batch of a delivery; an EventError if the ledger does not know it."""
        row = self._connection.execute("SELECT first, last FROM delivery WHERE run = ?", (delivery_id,)).fetchone()
        if row is None:
            raise EventError(
                f"the ledger has no delivery {delivery_id}",
                location=location,
                remedy="use the run id that emit printed; the ledger keeps it for ledger.retention_days",
            )
        return int(row[0]), int(row[1])


class Rerenderer:
    """Renders what was sent: by ``delivery_id`` and not again later, or ever (None).

    ``missing_count`` counts what cannot be rendered.
    """

    def __init__(self, file: Database, options: Options, delivery_id: str | None) -> None:
        self._file = file
        self._options = options
        self._time_range = (
            (0, _MAX_SENT_TIME)
            if delivery_id is None
            else DeliveryLog(file.connection).time_range(delivery_id, location=file.path)
        )
        #: aspects of evicted runs and of expired assertions
        self.missing_count = 0

    def proposals(self, is_selected: Callable[[str], bool]) -> Iterator[list[Proposal]]:
        """Yield the proposals of the entities whose URN is ``is_selected``, some entities at a time."""
        fingerprints = SentFingerprints(self._file.connection)
        aspects_by_urn = iter(
            [(urn, names) for urn, names in fingerprints.sent_between(*self._time_range) if is_selected(urn)]
        )
        while chunk := dict(islice(aspects_by_urn, _ENTITIES_PER_CHUNK)):
            proposals = [
                proposal
                for proposal in self._render(chunk)
                if proposal.aspect_name in chunk.get(proposal.entity_urn, ())
            ]
            self.missing_count += sum(map(len, chunk.values())) - len(
                {(proposal.entity_urn, proposal.aspect_name) for proposal in proposals}
            )
            yield proposals

    def _render(self, aspects_by_urn: dict[str, set[str]]) -> list[Proposal]:
        """Render the entities and their related runs; the file does not change."""
        aggregator = StatefulAggregator(self._file.connection, self._options)
        with (
            redaction_mode(self._options.settings.redaction),
            self._file.transaction(commit=False),
        ):  # rendering records fingerprints
            aggregator.rerender_keys = aspects_by_urn
            proposals = list(chain.from_iterable(aggregator.close_in_pieces()))
        return (
            [PLATFORM, *proposals] if PLATFORM.entity_urn in aspects_by_urn else proposals
        )  # a call adds it; it is in no state
