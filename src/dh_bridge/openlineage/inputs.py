"""Events as Python callers give them: texts, dicts, openlineage-python's objects, paths, and whatever yields those."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.json_safe import make_encodable
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.read import events_of, read_events

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMS = "pass dicts, JSON as str or bytes, objects of openlineage-python, paths, or a list of these"
_MAX_PATH_LENGTH = 4096
_encode = msgspec.json.Encoder().encode


def iter_events(events: Any, zone: tzinfo = timezone.utc) -> Iterator[Event | DeadLetter]:
    """Yield each of ``events``, or a DeadLetter for an event that cannot be used; a TypeError if ``events`` has another type."""
    if not isinstance(events, (Event, DeadLetter, os.PathLike)) and not _has_any(events, "eventTime", "__iter__"):
        raise TypeError(f"unsupported type of events {type(events).__name__}: {_FORMS}")
    return _iter_items(events, "event", zone)


def _has_any(item: Any, *names: str) -> bool:
    return any(hasattr(item, name) for name in names)


def _iter_items(item: Any, location: str, zone: tzinfo) -> Iterator[Event | DeadLetter]:
    if isinstance(item, (Event, DeadLetter)):
        yield item
    elif isinstance(item, os.PathLike):
        yield from read_events([os.fsdecode(item)], zone=zone)
    elif isinstance(item, str) and _is_file_name(item):
        yield DeadLetter(
            location, f"{location}: this is the name of a file, not an event (pass Path({item!r}))", _repr_bytes(item)
        )
    elif isinstance(item, (str, bytes, bytearray, memoryview)):
        raw = item.encode("utf-8", "backslashreplace") if isinstance(item, str) else bytes(item)
        yield from events_of(raw.strip(), location, zone)
    elif isinstance(item, Mapping) or hasattr(item, "eventTime"):
        try:
            raw = _encode_dict(dict(item)) if isinstance(item, Mapping) else _serialize(item)
        except (TypeError, ValueError, RecursionError) as error:  # an object that no JSON holds
            yield DeadLetter(location, f"{location}: not JSON: {error}", _repr_bytes(item))
        else:
            yield from events_of(raw, location, zone)
    elif hasattr(item, "__iter__"):
        for position, member in enumerate(item):
            yield from _iter_items(member, f"{location}[{position}]", zone)
    else:
        yield DeadLetter(location, f"{location}: {type(item).__name__} is not an event ({_FORMS})", _repr_bytes(item))


def _is_file_name(text: str) -> bool:
    """Whether a text, which would be no JSON, names a file or folder that is there, or ends as files of events do."""
    if len(text) >= _MAX_PATH_LENGTH or text.lstrip().startswith(("{", "[")):
        return False
    return text.lower().endswith(SUFFIXES) or os.path.exists(text)  # noqa: PTH110 - a text that is no path is none


def _repr_bytes(item: Any) -> bytes:
    try:
        text = repr(item)
    except Exception:  # noqa: BLE001 - it is too deep, or a mistake of the class: the others are events
        text = f"<{type(item).__name__}>"
    return text.encode("utf-8", "backslashreplace")


def _encode_dict(event: dict[str, Any]) -> bytes:
    try:
        return _encode(event)
    except UnicodeEncodeError:
        return _encode(make_encodable(event))


def _serialize(event: Any) -> bytes:
    from openlineage.client.serde import Serde  # noqa: PLC0415 - only those who hold such objects have the package

    return Serde.to_json(event).encode()
