"""Proposals that the setting ``writes`` excludes, so that they are sent when the setting allows them.

An excluded proposal counts as never sent and has no fingerprint. The ledger stores the list that excluded something; if the
list changes, all known entities are rendered again, some with each batch.
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
    """Proposals that ``writes`` excludes, and the entities to render again after a change; the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection, writes: WritesSettings) -> None:
        self._connection = connection
        self._notes = Outbox(connection)
        self._writes = writes
        self._rules_json = writes.model_dump_json()
        self._withheld_counts: Counter[str] = Counter()
        self._has_rules = bool(writes.entities or writes.aspects)

    @property
    def is_outdated(self) -> bool:
        """Whether something was excluded by another list."""
        return self._notes.read_note(_RULES_NOTE) not in {None, self._rules_json}

    def restart(self) -> None:
        """If another list excluded something, schedule all known entities to be rendered again."""
        if self.is_outdated:
            self.schedule_all()

    def schedule_all(self) -> None:
        """Schedule all known entities to be rendered again."""
        last_ids = {
            table: self._connection.execute(query).fetchone()[0] or 0 for table, query in _SELECT_LAST_ID.items()
        }
        self._write_ranges({table: (0, last_id) for table, last_id in last_ids.items()})
        self._notes.delete_note(_RULES_NOTE)

    @property
    def has_pending(self) -> bool:
        """Whether entities are still to be rendered again."""
        return self._notes.read_note(_PENDING_NOTE) is not None

    def take_pending(self, max_keys: int) -> list[str]:
        """Return up to ``max_keys`` URNs of shared entities or keys of runs to render again, each once."""
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
        """Return the rule that excludes a proposal; None if it may be sent."""
        return self._writes.refusal(proposal.entity_type, proposal.aspect_name) if self._has_rules else None

    def check_withheld(self, proposal: Proposal) -> bool:
        """Return whether a proposal is excluded, and count it by its rule."""
        rule = self.matching_rule(proposal)
        if rule is not None:
            self._withheld_counts[rule] += 1
        return rule is not None

    def take_counts(self) -> Counter[str]:
        """Return the counts since the last call; if there are any, store the list."""
        counts, self._withheld_counts = self._withheld_counts, Counter()
        if counts:
            self.record_rules()
        return counts

    def record_rules(self) -> None:
        """Store the list that excluded something."""
        if self._notes.read_note(_RULES_NOTE) != self._rules_json:
            self._notes.write_note(_RULES_NOTE, self._rules_json)

    def discard_counts(self) -> None:
        """Reset the counts: the batch was rolled back."""
        self._withheld_counts.clear()

    def _write_ranges(self, ranges: dict[str, tuple[int, int]]) -> None:
        self._notes.write_note(_PENDING_NOTE, _encode(ranges).decode())
