"""Dialects of SQL: the table ``mappings/tables/sql_dialects.yaml``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from dh_bridge.bundled import convert_document


class Dialect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words for the SQL of a platform."""

    platform: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    words: list[str]


class SqlDialectsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    dialects: list[Dialect]


class SqlDialects:
    """The table, ready for look-ups."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, SqlDialectsDocument, "sql_dialects", location)
        self._platforms = {word.lower(): row.platform for row in rows.dialects for word in row.words}

    def platform(self, dialect: str) -> str | None:
        """Return the DataHub platform whose SQL a dialect is, None for one that is nobody's own (``ansi``)."""
        return self._platforms.get(dialect.lower())
