"""One transaction of the catalogue: proposals in, rows out.

Every aspect is read, laid out for patching and written at most once, however many proposals name it. Proposals fail in
memory, one by one, before anything is written.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dh_bridge.catalog.edges import COLUMN_LINEAGE, COLUMNS, column_edges, entity_type, key_relations, relations
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.patching import Draft
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
    " ON CONFLICT (entity, aspect, document) DO UPDATE SET value = excluded.value"
)

_UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)


class _Pending:
    """An aspect that this transaction has read or written: its bytes before and after, and the draft that is still open."""

    __slots__ = ("draft", "new", "old", "upserted", "value")

    def __init__(self, old: bytes | None) -> None:
        self.old = old
        self.new = old
        self.value: dict[str, Any] | None = None
        self.draft: Draft | None = None
        self.upserted = False

    def write(self, value: dict[str, Any], data: bytes) -> None:
        """Replace the aspect; an open draft is void."""
        self.value, self.new, self.draft, self.upserted = value, data, None, True

    @property
    def is_present(self) -> bool:
        """Whether the entity has the aspect, or gets it by an open draft."""
        return self.new is not None or self.draft is not None

    def open(self, aspect: str) -> Draft:
        """Return the draft of the present value, parsed on the first patch only."""
        if self.draft is None:
            self.draft = Draft(aspect, None if self.new is None else _decode(self.new))
        return self.draft

    def settle(self) -> bool:
        """Render the draft; tell whether there is anything to write."""
        if self.draft is not None and self.draft.changed:
            self.value = self.draft.value()
            self.new = _encode(self.value)
        return self.new != self.old

    def says_columns(self, aspect: str) -> bool:
        """Say whether the column lineage of the aspect may have changed: no other patch touches it."""
        return aspect in COLUMN_LINEAGE and (self.upserted or self.draft is None or COLUMNS in self.draft.touched)


class Batch:
    """Takes proposals, then writes them; ``ids`` maps the URNs that are known to have a row to its number."""

    def __init__(self, connection: sqlite3.Connection, ids: MutableMapping[str, int]) -> None:
        self._connection = connection
        self._ids = ids
        #: entities that get a row with this batch, and URNs that have none
        self._new: list[tuple[int, str, str]] = []
        self._unknown: set[str] = set()
        self._aspects: dict[tuple[str, str], _Pending] = {}
        self._points: dict[tuple[str, str, bytes], tuple[int, bytes]] = {}
        self.failed: list[Failure] = []

    def take(self, proposal: Proposal) -> None:
        """Apply one proposal in memory; what DataHub would refuse becomes a Failure."""
        try:
            self._take(proposal)
        except (PatchError, timeseries.PointError) as error:
            self._fail(proposal, str(error))
        except _UNENCODABLE as error:
            self._fail(proposal, f"cannot be written as JSON: {error}")

    def _take(self, proposal: Proposal) -> None:
        urn, aspect, value = proposal.entity_urn, proposal.aspect_name, proposal.value
        if not urn.startswith(f"urn:li:{proposal.entity_type}:"):
            raise PatchError(f"the URN is none of a {proposal.entity_type}")
        data = _encode(value)  # of a PATCH too: what cannot be written must fail here, alone
        if proposal.change_type == "PATCH":
            self._patch(urn, aspect, value)
        elif proposal.change_type == "UPSERT":
            self._upsert(urn, aspect, value, data)
        elif proposal.change_type == "CREATE":
            if not self._pending(urn, aspect).is_present:
                self._upsert(urn, aspect, value, data)
        else:
            raise PatchError(f"change type {proposal.change_type} is none of UPSERT, CREATE, PATCH")

    def _fail(self, proposal: Proposal, reason: str) -> None:
        self.failed.append(Failure(proposal, f"{proposal.entity_urn} {proposal.aspect_name}: {reason}"))

    def _upsert(self, urn: str, aspect: str, value: Any, data: bytes) -> None:
        if not isinstance(value, dict):
            raise PatchError("an aspect is an object")
        if timeseries.is_timeseries(aspect):
            document = timeseries.document_id(urn, value)
            self._points[urn, aspect, document] = value["timestampMillis"], data
        else:
            self._pending(urn, aspect).write(value, data)

    def _patch(self, urn: str, aspect: str, operations: Any) -> None:
        if timeseries.is_timeseries(aspect):
            raise PatchError("a timeseries aspect cannot be patched")
        self._pending(urn, aspect).open(aspect).apply(operations)

    def _pending(self, urn: str, aspect: str) -> _Pending:
        key = urn, aspect
        pending = self._aspects.get(key)
        if pending is None:
            entity = self._known(urn)
            row = entity and self._connection.execute(_READ_ASPECT, (entity, aspect)).fetchone()
            pending = self._aspects[key] = _Pending(row[0] if row else None)
        return pending

    def _known(self, urn: str) -> int | None:
        """Return the number of a URN that has a row."""
        number = self._ids.get(urn)
        if number is None and urn not in self._unknown:
            row = self._connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
            if row is None:
                self._unknown.add(urn)
            else:
                number = self._ids[urn] = row[0]
        return number

    def _number(self, urn: str) -> int:
        """Return the number of a URN, of the row that it will have if it has none."""
        number = self._known(urn)
        if number is None:
            number = self._ids[urn] = self._next + len(self._new)
            self._new.append((number, urn, entity_type(urn)))
        return number

    @cached_property
    def _next(self) -> int:
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM entity").fetchone()
        return int(last) + 1

    def write(self) -> None:
        """Write what was taken: aspects, their relationships and column lineage, points."""
        rows: list[tuple[int, str, bytes]] = []
        relationships = Rows(self._connection, "relationship", ("source", "aspect"), ("name", "target", "lineage"))
        columns = Rows(self._connection, "column_edge", ("owner", "aspect"), ("downstream", "upstream", "operation"))
        number = self._number
        begun: set[str] = set()
        for (urn, aspect), pending in self._aspects.items():
            if not pending.settle():
                continue
            entity = number(urn)
            value = pending.value or {}
            rows.append((entity, aspect, cast("bytes", pending.new)))
            found = {(name, number(target), lineage) for (name, target), lineage in relations(aspect, value).items()}
            new = pending.old is None
            # a key aspect that is told by itself has its rows since the first aspect of its entity
            relationships.replace((entity, aspect), found, fresh=new and aspect != key_aspect(urn))
            if new:
                begun.add(urn)
            if pending.says_columns(aspect):
                pairs = {(number(down), number(up), operation) for down, up, operation in column_edges(value)}
                columns.replace((entity, aspect), pairs, fresh=pending.old is None)
        for urn in begun:
            if (of_key := key_relations(urn)) and (urn, key_aspect(urn)) not in self._aspects:
                found = {(name, number(target), lineage) for (name, target), lineage in of_key.items()}
                relationships.replace((number(urn), key_aspect(urn)), found, fresh=False)
        points = [(number(urn), aspect, document, *point) for (urn, aspect, document), point in self._points.items()]
        execute = self._connection.executemany
        execute("INSERT INTO entity (id, urn, type) VALUES (?, ?, ?)", self._new)
        execute(_WRITE_ASPECT, rows)
        relationships.write()
        columns.write()
        execute(_WRITE_POINT, points)


class Rows:
    """The rows of a table that belong to an owner, replaced by writing the difference only."""

    def __init__(
        self, connection: sqlite3.Connection, table: str, owner: tuple[str, str], columns: tuple[str, str, str]
    ) -> None:
        mine = " AND ".join(f"{name} = ?" for name in owner)
        self._connection = connection
        self._read = f"SELECT {', '.join(columns)} FROM {table} WHERE {mine}"  # noqa: S608 - our own names
        self._insert = f"INSERT INTO {table} ({', '.join(owner + columns)}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608 - as above
        self._delete = f"DELETE FROM {table} WHERE {mine} AND " + " AND ".join(f"{name} = ?" for name in columns)  # noqa: S608 - as above
        self._new: list[tuple[Any, ...]] = []
        self._gone: list[tuple[Any, ...]] = []

    def replace(self, owner: tuple[int, str], rows: set[tuple[Any, ...]], *, fresh: bool) -> None:
        """Let ``owner`` have exactly ``rows``; ``fresh`` says that it has none yet."""
        if not fresh:
            old = set(self._connection.execute(self._read, owner))
            self._gone.extend((*owner, *row) for row in old - rows)
            rows = rows - old
        self._new.extend((*owner, *row) for row in rows)

    def write(self) -> None:
        """Delete, then insert: a row whose last column changed is both."""
        self._connection.executemany(self._delete, self._gone)
        self._connection.executemany(self._insert, self._new)
