"""Literals that calls take as secrets, by their position: ``aes_encrypt(c, 'x')`` of SQL, ``HTTPBasicAuth("ann", "x")`` of code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_INSERT_COLUMNS = re.compile(
    r"\b(?:insert|replace)\s{1,8}(?:ignore\s{1,8}|overwrite\s{1,8})?(?:into\s{1,8})?(?:table\s{1,8})?[^\s(;]{1,200}\s{0,8}\(([^()]{1,100000})\)\s{0,8}(values?|select)\b",
    re.IGNORECASE,
)
#: Literals, quoted names, and runs of brackets and commas: a run is one match, so a megabyte of brackets costs little.
_PARTS = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|[(),\[\]]+")
#: The same for rows of values. A row list ends at a semicolon, or at the next statement.
_ROW_PARTS = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|[(),;]+|\b[iIrR](?:nsert|NSERT|eplace|EPLACE)\b")
_MASK_PREFIXES = (MASK, "[REDACTED")
_KEY_COLUMNS = frozenset(("name", "key", "k", "property", "param", "setting"))
_VALUE_COLUMNS = frozenset(("value", "v", "val", "setting_value"))


def to_lower(text: str) -> str:
    """Return ``text`` in lower case, character by character: as long as it was."""
    lower = text.lower()
    return (
        lower
        if len(lower) == len(text)
        else "".join(char if len(lower_char := char.lower()) != 1 else lower_char for char in text)
    )


def mask_arguments(text: str, pattern: re.Pattern[str], positions_of: Mapping[str, tuple[int, ...]]) -> str:
    """Return ``text`` without the literals that functions take as secrets.

    Args:
        text: a statement, or code.
        pattern: finds the names of the functions (group 1) and the bracket behind them, in lower case.
        positions_of: the positions of secrets, by the names of functions in lower case.
    """
    calls = {call.end() - 1: positions_of[call[1]] for call in pattern.finditer(to_lower(text))}
    if not calls:
        return text
    parts: list[str] = []
    cursor = 0
    open_calls: list[tuple[tuple[int, ...], int, int]] = []  # the calls around this one
    positions: tuple[int, ...] = ()
    position = 1
    depth = 0  # brackets of this call that belong to no function of the rules
    for part in _PARTS.finditer(text):
        start, end = part.span()
        if text[start] in "'\"":
            if position in positions and depth == 0 and end - start > 2 and not _is_harmless(text[start + 1 : end - 1]):
                parts += text[cursor : start + 1], MASK
                cursor = end - 1
            continue
        if not positions and start not in calls:  # outside of all calls
            continue
        for offset, symbol in enumerate(part[0], start):
            if offset == start and start in calls:
                open_calls.append((positions, position, depth))
                positions, position, depth = calls[start], 1, 0
            elif symbol in "([":
                depth += 1
            elif symbol == ",":
                position += depth == 0
            elif depth:
                depth -= 1
            elif open_calls:
                positions, position, depth = open_calls.pop()
    return "".join([*parts, text[cursor:]]) if parts else text


def _is_harmless(value: str) -> bool:
    return value.startswith(_MASK_PREFIXES) or "=" in value.rstrip("=") or "***" in value


def mask_inserted_values(text: str) -> str:
    """Return ``text`` without the secrets of ``INSERT INTO users (name, password) VALUES ('ann', 'x')``, of each row.

    Each row is read once: the next statement is searched for behind the rows of the one before.
    """
    parts: list[str] = []
    cursor = position = 0
    while (insert := _INSERT_COLUMNS.search(text, position)) is not None:
        position = insert.end()
        columns = [column.strip(" \t\r\n`\"'[]") for column in insert[1].split(",")]
        secrets = {number for number, column in enumerate(columns) if is_secret_name(column)}
        keys = {number for number, column in enumerate(columns) if column.lower() in _KEY_COLUMNS}
        values = {number for number, column in enumerate(columns) if column.lower() in _VALUE_COLUMNS}
        if not secrets and not (keys and values):
            continue
        is_select = insert[2].lower() == "select"
        spans, position = _find_row_secrets(text, position, len(columns), secrets, keys, values, is_select=is_select)
        for begin, end in spans:
            parts += text[cursor:begin], MASK
            cursor = end
    return "".join([*parts, text[cursor:]]) if parts else text


def _find_row_secrets(  # noqa: PLR0913 - the properties of the columns
    text: str, start: int, column_count: int, secrets: set[int], keys: set[int], values: set[int], *, is_select: bool
) -> tuple[list[tuple[int, int]], int]:
    """Return the secrets of the rows that begin at ``start``, and where the rows end."""
    spans: list[tuple[int, int]] = []
    depth, column, is_secret_row = int(is_select), 0, False
    for part in _ROW_PARTS.finditer(text, start):
        begin, end = part.span()
        symbol = text[begin]
        if symbol == "'":
            if depth > 0:
                content = text[begin + 1 : end - 1]
                is_secret_row = is_secret_row or (column in keys and is_secret_name(content))
                is_secret = column in secrets or (is_secret_row and column in values)
                if is_secret and content and not content.startswith(_MASK_PREFIXES):
                    spans.append((begin + 1, end - 1))
            continue
        if symbol not in "(),;":
            if symbol != '"' and depth <= 0:  # the next statement
                return spans, begin
            continue
        for char in part[0]:
            if char == "(":
                depth += 1
                if depth == 1:
                    column, is_secret_row = 0, False
            elif char == ")":
                depth -= 1
            elif char == ",":
                column += depth == 1
            if char == ";" or column > column_count:
                return spans, end
    return spans, len(text)
