"""JSON as numbered lines, as the inspector shows it: each line has its depth, its key and its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

from dh_bridge.json_safe import make_encodable
from dh_bridge.report.fields import display_step

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_DEPTH = 100
_MAX_TEXT = 20_000
"""Characters of a value that a line shows, at most."""


class JsonLine(msgspec.Struct, frozen=True):
    """A line: ``key`` is None in an array; ``text`` is a value, or a bracket that opens or closes."""

    depth: int
    key: str | None
    text: str
    is_value: bool


class ValueLine(NamedTuple):
    """A line with a value: its number, its path as people write it, its steps, and the value."""

    line: int
    path: str
    steps: tuple[str | int, ...]
    value: Any


def to_lines(document: Any, first_line: int = 0) -> tuple[list[JsonLine], list[ValueLine]]:
    """Return the lines of a document, and those with values; ``first_line`` is the number of the first."""
    lines: list[JsonLine] = []
    values: list[ValueLine] = []
    for line, value_line in _walk(document, None, "$", (), 0):
        if value_line is not None:
            values.append(value_line._replace(line=first_line + len(lines)))
        lines.append(line)
    return lines, values


def _walk(
    value: Any, key: str | None, path: str, steps: tuple[str | int, ...], depth: int
) -> Iterator[tuple[JsonLine, ValueLine | None]]:
    if not value or not isinstance(value, (dict, list)) or depth >= _MAX_DEPTH:
        yield JsonLine(depth, key, _value_text(value), is_value=True), ValueLine(0, path, steps, value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield JsonLine(depth, key, opening, is_value=False), None
    members: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for step, member in members:
        member_key = None if isinstance(step, int) else step
        yield from _walk(member, member_key, f"{path}{display_step(step)}", (*steps, step), depth + 1)
    yield JsonLine(depth, None, closing, is_value=False), None


def _value_text(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = orjson.dumps(make_encodable(value), default=str).decode()
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text):,} characters)"
