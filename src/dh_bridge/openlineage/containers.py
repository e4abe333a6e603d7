"""Events inside other documents: a dead letter, a page of Marquez' API, or concatenated documents, as ``jq .`` writes them."""

from __future__ import annotations

import json
import re

import msgspec

_match_separator = re.compile(r"[\s,]*").match
_decode_document = json.JSONDecoder().raw_decode


class _DeadLetterRow(msgspec.Struct, forbid_unknown_fields=True):
    """A dead letter as it is written."""

    place: str
    reason: str
    event: str


class _MarquezPage(msgspec.Struct, forbid_unknown_fields=True):
    """What ``GET /api/v1/events/lineage`` of Marquez answers."""

    events: list[msgspec.Raw]
    total_count: int | None = msgspec.field(default=None, name="totalCount")


_decode_letter = msgspec.json.Decoder(_DeadLetterRow).decode
_decode_page = msgspec.json.Decoder(_MarquezPage).decode


def unwrap_dead_letter(raw: bytes) -> bytes | None:
    """Return the event in the dead letter ``raw``, None if it is not a dead letter."""
    try:
        return _decode_letter(raw).event.encode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def unwrap_page(raw: bytes) -> list[msgspec.Raw] | None:
    """Return the members of the page ``raw``, None if it is not a page."""
    try:
        return _decode_page(raw).events
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def split_documents(raw: bytes) -> list[bytes]:
    """Return the concatenated JSON documents in ``raw``, also with commas between them; none if they are not objects.

    If a document is broken, it and all following text are the last part. If only one document precedes it, ``raw`` is not split.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return []
    parts, position = [], 0
    while text.startswith("{", position):
        try:
            _, end = _decode_document(text, position)
        except (ValueError, RecursionError):
            break
        parts.append(text[position:end].encode())
        position = _skip_separator(text, end)
    if position < len(text):
        return [*parts, text[position:].encode()] if len(parts) > 1 else []
    return parts if parts != [raw] else []


def _skip_separator(text: str, position: int) -> int:
    match = _match_separator(text, position)
    return match.end() if match else position
