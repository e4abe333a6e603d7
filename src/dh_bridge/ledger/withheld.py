"""What the settings ``writes`` keep from being sent, so that it is sent when they let it.

What is withheld counts as never sent, and is noted nowhere. Noted is the list under which something was withheld: when another
one takes its place, all that the ledger knows is rendered once more, some of it with each batch.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.ledger.outbox import Outbox

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.settings.writes import WritesSettings

_LIST, _LEFT = "writes", "render again"
_NEXT = {
    "shared": "SELECT id, urn FROM shared WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
    "run": "SELECT id, key FROM run WHERE id > ? AND id <= ? AND state IS NOT NULL ORDER BY id LIMIT ?",
}
_LAST = {"shared": "SELECT max(id) FROM shared", "run": "SELECT max(id) FROM run"}

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode


class Withheld:
    """What ``writes`` refuses, and what is rendered once more since it refuses something else; the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection, writes: WritesSettings) -> None:
        self._connection = connection
        self._notes = Outbox(connection)
        self._writes = writes
        self._list = writes.model_dump_json()
        self._left_out: Counter[str] = Counter()
        self._lists = bool(writes.entities or writes.aspects)

    @property
    def outdated(self) -> bool:
        """Whether something was withheld under another list."""
        return self._notes.note(_LIST) not in {None, self._list}

    def begin_again(self) -> None:
        """Let all that the ledger knows by now be rendered once more, if something was withheld under another list."""
        if not self.outdated:
            return
        last = {table: self._connection.execute(query).fetchone()[0] or 0 for table, query in _LAST.items()}
        self._write({table: (0, number) for table, number in last.items()})
        self._notes.drop_note(_LIST)

    @property
    def owes(self) -> bool:
        """Whether something is left to be rendered once more."""
        return self._notes.note(_LEFT) is not None

    def due(self, most: int) -> list[str]:
        """Return URNs of what many runs share, or keys of runs, that are to be rendered once more: ``most``, and each once."""
        noted = self._notes.note(_LEFT)
        if noted is None:
            return []
        left = _decode(noted)
        for table, query in _NEXT.items():
            after, last = left[table]
            rows = self._connection.execute(query, (after, last, most)).fetchall()
            if rows:
                self._write({**left, table: (rows[-1][0], last)})
                return [key for _, key in rows]
        self._notes.drop_note(_LEFT)
        return []

    def refusal(self, proposal: Proposal) -> str | None:
        """Return the rule that keeps a proposal from being sent; None when it may be."""
        return self._writes.refusal(proposal.entity_type, proposal.aspect_name) if self._lists else None

    def refuses(self, proposal: Proposal) -> bool:
        """Say whether a proposal is kept from being sent, and count it by its rule."""
        rule = self.refusal(proposal)
        if rule is not None:
            self._left_out[rule] += 1
        return rule is not None

    def told(self) -> Counter[str]:
        """Return what was counted since the last time, and note the list if that is anything."""
        found, self._left_out = self._left_out, Counter()
        if found:
            self.note()
        return found

    def note(self) -> None:
        """Note the list: something was withheld under it."""
        if self._notes.note(_LIST) != self._list:
            self._notes.write_note(_LIST, self._list)

    def forget(self) -> None:
        """Forget what was counted: the batch was rolled back."""
        self._left_out.clear()

    def _write(self, left: dict[str, tuple[int, int]]) -> None:
        self._notes.write_note(_LEFT, _encode(left).decode())
