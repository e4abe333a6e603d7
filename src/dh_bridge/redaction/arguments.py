"""Literals that calls take as secrets, by their position: ``aes_encrypt(c, 'x')`` of SQL, ``HTTPBasicAuth("ann", "x")`` of code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES_OF_COLUMNS = re.compile(
    r"\b(?:insert|replace)\s{1,8}(?:ignore\s{1,8}|overwrite\s{1,8})?(?:into\s{1,8})?(?:table\s{1,8})?[^\s(;]{1,200}\s{0,8}\(([^()]{1,8000})\)\s{0,8}(values?|select)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|[(),;]")
_NO_SECRETS = (MASK, "[REDACTED")
_DEEPEST = 1_000


def lowered(text: str) -> str:
    """Return ``text`` in lower case, character by character: as long as it was."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(char if len(low := char.lower()) != 1 else low for char in text)
    )


def without_arguments(text: str, pattern: re.Pattern[str], positions_of: Mapping[str, tuple[int, ...]]) -> str:
    """Return ``text`` without the literals that functions take as secrets.

    Args:
        text: a statement, or code.
        pattern: finds literals, brackets, commas, and the names of the functions (group 1).
        positions_of: the positions of secrets, by the names of functions in lower case.
    """
    parts: list[str] = []
    done = 0
    positions: tuple[int, ...] = ()
    position = 1
    calls: list[tuple[tuple[int, ...], int]] = []  # the calls around this one
    for part in pattern.finditer(lowered(text)):
        start, end = part.span()
        sign = text[start]
        if part[1] is not None or sign in "([":
            if len(calls) < _DEEPEST:
                calls.append((positions, position))
            positions, position = positions_of[part[1]] if part[1] is not None else (), 1
        elif sign in ")]":
            positions, position = calls.pop() if calls else ((), 1)
        elif sign == ",":
            position += 1
        elif position in positions and end - start > 2 and not _is_no_secret(text[start + 1 : end - 1]):
            parts += text[done : start + 1], MASK
            done = end - 1
    return "".join([*parts, text[done:]]) if parts else text


def _is_no_secret(value: str) -> bool:
    return value.startswith(_NO_SECRETS) or "=" in value.rstrip("=") or "***" in value


def without_inserted(text: str) -> str:
    """Return ``text`` without the secrets of ``INSERT INTO users (name, password) VALUES ('ann', 'x')``, of each row."""
    parts: list[str] = []
    done = 0
    for insert in _NAMES_OF_COLUMNS.finditer(text):
        if insert.start() < done:
            continue
        columns = [column.strip(" \t\r\n`\"'[]") for column in insert[1].split(",")]
        secrets = {number for number, column in enumerate(columns) if secret_name(column)}
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
        depth, position, hides = int(insert[2].lower() == "select"), 0, False
        for part in _PARTS.finditer(text, insert.end()):
            sign = part[0][0]
            if sign == "(":
                depth += 1
                if depth == 1:
                    position, hides = 0, False
            elif sign == ")":
                depth -= 1
            elif sign == ";" or position > len(columns):
                break
            elif sign == ",":
                position += depth == 1
            elif sign == "'" and depth > 0:
                hides = hides or (position in keys and secret_name(part[0][1:-1]))
                hidden = position in secrets or (hides and position in values)
                if hidden and len(part[0]) > 2 and not part[0][1:-1].startswith(_NO_SECRETS):
                    parts += text[done : part.start() + 1], MASK
                    done = part.end() - 1
    return "".join([*parts, text[done:]]) if parts else text
