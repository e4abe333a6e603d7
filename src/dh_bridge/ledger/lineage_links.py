"""Which jobs and datasets of a ledger name each other, so that the lineage around one is found without rendering all others.

A link leads from an entity to one that its facts name: from a job to its inputs and outputs, from a dataset to its upstreams. The named
entity is stored as a hash of its URN, which may be that of another one: what is found is rendered, and shows the edges that there are.
A catalogue has no links, as it has the edges themselves.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM, entity_type
from dh_bridge.ledger.codec import decode_verified
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.model.facts import INPUT_EDGE, JOB_EDGE, LINEAGE_JOB, OUTPUT_EDGE
from dh_bridge.model.facts import UPSTREAM as UPSTREAM_FACT
from dh_bridge.state_codec.codec import decode_registers

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from dh_bridge.model.fold import Registers

    #: a named URN, and on which side of the entity it is: UPSTREAM or DOWNSTREAM
    Links = frozenset[tuple[str, int]]

NO_LINKS: Links = frozenset()
_LINKED_TYPES = ("dataJob", "dataset")
_SIDES = {INPUT_EDGE: UPSTREAM, LINEAGE_JOB: UPSTREAM, JOB_EDGE: UPSTREAM, OUTPUT_EDGE: DOWNSTREAM}
_NOTE = "lineage links"
_INSERT = "INSERT OR IGNORE INTO lineage_link (named, side, entity) VALUES (?, ?, ?)"
_DELETE = "DELETE FROM lineage_link WHERE named = ? AND side = ? AND entity = ?"
_SELECT = """
    SELECT shared.urn FROM lineage_link JOIN shared ON shared.id = entity WHERE named = ? AND side = ? ORDER BY entity LIMIT ?
"""


def links_of(urn: str, registers: Registers) -> Links:
    """Return the links of an entity."""
    if entity_type(urn) not in _LINKED_TYPES:
        return NO_LINKS
    links = {(named, side) for kind, side in _SIDES.items() for named in registers.get(kind, ())}
    links.update((named, UPSTREAM) for _, named in registers.get(UPSTREAM_FACT, ()))
    return frozenset(links)


class LineageLinks:
    """The links in the file of a ledger; the caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._notes = Outbox(connection)

    @property
    def are_stored(self) -> bool:
        """Whether the file has the links of all its entities."""
        return self._notes.read_note(_NOTE) is not None

    def store_all(self) -> None:
        """Store the links of all entities: of a new ledger, or of one from before there were links."""
        compression = compression_of(self._connection)
        rows = self._connection.execute("SELECT id, urn, registers FROM shared WHERE registers <> x''").fetchall()
        for entity_id, urn, data in rows:
            if entity_type(urn) in _LINKED_TYPES:
                registers = decode_verified(data, decode_registers, compression, location=f"the shared state of {urn}")
                self.replace(entity_id, NO_LINKS, links_of(urn, registers))
        self._notes.write_note(_NOTE, "yes")

    def replace(self, entity_id: int, old: Links, new: Links) -> None:
        """Replace the links of an entity."""
        self._connection.executemany(_DELETE, _rows(entity_id, old - new))
        self._connection.executemany(_INSERT, _rows(entity_id, new - old))

    def naming(self, urn: str, side: int, limit: int) -> list[str]:
        """Return at most ``limit`` entities that name an entity on a side of theirs."""
        return [name for (name,) in self._connection.execute(_SELECT, (_hash(urn), side, limit))]


def _rows(entity_id: int, links: Links) -> Iterator[tuple[int, int, int]]:
    return ((_hash(urn), side, entity_id) for urn, side in links)


def _hash(urn: str) -> int:
    return int.from_bytes(blake2b(urn.encode(), digest_size=8).digest(), "big", signed=True)
