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

_RULES_NOTE, _PENDING_NOTE = "writes", "render again"
_SELECT_NEXT = {
    "shared": "SELECT id, urn FROM shared WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
    "run": "SELECT id, key FROM run WHERE id > ? AND id <= ? AND state IS NOT NULL ORDER BY id LIMIT ?",
}
_SELECT_LAST_ID = {"shared": "SELECT max(id) FROM shared", "run": "SELECT max(id) FROM run"}

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode


class WithheldWrites:
    """What ``writes`` refuses, and what is rendered once more since it refuses something else; the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection, writes: WritesSettings) -> None:
        self._connection = connection
        self._notes = Outbox(connection)
        self._writes = writes
        self._rules_json = writes.model_dump_json()
        self._withheld_counts: Counter[str] = Counter()
        self._has_rules = bool(writes.entities or writes.aspects)

    @property
    def is_outdated(self) -> bool:
        """Whether something was withheld under another list."""
        return self._notes.read_note(_RULES_NOTE) not in {None, self._rules_json}

    def restart(self) -> None:
        """Let all that the ledger knows by now be rendered once more, if something was withheld under another list."""
        if not self.is_outdated:
            return
        last_ids = {
            table: self._connection.execute(query).fetchone()[0] or 0 for table, query in _SELECT_LAST_ID.items()
        }
        self._write_ranges({table: (0, last_id) for table, last_id in last_ids.items()})
        self._notes.delete_note(_RULES_NOTE)

    @property
    def has_pending(self) -> bool:
        """Whether something is left to be rendered once more."""
        return self._notes.read_note(_PENDING_NOTE) is not None

    def take_pending(self, max_keys: int) -> list[str]:
        """Return URNs of what many runs share, or keys of runs, that are to be rendered once more: ``max_keys``, and each once."""
        note = self._notes.read_note(_PENDING_NOTE)
        if note is None:
            return []
        ranges = _decode(note)
        for table, query in _SELECT_NEXT.items():
            after_id, last_id = ranges[table]
            rows = self._connection.execute(query, (after_id, last_id, max_keys)).fetchall()
            if rows:
                self._write_ranges({**ranges, table: (rows[-1][0], last_id)})
                return [key for _, key in rows]
        self._notes.delete_note(_PENDING_NOTE)
        return []

    def matching_rule(self, proposal: Proposal) -> str | None:
        """Return the rule that keeps a proposal from being sent; None when it may be."""
        return self._writes.refusal(proposal.entity_type, proposal.aspect_name) if self._has_rules else None

    def check_withheld(self, proposal: Proposal) -> bool:
        """Say whether a proposal is kept from being sent, and count it by its rule."""
        rule = self.matching_rule(proposal)
        if rule is not None:
            self._withheld_counts[rule] += 1
        return rule is not None

    def take_counts(self) -> Counter[str]:
        """Return what was counted since the last time, and note the list if that is anything."""
        counts, self._withheld_counts = self._withheld_counts, Counter()
        if counts:
            self.record_rules()
        return counts

    def record_rules(self) -> None:
        """Note the list: something was withheld under it."""
        if self._notes.read_note(_RULES_NOTE) != self._rules_json:
            self._notes.write_note(_RULES_NOTE, self._rules_json)

    def discard_counts(self) -> None:
        """Forget what was counted: the batch was rolled back."""
        self._withheld_counts.clear()

    def _write_ranges(self, ranges: dict[str, tuple[int, int]]) -> None:
        self._notes.write_note(_PENDING_NOTE, _encode(ranges).decode())
