"""One transaction of the catalogue: proposals in, rows out.

Every aspect is read, laid out for patching and written at most once, however many proposals name it. Proposals fail in
memory, one by one, before anything is written.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dh_bridge.catalog.edges import (
    COLUMN_LINEAGE_ASPECTS,
    COLUMN_LINEAGE_FIELD,
    column_edges,
    entity_type,
    key_relations,
    relations,
)
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.catalog.run_index import RUN_TYPE
from dh_bridge.catalog.search_index import URN_TEXT, TextRow, search_form, text_rows, write_texts
from dh_bridge.datahub import timeseries
from dh_bridge.datahub.urns import key_aspect
from dh_bridge.sinks.base import Failure

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import MutableMapping

    from dh_bridge.datahub.proposal import Proposal

_encode = msgspec.json.encode
_decode = msgspec.json.decode

_READ_ASPECT = "SELECT value FROM aspect WHERE entity = ? AND name = ?"
_WRITE_ASPECT = (
    "INSERT INTO aspect (entity, name, value) VALUES (?, ?, ?)"
    " ON CONFLICT (entity, name) DO UPDATE SET value = excluded.value"
)
_WRITE_POINT = (
    "INSERT INTO point (entity, aspect, document, time, value) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (entity, aspect, time, document) DO UPDATE SET value = excluded.value"
)

_ENCODING_ERRORS = (TypeError, ValueError, OverflowError, RecursionError)


class _PendingAspect:
    """An aspect that this transaction has read or written: its bytes before and after, and the draft that is still open."""

    __slots__ = ("draft", "encoded_bytes", "is_upserted", "stored_bytes", "value")

    def __init__(self, stored_bytes: bytes | None) -> None:
        self.stored_bytes = stored_bytes
        self.encoded_bytes = stored_bytes
        self.value: dict[str, Any] | None = None
        self.draft: AspectDraft | None = None
        self.is_upserted = False

    def write(self, value: dict[str, Any], encoded_value: bytes) -> None:
        """Replace the aspect; an open draft is void."""
        self.value, self.encoded_bytes, self.draft, self.is_upserted = value, encoded_value, None, True

    @property
    def is_present(self) -> bool:
        """Whether the entity has the aspect, or gets it by an open draft."""
        return self.encoded_bytes is not None or self.draft is not None

    def open_draft(self, aspect: str) -> AspectDraft:
        """Return the draft of the present value, parsed on the first patch only."""
        if self.draft is None:
            self.draft = AspectDraft(aspect, None if self.encoded_bytes is None else _decode(self.encoded_bytes))
        return self.draft

    def render_draft(self) -> bool:
        """Render the draft; return whether there is anything to write."""
        if self.draft is not None and self.draft.is_changed:
            self.value = self.draft.value()
            self.encoded_bytes = _encode(self.value)
        return self.encoded_bytes != self.stored_bytes

    def may_change_columns(self, aspect: str) -> bool:
        """Return whether the column lineage of the aspect may have changed: only its patches affect it."""
        return aspect in COLUMN_LINEAGE_ASPECTS and (
            self.is_upserted or self.draft is None or COLUMN_LINEAGE_FIELD in self.draft.patched_fields
        )


class CatalogBatch:
    """Takes proposals, then writes them; ``ids`` maps the URNs that are known to have a row to its number."""

    def __init__(self, connection: sqlite3.Connection, ids: MutableMapping[str, int]) -> None:
        self._connection = connection
        self._ids = ids
        #: entities that get a row with this batch, and URNs that have none
        self._new_rows: list[tuple[int, str, str]] = []
        self._unknown_urns: set[str] = set()
        self._aspects: dict[tuple[str, str], _PendingAspect] = {}
        self._points: dict[tuple[str, str, bytes], tuple[int, bytes]] = {}
        self.failures: list[Failure] = []

    def apply(self, proposal: Proposal) -> None:
        """Apply one proposal in memory; a proposal that DataHub would reject becomes a Failure."""
        try:
            self._apply(proposal)
        except (PatchError, timeseries.InvalidPointError) as error:
            self._add_failure(proposal, str(error))
        except _ENCODING_ERRORS as error:
            self._add_failure(proposal, f"cannot encode the proposal as JSON: {error}")

    def _apply(self, proposal: Proposal) -> None:
        urn, aspect, value = proposal.entity_urn, proposal.aspect_name, proposal.value
        if not urn.startswith(f"urn:li:{proposal.entity_type}:"):
            raise PatchError(f"the URN is not a URN of {proposal.entity_type}")
        encoded_value = _encode(value)  # of a PATCH too: what cannot be written must fail here, alone
        if proposal.change_type == "PATCH":
            self._patch(urn, aspect, value)
        elif proposal.change_type == "UPSERT":
            self._upsert(urn, aspect, value, encoded_value)
        elif proposal.change_type == "CREATE":
            if not self._pending_aspect(urn, aspect).is_present:
                self._upsert(urn, aspect, value, encoded_value)
        else:
            raise PatchError(f"unknown change type {proposal.change_type}: expected UPSERT, CREATE or PATCH")

    def _add_failure(self, proposal: Proposal, reason: str) -> None:
        self.failures.append(Failure(proposal, f"{proposal.entity_urn} {proposal.aspect_name}: {reason}"))

    def _upsert(self, urn: str, aspect: str, value: Any, encoded_value: bytes) -> None:
        if not isinstance(value, dict):
            raise PatchError(f"expected an object as the aspect, got {type(value).__name__}")
        if timeseries.is_timeseries(aspect):
            document = timeseries.document_id(urn, value)
            self._points[urn, aspect, document] = value["timestampMillis"], encoded_value
        else:
            self._pending_aspect(urn, aspect).write(value, encoded_value)

    def _patch(self, urn: str, aspect: str, operations: Any) -> None:
        if timeseries.is_timeseries(aspect):
            raise PatchError("a timeseries aspect does not support PATCH")
        self._pending_aspect(urn, aspect).open_draft(aspect).apply(operations)

    def _pending_aspect(self, urn: str, aspect: str) -> _PendingAspect:
        key = urn, aspect
        pending = self._aspects.get(key)
        if pending is None:
            entity = self._stored_id(urn)
            row = entity and self._connection.execute(_READ_ASPECT, (entity, aspect)).fetchone()
            pending = self._aspects[key] = _PendingAspect(row[0] if row else None)
        return pending

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
        for (urn, aspect), pending in self._aspects.items():
            if not pending.render_draft():
                continue
            entity_id = id_of(urn)
            value = pending.value or {}
            rows.append((entity_id, aspect, cast("bytes", pending.encoded_bytes)))
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
            if (key_relation_map := key_relations(urn)) and (urn, key_aspect(urn)) not in self._aspects:
                relation_rows = {(name, id_of(target), lineage) for (name, target), lineage in key_relation_map.items()}
                relationships.replace((id_of(urn), key_aspect(urn)), relation_rows, is_new=False)
        points = [(id_of(urn), aspect, document, *point) for (urn, aspect, document), point in self._points.items()]
        execute = self._connection.executemany
        execute("INSERT INTO entity (id, urn, type) VALUES (?, ?, ?)", self._new_rows)
        execute(_WRITE_ASPECT, rows)
        relationships.write()
        columns.write()
        execute(_WRITE_POINT, points)
        searchable_urns = {
            urn for urn in (*new_urns, *(key[0] for key in self._points)) if entity_type(urn) != RUN_TYPE
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
