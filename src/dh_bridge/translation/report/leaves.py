"""The leaves of an event's JSON, one by one, and how people write where they stand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.redaction import hides_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Path = tuple[Any, ...]
Found = tuple[Path, str, "str | None", tuple[str, ...], Any, bool]
"""A leaf: its path; the same as people write it, ``$.inputs[0].facets.schema``, odd keys quoted; what is noted of it, else of the
nearest that it is part of; the datasets that it is said of or names, the outermost first; its value; whether that is the secret of
a name beside it."""

_DEEPEST = 500
"""Levels that are followed: every Python decodes as many, wherever it stands."""
_decode = msgspec.json.Decoder().decode
_SIGNS = re.compile(rb'"(?:[^"\\]|\\.?)*"?|[\[\]{}]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")


def leaves(document: Any) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of every leaf: a scalar, a null, an empty object or array."""
    return ((path, value) for path, _, _, _, value, _ in noted_leaves(document, {}, {}))


def noted_leaves(document: Any, noted: Mapping[str, str], about: Mapping[str, str]) -> Iterator[Found]:
    """Yield every leaf, and what the walk said of it.

    By places (see :class:`~dh_bridge.translation.context.Place`), ``noted`` is where leaves ended, ``about`` which datasets are named.
    """
    place = "$"
    note, datasets = noted.get(place), (about[place],) if place in about else ()
    if not _is_inner(document):
        yield (), place, note, datasets, document, False
        return
    # a stack of its own: JSON may be nested hundreds deep
    open_: list[tuple[Any, ...]] = [((), place, place, note, datasets, document, False, _members(document))]
    while open_:
        path, shown, place, note, datasets, outer, hidden, members = open_[-1]
        for step, value in members:
            if isinstance(step, int):
                step_shown = mark = f"[{step}]"
            else:
                mark = f".{step}"
                step_shown = mark if _PLAIN_KEY.match(step) else f'["{step}"]'
            there = f"{place}{mark}"
            said = noted.get(there, note)
            named = (*datasets, about[there]) if there in about else datasets
            found = (*path, step), f"{shown}{step_shown}"
            secret = hidden or (step == "value" and hides_value(outer))
            if _is_inner(value):
                open_.append((*found, there, said, named, value, secret, _members(value)))
                break
            yield *found, said, named, value, secret
        else:
            open_.pop()


def _is_inner(value: Any) -> bool:
    return bool(value) and isinstance(value, (dict, list))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value))


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
