"""The bytes of a segment: a header, and records that have a checksum each.

::

    segment  magic (8 bytes), length of the header (u32), header (msgpack), CRC-32 of the header (u32), records
    record   marker (4 bytes), position of its first event (u64), number of events (u32), length of the frame (u32),
             CRC-32 of all before and of the frame (u32), frame
    frame    zstandard, with the dictionary in the header: a msgpack array of events
    event    a msgpack array: time of receipt (microseconds since 1970 UTC), location, id of its run, JSON as it was masked

Numbers are little-endian. A record without events is the end mark of a segment: the log goes on in the next one.

A release reads the logs of all earlier releases, and of the next one: fields may be added at the end of an event, and keys to the
header, and readers skip those that they do not know. Any other change needs a new FORMAT_VERSION, which readers learn one release
before writers use it. A segment with a version above FORMAT_VERSION is rejected.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import msgspec

MAGIC = b"dhBlog\r\n"
FORMAT_VERSION = 1
"""The format that is written, and the newest one that is read."""
_MARKER = b"\xd5dhR"
_LENGTH = struct.Struct("<I")
_RECORD = struct.Struct("<4sQII")
RECORD_HEAD_BYTES = _RECORD.size + _LENGTH.size
MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_FRAME_BYTES = 256 * 1024 * 1024
"""Lengths beyond these are damaged."""


class SegmentHeader(msgspec.Struct):
    """The header of a segment.

    ``first``: the position of its first event. ``log_id``: random, the same in all segments of a log. ``created``: when the
    segment was made, in microseconds. ``dictionary``: of the compression.
    """

    version: int
    first: int
    log_id: bytes
    created: int
    dictionary: bytes


class LoggedEvent(msgspec.Struct, array_like=True, frozen=True):
    """An event as the log stores it.

    ``received``: time of receipt in microseconds since 1970 UTC. ``location``: where it comes from. ``run_key``: the id of its
    run, empty for an event without a run. ``event``: its JSON without secrets.
    """

    received: int
    location: str
    run_key: str
    event: bytes


class RecordHead(NamedTuple):
    """The head of a record: the position of its first event, the number of events, the length of the frame, the checksum."""

    first: int
    event_count: int
    frame_length: int
    checksum: int

    @property
    def is_end_mark(self) -> bool:
        """Whether the segment ends here, because a newer one goes on."""
        return not self.event_count

    @property
    def last(self) -> int:
        """The position of the last event; of an end mark, the position before it."""
        return self.first + self.event_count - 1


_encode = msgspec.msgpack.Encoder().encode
encode_events = _encode
decode_events = msgspec.msgpack.Decoder(list[LoggedEvent]).decode
_decode_header = msgspec.msgpack.Decoder(SegmentHeader).decode


def encode_header(header: SegmentHeader) -> bytes:
    """Return the beginning of a segment."""
    body = _encode(header)
    return MAGIC + _LENGTH.pack(len(body)) + body + _LENGTH.pack(zlib.crc32(body))


HEADER_PREFIX_BYTES = len(MAGIC) + _LENGTH.size
"""Bytes that :func:`header_bytes_after` needs."""


def header_bytes_after(prefix: bytes) -> int:
    """Return how many bytes of the header follow the first HEADER_PREFIX_BYTES; 0 if these are damaged."""
    if len(prefix) < HEADER_PREFIX_BYTES:
        return 0
    (length,) = _LENGTH.unpack_from(prefix, len(MAGIC))
    return int(length) + _LENGTH.size if length <= MAX_HEADER_BYTES else 0


def decode_header(data: bytes) -> tuple[SegmentHeader, int] | None:
    """Return the header at the beginning of a segment, and the offset of its first record; None if it is damaged."""
    body_start = HEADER_PREFIX_BYTES
    if len(data) < body_start or data[: len(MAGIC)] != MAGIC:
        return None
    (length,) = _LENGTH.unpack_from(data, len(MAGIC))
    end = body_start + length
    if len(data) < end + _LENGTH.size or zlib.crc32(data[body_start:end]) != _LENGTH.unpack_from(data, end)[0]:
        return None
    try:
        return _decode_header(data[body_start:end]), end + _LENGTH.size
    except msgspec.DecodeError:
        return None


def encode_record(first: int, count: int, frame: bytes) -> bytes:
    """Return a record; one with a ``count`` of 0 is an end mark."""
    head = _RECORD.pack(_MARKER, first, count, len(frame))
    return head + _LENGTH.pack(zlib.crc32(frame, zlib.crc32(head))) + frame


def decode_record_head(data: bytes) -> RecordHead | None:
    """Return the head in the first bytes of ``data``; None if they cannot be one."""
    if len(data) < RECORD_HEAD_BYTES:
        return None
    marker, first, count, frame_length = _RECORD.unpack_from(data)
    if marker != _MARKER or frame_length > MAX_FRAME_BYTES:
        return None
    return RecordHead(first, count, frame_length, _LENGTH.unpack_from(data, _RECORD.size)[0])


def is_intact(head: RecordHead, frame: bytes) -> bool:
    """Return whether a frame is complete, and has the checksum of its record."""
    if len(frame) != head.frame_length:
        return False
    packed = _RECORD.pack(_MARKER, head.first, head.event_count, head.frame_length)
    return zlib.crc32(frame, zlib.crc32(packed)) == head.checksum


def find_marker(data: bytes, start: int) -> int:
    """Return the offset of the next record that may begin at ``start`` or after it; -1 if there is none."""
    return data.find(_MARKER, start)
