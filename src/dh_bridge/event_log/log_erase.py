"""Erases events of a log: segments are written again without them, and all other events keep their positions."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import SinkError
from dh_bridge.event_log.compression import FrameCodec
from dh_bridge.event_log.folder_lock import folder_lock
from dh_bridge.event_log.format import LoggedEvent, encode_events, encode_record
from dh_bridge.event_log.segment import SegmentReader, list_segments
from dh_bridge.event_log.segment_writer import SegmentWriter
from dh_bridge.private_files import DRAFT_SUFFIX, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dh_bridge.event_log.segment import Record

_decode_raw = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_MICROS = 1_000_000


def erase_events(folder: Path, is_erased: Callable[[LoggedEvent], bool]) -> int:
    """Erase events of a log, segment by segment. If it is interrupted, call it again.

    Each segment is replaced by a file of the same name as a whole. Damaged bytes are left out. Other processes may append
    meanwhile: they wait for the lock of the log.

    Args:
        folder: the folder of the log.
        is_erased: whether an event is erased.

    Returns:
        The number of erased events.

    Raises:
        SinkError: A segment cannot be read or written.
    """
    try:
        with folder_lock(folder):
            for draft in folder.glob(f"*{DRAFT_SUFFIX}"):  # of a call that was interrupted
                draft.unlink()
            _close_last_segment(folder)
            erased = 0
            for path in list_segments(folder)[:-1]:
                erased += _rewrite(path, is_erased)
            return erased
    except OSError as error:
        raise SinkError(f"cannot write the event log: {error.strerror or error}", location=str(folder)) from error


def _close_last_segment(folder: Path) -> None:
    """Begin a new segment, whose name has the next position: no position is used twice, even if the last event is erased."""
    writer = SegmentWriter(folder)
    now = int(time.time() * _MICROS)
    try:
        writer.refresh(now)
        if writer.next_position > writer.header.first:
            writer.begin_segment(now)
    finally:
        writer.close()


def _rewrite(path: Path, is_erased: Callable[[LoggedEvent], bool]) -> int:
    """Write a segment again if it has erased events or damaged bytes; return the number of erased events."""
    data = path.read_bytes()
    reader = SegmentReader(path)
    try:
        codec = FrameCodec(reader.header.dictionary)
        parts, end, erased = [data[: reader.first_offset]], reader.first_offset, 0
        is_changed = False
        for record in reader.records():
            start = record.end - record.size
            flags = [] if record.head.is_end_mark else [is_erased(event) for event in reader.events_of(record)]
            is_changed = is_changed or start != end or any(flags)
            erased += sum(flags)
            parts += _kept_records(record, flags, codec) if any(flags) else [data[start : record.end]]
            end = record.end
    finally:
        reader.close()
    if is_changed or end != len(data):
        with replacing(path) as file:
            file.writelines(parts)
    return erased


def _kept_records(record: Record, flags: list[bool], codec: FrameCodec) -> Iterator[bytes]:
    """Yield a record for each group of remaining events that follow each other; fields of newer versions stay."""
    events = _decode_raw(codec.decompress(record.frame))
    for is_erased, group in groupby(enumerate(flags), key=lambda item: item[1]):
        numbers = [number for number, _ in group]
        if not is_erased:
            frame = codec.compress(encode_events([events[number] for number in numbers]))
            yield encode_record(record.head.first + numbers[0], len(numbers), frame)
