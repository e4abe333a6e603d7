"""The fields of an event's JSON, one by one, and how people write their paths."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.redaction import hides_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.translation.trace import Note

Steps = tuple[Any, ...]


class Field(NamedTuple):
    """A field of an event: its path, its value, and what the trace has of it.

    ``shown`` is the path as people write it (``$.inputs[0].facets.schema``, odd keys quoted). ``note`` is that of the field,
    else of the nearest part that it is in. ``datasets`` are those that the field is about or names, the outermost first.
    ``hidden``: the value is the secret of a name beside it.
    """

    steps: Steps
    shown: str
    note: Note | None
    datasets: tuple[str, ...]
    value: Any
    hidden: bool


_DEEPEST = 500
"""Levels that are followed: every Python decodes as many, wherever it stands."""
_decode = msgspec.json.Decoder().decode
_SIGNS = re.compile(rb'"(?:[^"\\]|\\.?)*"?|[\[\]{}]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")


def fields(document: Any) -> Iterator[tuple[Steps, Any]]:
    """Yield (path, value) of every field: a scalar, a null, an empty object or array."""
    return ((field.steps, field.value) for field in noted_fields(document, {}, {}))


def noted_fields(document: Any, noted: Mapping[str, Note], about: Mapping[str, str]) -> Iterator[Field]:
    """Yield every field with its notes.

    Args:
        document: the event.
        noted: by path (see :class:`~dh_bridge.translation.context.Place`), what became of fields.
        about: by path, the dataset that is named there.
    """
    place = "$"
    note, datasets = noted.get(place), (about[place],) if place in about else ()
    if not _is_inner(document):
        yield Field((), place, note, datasets, document, hidden=False)
        return
    # a stack of its own: JSON may be nested hundreds deep
    open_: list[tuple[Any, ...]] = [((), place, place, note, datasets, document, False, _members(document))]
    while open_:
        steps, shown, place, note, datasets, outer, hidden, members = open_[-1]
        for step, value in members:
            if isinstance(step, int):
                step_shown = mark = f"[{step}]"
            else:
                mark = f".{step}"
                step_shown = mark if _PLAIN_KEY.match(step) else f'["{step}"]'
            there = f"{place}{mark}"
            own_note = noted.get(there, note)
            named = (*datasets, about[there]) if there in about else datasets
            path = (*steps, step), f"{shown}{step_shown}"
            secret = hidden or (step == "value" and hides_value(outer))
            if _is_inner(value):
                open_.append((*path, there, own_note, named, value, secret, _members(value)))
                break
            yield Field(*path, own_note, named, value, secret)
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
