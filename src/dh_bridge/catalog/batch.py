"""One transaction of the catalogue: proposals in, rows out.

Every aspect is read, laid out for patching and written at most once, however many proposals name it. Proposals are applied
and fail in memory (:mod:`dh_bridge.catalog.applier`), before anything is written.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from dh_bridge.catalog.applier import ProposalApplier
from dh_bridge.catalog.edges import column_edges, entity_type, key_relations, relations
from dh_bridge.catalog.phrases import expand, shorten
from dh_bridge.catalog.run_index import RUN_TYPE
from dh_bridge.catalog.search_index import URN_TEXT, TextRow, search_form, text_rows, write_texts
from dh_bridge.datahub.urns import key_aspect

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import MutableMapping

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Failure

_READ_ASPECT = "SELECT value FROM aspect WHERE entity = ? AND name = ?"
_WRITE_ASPECT = (
    "INSERT INTO aspect (entity, name, value) VALUES (?, ?, ?)"
    " ON CONFLICT (entity, name) DO UPDATE SET value = excluded.value"
)
_WRITE_POINT = (
    "INSERT INTO point (entity, aspect, document, time, value) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (entity, aspect, time, document) DO UPDATE SET value = excluded.value"
)


class CatalogBatch:
    """Takes proposals, then writes them; ``ids`` maps the URNs that are known to have a row to its number."""

    def __init__(self, connection: sqlite3.Connection, ids: MutableMapping[str, int]) -> None:
        self._connection = connection
        self._ids = ids
        #: entities that get a row with this batch, and URNs that have none
        self._new_rows: list[tuple[int, str, str]] = []
        self._unknown_urns: set[str] = set()
        self._applier = ProposalApplier(self._read_stored)

    def apply(self, proposal: Proposal) -> None:
        """Apply one proposal in memory; a proposal that DataHub would reject becomes a Failure."""
        self._applier.apply(proposal)

    @property
    def failures(self) -> list[Failure]:
        """The proposals that DataHub would reject."""
        return self._applier.failures

    def _read_stored(self, urn: str, aspect: str) -> bytes | None:
        entity = self._stored_id(urn)
        row = entity and self._connection.execute(_READ_ASPECT, (entity, aspect)).fetchone()
        return expand(row[0]) if row else None

    def _stored_id(self, urn: str) -> int | None:
        """Return the number of a URN that has a row."""
        entity_id = self._ids.get(urn)
        if entity_id is None and urn not in self._unknown_urns:
            row = self._connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
            if row is None:
                self._unknown_urns.add(urn)
            else:
                entity_id = self._ids[urn] = row[0]
        return entity_id

    def _id_of(self, urn: str) -> int:
        """Return the number of a URN, of the row that it will have if it has none."""
        entity_id = self._stored_id(urn)
        if entity_id is None:
            entity_id = self._ids[urn] = self._next_id + len(self._new_rows)
            self._new_rows.append((entity_id, urn, entity_type(urn)))
        return entity_id

    @cached_property
    def _next_id(self) -> int:
        (last_id,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM entity").fetchone()
        return int(last_id) + 1

    def write(self) -> None:
        """Write the collected proposals: aspects, their relationships and column lineage, points."""
        rows: list[tuple[int, str, bytes]] = []
        relationships = OwnedRows(self._connection, "relationship", ("source", "aspect"), ("name", "target", "lineage"))
        columns = OwnedRows(
            self._connection, "column_edge", ("owner", "aspect"), ("downstream", "upstream", "operation")
        )
        id_of = self._id_of
        new_urns: set[str] = set()
        texts: list[TextRow] = []
        for (urn, aspect), pending in self._applier.aspects.items():
            if not pending.render_draft():
                continue
            entity_id = id_of(urn)
            value = pending.value or {}
            rows.append((entity_id, aspect, shorten(aspect, cast("bytes", pending.encoded_bytes))))
            texts.extend(text_rows(entity_id, aspect, value))
            relation_rows = {
                (name, id_of(target), lineage) for (name, target), lineage in relations(aspect, value).items()
            }
            is_new = pending.stored_bytes is None
            # the rows of a key aspect are written with the first aspect of its entity
            relationships.replace((entity_id, aspect), relation_rows, is_new=is_new and aspect != key_aspect(urn))
            if is_new:
                new_urns.add(urn)
            if pending.may_change_columns(aspect):
                pairs = {
                    (id_of(downstream), id_of(upstream), operation)
                    for downstream, upstream, operation in column_edges(value)
                }
                columns.replace((entity_id, aspect), pairs, is_new=pending.stored_bytes is None)
        for urn in new_urns:
            if (key_relation_map := key_relations(urn)) and (urn, key_aspect(urn)) not in self._applier.aspects:
                relation_rows = {(name, id_of(target), lineage) for (name, target), lineage in key_relation_map.items()}
                relationships.replace((id_of(urn), key_aspect(urn)), relation_rows, is_new=False)
        points = [
            (id_of(urn), aspect, document, *point) for (urn, aspect, document), point in self._applier.points.items()
        ]
        execute = self._connection.executemany
        execute("INSERT INTO entity (id, urn, type) VALUES (?, ?, ?)", self._new_rows)
        execute(_WRITE_ASPECT, rows)
        relationships.write()
        columns.write()
        execute(_WRITE_POINT, points)
        searchable_urns = {
            urn for urn in (*new_urns, *(key[0] for key in self._applier.points)) if entity_type(urn) != RUN_TYPE
        }
        texts.extend((id_of(urn), URN_TEXT, search_form(urn)) for urn in sorted(searchable_urns))
        write_texts(self._connection, texts)


class OwnedRows:
    """The rows of a table that belong to an owner, replaced by writing the difference only."""

    def __init__(
        self, connection: sqlite3.Connection, table: str, owner: tuple[str, str], columns: tuple[str, str, str]
    ) -> None:
        owner_condition = " AND ".join(f"{name} = ?" for name in owner)
        self._connection = connection
        self._select_query = f"SELECT {', '.join(columns)} FROM {table} WHERE {owner_condition}"  # noqa: S608 - our own names
        self._insert_query = f"INSERT INTO {table} ({', '.join(owner + columns)}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608 - as above
        self._delete_query = f"DELETE FROM {table} WHERE {owner_condition} AND " + " AND ".join(  # noqa: S608 - our own names
            f"{name} = ?" for name in columns
        )
        self._added_rows: list[tuple[Any, ...]] = []
        self._deleted_rows: list[tuple[Any, ...]] = []

    def replace(self, owner: tuple[int, str], rows: set[tuple[Any, ...]], *, is_new: bool) -> None:
        """Replace the rows of ``owner`` by ``rows``; ``is_new``: it has none yet."""
        if not is_new:
            stored_rows = set(self._connection.execute(self._select_query, owner))
            self._deleted_rows.extend((*owner, *row) for row in stored_rows - rows)
            rows = rows - stored_rows
        self._added_rows.extend((*owner, *row) for row in rows)

    def write(self) -> None:
        """Delete, then insert: a row whose last column changed is both."""
        self._connection.executemany(self._delete_query, self._deleted_rows)
        self._connection.executemany(self._insert_query, self._added_rows)
