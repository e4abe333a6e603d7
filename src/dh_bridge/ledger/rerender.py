"""What the ledger would write today of what it once sent: `dh-bridge verify` compares it with what is there."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from dh_bridge.errors import EventError
from dh_bridge.ledger.fold import LedgerFold
from dh_bridge.ledger.sent import DAY, Sent
from dh_bridge.redaction import redaction
from dh_bridge.session import PLATFORM

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.storage.database import Database
    from dh_bridge.translation.options import Options

_AT_ONCE = 500
_EVER = (1 << 60) - 1  # what was deleted for good has a time beyond


class Deliveries:
    """Which delivery (the runId of its proposals) told of something when; the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def note(self, run: str, now: int, *, days: int) -> None:
        """Note that ``run`` told of something ``now`` (milliseconds); deliveries of more than ``days`` ago are forgotten."""
        self._connection.execute(
            "INSERT INTO delivery (run, first, last) VALUES (?1, ?2, ?2) ON CONFLICT DO UPDATE SET last = excluded.last",
            (run, now),
        )
        self._connection.execute("DELETE FROM delivery WHERE last < ?", (now - days * DAY,))

    def span(self, run: str, *, where: str) -> tuple[int, int]:
        """Return the times of the first and the last batch of a delivery; an EventError when the ledger does not know it."""
        row = self._connection.execute("SELECT first, last FROM delivery WHERE run = ?", (run,)).fetchone()
        if row is None:
            raise EventError(
                f"knows no delivery {run}",
                where=where,
                now="emit says its run id before it writes; it is kept for ledger.retention_days",
            )
        return int(row[0]), int(row[1])


class Recall:
    """Renders anew what was sent: by one ``delivery`` and by none after it, or ever (None). ``gone`` counts what cannot be."""

    def __init__(self, file: Database, options: Options, delivery: str | None) -> None:
        self._file = file
        self._options = options
        self._span = (0, _EVER) if delivery is None else Deliveries(file.connection).span(delivery, where=file.path)
        #: aspects of runs that the ledger has let go, and of checks that have retired
        self.gone = 0

    def proposals(self, drawn: Callable[[str], bool]) -> Iterator[list[Proposal]]:
        """Yield the proposals of the entities whose URN is ``drawn``, some entities at a time."""
        sent = Sent(self._file.connection)
        wanted = iter([(urn, names) for urn, names in sent.between(*self._span) if drawn(urn)])
        while chunk := dict(islice(wanted, _AT_ONCE)):
            found = [one for one in self._rendered(chunk) if one.aspect_name in chunk.get(one.entity_urn, ())]
            self.gone += sum(map(len, chunk.values())) - len({(one.entity_urn, one.aspect_name) for one in found})
            yield found

    def _rendered(self, urns: dict[str, set[str]]) -> list[Proposal]:
        """Return what the fold makes of the entities, and of their kin; the file stays as it is."""
        fold = LedgerFold(self._file.connection, self._options)
        with (
            redaction(self._options.settings.redaction),
            self._file.transaction(keep=False),
        ):  # rendering notes what is new
            fold.again = urns
            found = list(chain.from_iterable(fold.closing()))
        return [PLATFORM, *found] if PLATFORM.entity_urn in urns else found  # a call adds it, no state has it
