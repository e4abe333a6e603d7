"""Literals that calls take as secrets, by their position: ``aes_encrypt(c, 'x')`` of SQL, ``HTTPBasicAuth("ann", "x")`` of code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_INSERT_COLUMNS = re.compile(
    r"\b(?:insert|replace)\s{1,8}(?:ignore\s{1,8}|overwrite\s{1,8})?(?:into\s{1,8})?(?:table\s{1,8})?[^\s(;]{1,200}\s{0,8}\(([^()]{1,8000})\)\s{0,8}(values?|select)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|[(),;]")
_MASK_PREFIXES = (MASK, "[REDACTED")
_MAX_DEPTH = 1_000


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
        pattern: finds literals, brackets, commas, and the names of the functions (group 1).
        positions_of: the positions of secrets, by the names of functions in lower case.
    """
    parts: list[str] = []
    cursor = 0
    positions: tuple[int, ...] = ()
    position = 1
    calls: list[tuple[tuple[int, ...], int]] = []  # the calls around this one
    for part in pattern.finditer(to_lower(text)):
        start, end = part.span()
        symbol = text[start]
        if part[1] is not None or symbol in "([":
            if len(calls) < _MAX_DEPTH:
                calls.append((positions, position))
            positions, position = positions_of[part[1]] if part[1] is not None else (), 1
        elif symbol in ")]":
            positions, position = calls.pop() if calls else ((), 1)
        elif symbol == ",":
            position += 1
        elif position in positions and end - start > 2 and not _is_harmless(text[start + 1 : end - 1]):
            parts += text[cursor : start + 1], MASK
            cursor = end - 1
    return "".join([*parts, text[cursor:]]) if parts else text


def _is_harmless(value: str) -> bool:
    return value.startswith(_MASK_PREFIXES) or "=" in value.rstrip("=") or "***" in value


def mask_inserted_values(text: str) -> str:
    """Return ``text`` without the secrets of ``INSERT INTO users (name, password) VALUES ('ann', 'x')``, of each row."""
    parts: list[str] = []
    cursor = 0
    for insert in _INSERT_COLUMNS.finditer(text):
        if insert.start() < cursor:
            continue
        columns = [column.strip(" \t\r\n`\"'[]") for column in insert[1].split(",")]
        secrets = {number for number, column in enumerate(columns) if is_secret_name(column)}
        keys = {
            number
            for number, column in enumerate(columns)
            if column.lower() in ("name", "key", "k", "property", "param", "setting")
        }
        values = {
            number for number, column in enumerate(columns) if column.lower() in ("value", "v", "val", "setting_value")
        }
        if not secrets and not (keys and values):
            continue
        depth, position, is_secret_row = int(insert[2].lower() == "select"), 0, False
        for part in _PARTS.finditer(text, insert.end()):
            symbol = part[0][0]
            if symbol == "(":
                depth += 1
                if depth == 1:
                    position, is_secret_row = 0, False
            elif symbol == ")":
                depth -= 1
            elif symbol == ";" or position > len(columns):
                break
            elif symbol == ",":
                position += depth == 1
            elif symbol == "'" and depth > 0:
                is_secret_row = is_secret_row or (position in keys and is_secret_name(part[0][1:-1]))
                is_secret = position in secrets or (is_secret_row and position in values)
                if is_secret and len(part[0]) > 2 and not part[0][1:-1].startswith(_MASK_PREFIXES):
                    parts += text[cursor : part.start() + 1], MASK
                    cursor = part.end() - 1
    return "".join([*parts, text[cursor:]]) if parts else text
