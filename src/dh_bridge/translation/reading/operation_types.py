"""What happened to a dataset, from the words and the SQL of producers."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from dh_bridge.bundled import table

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
_SQL_READ = 4000
_NAME = r'(?:"(?:[^"]|"")*"|[\w$]+)'
_ROWS = r"(?:select|with|values|table)\b"
_WHOLE = re.compile(
    rf"\s*(?:create\b|refresh\b|insert\s+into\s+{_NAME}(?:\s*\.\s*{_NAME})*\s*(?:{_ROWS}|\(\s*(?:{_ROWS}|\()))",
    re.IGNORECASE,
)


class _Tables(msgspec.Struct):
    words: dict[str, str]
    prefixes: list[tuple[str, str]]
    sql: list[tuple[re.Pattern[str], str]]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    rows = table("operation_types")
    return _Tables(
        {word: row["type"] for row in rows["words"] for word in row["words"]},
        [(row["prefix"], row["type"]) for row in rows["prefixes"]],
        [(re.compile(row["pattern"], re.IGNORECASE), row["type"]) for row in rows["sql"]],
    )


@lru_cache(maxsize=1024)
def operation_of_word(word: str) -> str | None:
    """Return the operation type of a producer's word, None when it says nothing about it."""
    tables, text = _tables(), word.strip().upper()
    found = tables.words.get(text)
    return found or next((kind for prefix, kind in tables.prefixes if text.startswith(prefix)), None)


def operation_of_sql(sql: str) -> str | None:
    """Return the operation type of a statement, by its first telling keyword outside comments and strings."""
    return _operation_of_start(sql[:_SQL_READ])


@lru_cache(maxsize=4096)
def _operation_of_start(sql: str) -> str | None:
    text = _COMMENT.sub(" ", sql)
    return next((kind for pattern, kind in _tables().sql if pattern.search(text)), None)


def writes_whole_rows(sql: str) -> bool:
    """Whether a statement makes a table, or names no columns of the one that it writes: what it writes are all there are."""
    return _WHOLE.match(_COMMENT.sub(" ", sql[:_SQL_READ])) is not None
