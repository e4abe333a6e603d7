# ruff: noqa: S608 - the statements are made of constants
"""The index of texts of entities: URNs, names, descriptions and columns, searched for any part of a text.

Runs are not in it: their identifiers are random, so their texts would make up most of the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.run_index import RUN_TYPE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

URN_TEXT, NAME_TEXT, COLUMN_TEXT = 0, 1, 2
"""The kinds of texts of an entity."""

_TEXT_KINDS = {
    "assertionInfo": NAME_TEXT,
    "containerProperties": NAME_TEXT,
    "dataFlowInfo": NAME_TEXT,
    "dataJobInfo": NAME_TEXT,
    "datasetProperties": NAME_TEXT,
    "schemaMetadata": COLUMN_TEXT,
}
"""Aspect -> the kind of text that it has."""

CREATE_SEARCH_TABLES = """
    CREATE TABLE search_text (
        id INTEGER PRIMARY KEY, entity INTEGER NOT NULL REFERENCES entity,
        kind INTEGER NOT NULL, -- 0: URN, 1: name and description, 2: names of columns, one per line
        text TEXT NOT NULL, -- in lower case
        UNIQUE (entity, kind)
    );
    CREATE VIRTUAL TABLE search_index USING fts5(
        text, content = 'search_text', content_rowid = 'id', tokenize = 'trigram', detail = 'none', columnsize = 0
    );
    CREATE TRIGGER search_text_inserted AFTER INSERT ON search_text BEGIN
        INSERT INTO search_index (rowid, text) VALUES (NEW.id, NEW.text);
    END;
    CREATE TRIGGER search_text_updated AFTER UPDATE ON search_text WHEN NEW.text <> OLD.text BEGIN
        INSERT INTO search_index (search_index, rowid, text) VALUES ('delete', OLD.id, OLD.text);
        INSERT INTO search_index (rowid, text) VALUES (NEW.id, NEW.text);
    END;
    CREATE TRIGGER search_text_deleted AFTER DELETE ON search_text BEGIN
        INSERT INTO search_index (search_index, rowid, text) VALUES ('delete', OLD.id, OLD.text);
    END;
    """

_NAME_ASPECTS = tuple(name for name, kind in _TEXT_KINDS.items() if kind == NAME_TEXT)

FILL_SEARCH_TABLES = f"""
    INSERT INTO search_text (entity, kind, text)
        SELECT id, {URN_TEXT}, lower(urn) FROM entity WHERE type <> '{RUN_TYPE}' AND (
            EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id)
            OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id)
        );
    INSERT INTO search_text (entity, kind, text)
        SELECT entity, {NAME_TEXT}, lower(trim(coalesce(json_extract(CAST(value AS TEXT), '$.name'), '') || char(10)
            || coalesce(json_extract(CAST(value AS TEXT), '$.description'), ''), char(10)))
        FROM aspect WHERE name IN {_NAME_ASPECTS};
    INSERT INTO search_text (entity, kind, text)
        SELECT entity, {COLUMN_TEXT}, (
            SELECT coalesce(group_concat(lower(json_extract(field.value, '$.fieldPath')), char(10)), '')
            FROM json_each(CAST(aspect.value AS TEXT), '$.fields') field
        ) FROM aspect WHERE name = 'schemaMetadata';
    """
"""The statements that fill the table from those of the aspects."""

_WRITE_TEXT = """
    INSERT INTO search_text (entity, kind, text) VALUES (?, ?, ?)
    ON CONFLICT (entity, kind) DO UPDATE SET text = excluded.text WHERE text <> excluded.text
"""
FIND_ENTITIES = """
    SELECT entity.urn FROM search_index CROSS JOIN search_text ON search_text.id = search_index.rowid
    CROSS JOIN entity ON entity.id = search_text.entity
    WHERE search_index.text GLOB :pattern AND (json_array_length(:types) = 0 OR entity.type IN (SELECT value FROM json_each(:types)))
    LIMIT :limit
"""
"""The query of a search; the order of its joins is fixed, as SQLite does not know how few texts match."""
FIND_BY_URN = FIND_ENTITIES.replace("LIMIT", f"AND search_text.kind = {URN_TEXT} LIMIT")

TextRow = tuple[int, int, str]


def text_rows(entity: int, aspect: str, value: dict[str, Any]) -> Iterator[TextRow]:
    """Yield the row of ``search_text`` for an aspect, if it has texts to search for."""
    kind = _TEXT_KINDS.get(aspect)
    if kind is None:
        return
    texts = (
        (value.get("name"), value.get("description"))
        if kind == NAME_TEXT
        else (column.get("fieldPath") for column in value.get("fields") or ())
    )
    yield entity, kind, search_form("\n".join(text for text in texts if isinstance(text, str)).strip("\n"))


def search_form(text: str) -> str:
    """Return a text as the index has it: in lower case, without the characters that end a text in SQLite."""
    return text.lower().replace("\0", "")


def write_texts(connection: sqlite3.Connection, rows: Iterable[TextRow]) -> None:
    """Write rows of ``search_text``; triggers update the index where a text changed."""
    connection.executemany(_WRITE_TEXT, rows)


def find_indexed_urns(
    connection: sqlite3.Connection, text: str, types: Sequence[str] = (), *, only_urns: bool, limit: int
) -> list[str]:
    """Return entities that contain a text, runs excluded, in the order in which they were first written.

    A text of one or two characters is in no index: all texts are read.

    Args:
        connection: The file.
        text: The text; its case does not matter.
        types: Entity types; empty for all.
        only_urns: Whether only URNs are searched, and no names, descriptions and columns.
        limit: The maximum number of texts that match; -1 for all.
    """
    pattern = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in search_form(text))
    values = {"pattern": f"*{pattern}*", "types": msgspec.json.encode(list(types)).decode(), "limit": limit}
    rows = connection.execute(FIND_BY_URN if only_urns else FIND_ENTITIES, values)
    return list(dict.fromkeys(urn for (urn,) in rows))
