"""The operation on a dataset, from the terms and the SQL of producers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

import msgspec

from dh_bridge.bundled import convert_document
from dh_bridge.errors import MappingError

OperationType = Literal["ALTER", "CREATE", "DELETE", "DROP", "INSERT", "UPDATE"]

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/|'[^']*(?:''[^']*)*'", re.DOTALL)
_MAX_SQL_CHARS = 4000
_NAME = r'(?:"[^"]*(?:""[^"]*)*"|[\w$]+)'
_ROWS = r"(?:select|with|values|table)\b"
_WHOLE_ROW_WRITE = re.compile(
    rf"\s*(?:create\b|refresh\b|insert\s+into\s+{_NAME}(?:\s*\.\s*{_NAME})*\s*(?:{_ROWS}|\(\s*(?:{_ROWS}|\()))",
    re.IGNORECASE,
)


class OperationWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words for an operation."""

    type: OperationType
    words: list[str]


class OperationPrefix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What words for an operation begin with."""

    type: OperationType
    prefix: str


class OperationPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is found in statements that do an operation."""

    type: OperationType
    pattern: str


class OperationTypesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``mappings/tables/operation_types.yaml``."""

    words: list[OperationWords]
    prefixes: list[OperationPrefix]
    sql: list[OperationPattern]


class OperationTypes:
    """The table, ready for look-ups; answers are remembered."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, OperationTypesDocument, "operation_types", location)
        self._words: dict[str, str] = {word.upper(): row.type for row in rows.words for word in row.words}
        self._prefixes = [(row.prefix.upper(), row.type) for row in rows.prefixes]
        self._sql = [(_compile(row.pattern, location), row.type) for row in rows.sql]
        self.find_by_word = lru_cache(maxsize=1024)(self._find_by_word)
        self.find_by_sql_start = lru_cache(maxsize=4096)(self._find_by_sql_start)

    def _find_by_word(self, word: str) -> str | None:
        """Return the operation type of a producer's word, None when it says nothing about it."""
        text = word.strip().upper()
        operation_type = self._words.get(text)
        return operation_type or next((kind for prefix, kind in self._prefixes if text.startswith(prefix)), None)

    def find_by_sql(self, sql: str) -> str | None:
        """Return the operation type of a statement from its first significant keyword outside of comments and strings."""
        return self.find_by_sql_start(sql[:_MAX_SQL_CHARS])

    def _find_by_sql_start(self, sql: str) -> str | None:
        text = _COMMENT.sub(" ", sql)
        return next((kind for pattern, kind in self._sql if pattern.search(text)), None)


def _compile(pattern: str, location: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise MappingError(f"`{pattern}`: {error}", location=location, remedy="fix the pattern") from error


def writes_whole_rows(sql: str) -> bool:
    """Whether a statement makes a table, or names no columns of the one that it writes: what it writes are all there are."""
    return _WHOLE_ROW_WRITE.match(_COMMENT.sub(" ", sql[:_MAX_SQL_CHARS])) is not None
