"""Events as Python callers give them: texts, dicts, openlineage-python's objects, paths, and whatever yields those."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.json_safe import encodable
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.read import events_of, read_events

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMS = "give dicts, JSON texts or bytes, openlineage-python's objects, paths, or a list of those"
_LONGEST_PATH = 4096
_encode = msgspec.json.Encoder().encode


def given_events(
    events: Any, zone: tzinfo = timezone.utc, *, follow_links: bool = False
) -> Iterator[Event | DeadLetter]:
    """Yield each of ``events``, or a DeadLetter where one cannot be used; a TypeError when the whole is nothing of that kind."""
    if not isinstance(events, (Event, DeadLetter, os.PathLike)) and not _has(events, "eventTime", "__iter__"):
        raise TypeError(f"{type(events).__name__} holds no events: {_FORMS}")
    return _given(events, "event", zone, follow_links=follow_links)


def _has(one: Any, *names: str) -> bool:
    return any(hasattr(one, name) for name in names)


def _given(one: Any, place: str, zone: tzinfo, *, follow_links: bool) -> Iterator[Event | DeadLetter]:
    if isinstance(one, (Event, DeadLetter)):
        yield one
    elif isinstance(one, os.PathLike):
        yield from read_events([os.fsdecode(one)], zone=zone, follow_links=follow_links)
    elif isinstance(one, str) and _is_a_file(one):
        yield DeadLetter(place, f"{place}: is the name of a file, not an event (give Path({one!r}))", _shown(one))
    elif isinstance(one, (str, bytes, bytearray, memoryview)):
        raw = one.encode("utf-8", "backslashreplace") if isinstance(one, str) else bytes(one)
        yield from events_of(raw.strip(), place, zone)
    elif isinstance(one, Mapping) or hasattr(one, "eventTime"):
        try:
            raw = _encoded(dict(one)) if isinstance(one, Mapping) else _serialized(one)
        except (TypeError, ValueError, RecursionError) as error:  # an object that no JSON holds
            yield DeadLetter(place, f"{place}: not JSON: {error}", _shown(one))
        else:
            yield from events_of(raw, place, zone)
    elif hasattr(one, "__iter__"):
        for position, member in enumerate(one):
            yield from _given(member, f"{place}[{position}]", zone, follow_links=follow_links)
    else:
        yield DeadLetter(place, f"{place}: {type(one).__name__} is no event ({_FORMS})", _shown(one))


def _is_a_file(text: str) -> bool:
    """Whether a text, which would be no JSON, names a file or folder that is there, or ends as files of events do."""
    if len(text) >= _LONGEST_PATH or text.lstrip().startswith(("{", "[")):
        return False
    return text.lower().endswith(SUFFIXES) or os.path.exists(text)  # noqa: PTH110 - a text that is no path is none


def _shown(one: Any) -> bytes:
    try:
        found = repr(one)
    except Exception:  # noqa: BLE001 - it is too deep, or a mistake of the class: the others are events
        found = f"<{type(one).__name__}>"
    return found.encode("utf-8", "backslashreplace")


def _encoded(event: dict[str, Any]) -> bytes:
    try:
        return _encode(event)
    except UnicodeEncodeError:
        return _encode(encodable(event))


def _serialized(event: Any) -> bytes:
    from openlineage.client.serde import Serde  # noqa: PLC0415 - only those who hold such objects have the package

    return Serde.to_json(event).encode()
