"""Small shapes that many aspects share."""

from __future__ import annotations

from hashlib import md5
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

#: Avro default of every timeseries aspect; non-null defaults are always written.
FULL_TABLE = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}


def millis(micros: int) -> int:
    """Return whole milliseconds, floored."""
    return micros // 1000


def audit_stamp(micros: int, actor: str) -> dict[str, Any]:
    """Return an AuditStamp."""
    return {"time": micros // 1000, "actor": actor}


def message_id(urn: str, run: str | None, timestamp: int) -> str:
    """Return the id that makes replays of a timeseries point overwrite it in place."""
    # datahub_guid{runId, timestampMillis, urn}, its JSON written by hand: two of these are made for each small event.
    run_member = f'"runId":{_quoted(run)},' if run is not None else ""
    text = f'{{{run_member}"timestampMillis":{timestamp},"urn":{_quoted(urn)}}}'
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def escape_segment(segment: str) -> str:
    """Return one segment of a JSON-patch path, escaped."""
    if "~" in segment:
        segment = segment.replace("~", "~0")
    return segment.replace("/", "~1") if "/" in segment else segment


def add_operation(path: str, value: Any) -> dict[str, Any]:
    """Return a JSON-patch operation that adds."""
    return {"op": "add", "path": path, "value": value}


def remove_operation(path: str) -> dict[str, Any]:
    """Return a JSON-patch operation that removes."""
    return {"op": "remove", "path": path}
