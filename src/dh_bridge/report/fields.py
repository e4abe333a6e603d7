"""The fields of an event's JSON, one by one, and how people write their paths."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.redaction import has_hidden_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.model.trace import FieldNote

FieldSteps = tuple[Any, ...]


class EventField(NamedTuple):
    """A field of an event: its path, its value, and its notes and facts in the trace.

    ``display_path`` is the path as people write it (``$.inputs[0].facets.schema``, odd keys quoted). ``note`` is that of the field,
    else of the nearest part that it is in. ``datasets`` are those that the field is about or names, the outermost first.
    ``is_hidden``: the value is the secret of a name beside it.
    """

    steps: FieldSteps
    display_path: str
    note: FieldNote | None
    datasets: tuple[str, ...]
    value: Any
    is_hidden: bool


_MAX_DEPTH = 500
"""Maximum depth: every Python version decodes as many levels."""
_decode = msgspec.json.Decoder().decode
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.?)*"?|[\[\]{}]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")


def field_values(document: Any) -> Iterator[tuple[FieldSteps, Any]]:
    """Yield (path, value) of every field: a scalar, a null, an empty object or array."""
    return ((field.steps, field.value) for field in iter_fields(document, {}, {}))


def iter_fields(
    document: Any, notes_by_path: Mapping[str, FieldNote], datasets_by_path: Mapping[str, str]
) -> Iterator[EventField]:
    """Yield every field with its notes.

    Args:
        document: the event.
        notes_by_path: by path (see :class:`~dh_bridge.facet_support.context.FacetContext`), what became of fields.
        datasets_by_path: by path, the dataset that is named there.
    """
    trace_path = "$"
    note, datasets = (
        notes_by_path.get(trace_path),
        (datasets_by_path[trace_path],) if trace_path in datasets_by_path else (),
    )
    if not _is_inner(document):
        yield EventField((), trace_path, note, datasets, document, is_hidden=False)
        return
    # a stack of its own: JSON may be nested hundreds deep
    stack: list[tuple[Any, ...]] = [((), trace_path, trace_path, note, datasets, document, False, _members(document))]
    while stack:
        steps, display_path, trace_path, note, datasets, outer, is_hidden, members = stack[-1]
        for step, value in members:
            suffix = f"[{step}]" if isinstance(step, int) else f".{step}"
            display_suffix = display_step(step)
            member_trace_path = f"{trace_path}{suffix}"
            member_note = notes_by_path.get(member_trace_path, note)
            member_datasets = (
                (*datasets, datasets_by_path[member_trace_path]) if member_trace_path in datasets_by_path else datasets
            )
            path = (*steps, step), f"{display_path}{display_suffix}"
            is_secret = is_hidden or (step == "value" and has_hidden_value(outer))
            if _is_inner(value):
                stack.append(
                    (*path, member_trace_path, member_note, member_datasets, value, is_secret, _members(value))
                )
                break
            yield EventField(*path, member_note, member_datasets, value, is_secret)
        else:
            stack.pop()


def display_step(step: str | int) -> str:
    """Return a step of a path as people write it: ``.name``, ``[0]``, ``["odd.name"]``."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.match(step) else f'["{step}"]'


def _is_inner(value: Any) -> bool:
    return bool(value) and isinstance(value, (dict, list))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value))


def parse_document(raw: bytes) -> Any:
    """Return an event as plain JSON; where a number of it is beyond all doubles, numbers as they are written."""
    if raw.count(b"[") + raw.count(b"{") >= _MAX_DEPTH:
        raw = _cut_deep_parts(raw)
    try:
        return _decode(raw)
    except msgspec.DecodeError:
        return json.loads(raw, parse_int=str, parse_float=str)


def _cut_deep_parts(raw: bytes) -> bytes:
    """Return JSON with a text in place of each part that is nested too deep."""
    pieces, depth, begin = [], 0, 0
    for bracket in _BRACKETS.finditer(raw):
        if bracket[0] in (b"[", b"{"):
            depth += 1
            if depth == _MAX_DEPTH:
                pieces += [raw[begin : bracket.start()], b'"..."']
        elif bracket[0] in (b"]", b"}"):
            if depth == _MAX_DEPTH:
                begin = bracket.end()
            depth -= 1
    return b"".join(pieces) + raw[begin:]
