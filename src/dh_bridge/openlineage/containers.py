"""Events within what is no event: a dead letter, a page of Marquez' API, documents one behind the other as ``jq .`` writes them."""

from __future__ import annotations

import json
import re

import msgspec

_between = re.compile(r"[\s,]*").match
_document = json.JSONDecoder().raw_decode


class _Letter(msgspec.Struct, forbid_unknown_fields=True):
    """A dead letter as it is written."""

    place: str
    reason: str
    event: str


class _Page(msgspec.Struct, forbid_unknown_fields=True):
    """What ``GET /api/v1/events/lineage`` of Marquez answers."""

    events: list[msgspec.Raw]
    total_count: int | None = msgspec.field(default=None, name="totalCount")


_decode_letter = msgspec.json.Decoder(_Letter).decode
_decode_page = msgspec.json.Decoder(_Page).decode


def letter(raw: bytes) -> bytes | None:
    """Return what the dead letter ``raw`` holds, None where it is none."""
    try:
        return _decode_letter(raw).event.encode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def page(raw: bytes) -> list[msgspec.Raw] | None:
    """Return the members of the page ``raw``, None where it is none."""
    try:
        return _decode_page(raw).events
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def documents(raw: bytes) -> list[bytes]:
    """Return the JSON documents that stand in ``raw`` one behind the other, perhaps with commas between; none where that are not objects.

    What is broken, and all behind it, is the last of them; behind a single one it leaves ``raw`` as it is.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return []
    found, at = [], 0
    while text.startswith("{", at):
        try:
            _, end = _document(text, at)
        except (ValueError, RecursionError):
            break
        found.append(text[at:end].encode())
        at = _end(text, end)
    if at < len(text):
        return [*found, text[at:].encode()] if len(found) > 1 else []
    return found if found != [raw] else []


def _end(text: str, at: int) -> int:
    parted = _between(text, at)
    return parted.end() if parted else at
