"""The leaves of an event's JSON, one by one, and how people write where they stand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Path = tuple[Any, ...]

_DEEPEST = 500
"""Levels that are followed: every Python decodes as many, wherever it stands."""
_decode = msgspec.json.Decoder().decode
_SIGNS = re.compile(rb'"(?:[^"\\]|\\.?)*"?|[\[\]{}]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")


def leaves(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of every leaf: a scalar, a null, an empty object or array."""
    waiting: list[tuple[Path, Any]] = [(path, document)]  # a stack of its own: JSON may be nested hundreds deep
    while waiting:
        place, found = waiting.pop()
        if isinstance(found, dict) and found:
            waiting += [((*place, key), member) for key, member in reversed(found.items())]
        elif isinstance(found, list) and found:
            waiting += [((*place, position), found[position]) for position in range(len(found) - 1, -1, -1)]
        else:
            yield place, found


def shown(path: Sequence[Any]) -> str:
    """Return a path as people write it: ``$.inputs[0].facets.schema``; odd keys are quoted."""
    found = "$"
    for step in path:
        if isinstance(step, int):
            found += f"[{step}]"
        else:
            found += f".{step}" if _PLAIN_KEY.match(step) else f'["{step}"]'
    return found


def document(raw: bytes) -> Any:
    """Return an event as plain JSON; where a number of it is beyond all doubles, numbers as they are written."""
    if raw.count(b"[") + raw.count(b"{") >= _DEEPEST:
        raw = _cut(raw)
    try:
        return _decode(raw)
    except msgspec.DecodeError:
        return json.loads(raw, parse_int=str, parse_float=str)


def _cut(raw: bytes) -> bytes:
    """Return JSON with a text in place of each part that is nested too deep."""
    found, depth, begin = [], 0, 0
    for sign in _SIGNS.finditer(raw):
        if sign[0] in (b"[", b"{"):
            depth += 1
            if depth == _DEEPEST:
                found += [raw[begin : sign.start()], b'"..."']
        elif sign[0] in (b"]", b"}"):
            if depth == _DEEPEST:
                begin = sign.end()
            depth -= 1
    return b"".join(found) + raw[begin:]
