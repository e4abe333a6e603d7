"""Events from files, folders, pipes and bytes: JSON objects, a JSON array, NDJSON, each also packed with gzip or Zstandard.

One line is in memory at a time for NDJSON; a JSON array or a pretty-printed object is read whole.
"""

from __future__ import annotations

import io
import sys
import zlib
from datetime import timezone, tzinfo
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage import containers
from dh_bridge.openlineage.arrays import split_array
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.folders import event_files
from dh_bridge.openlineage.magic_bytes import HEAD_BYTES, foreign_format
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.openlineage.repair import repair_json
from dh_bridge.openlineage.unpacking import MAGIC_BYTES, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_JSON_OPENINGS = (b"{", b"[", b'"')
_TEXT_REASON = "text, but no JSON, such as CSV (events are JSON objects: in an array, or one on each line)"
_BOM = b"\xef\xbb\xbf"
#: Bytes that are read at once. Events are longer than Python's buffer of 8 KiB: to put a line of 24 KiB together takes four times as long as to read it.
BUFFER = 256 * 1024
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def read_events(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    zone: tzinfo = timezone.utc,
    on_skipped_file: Callable[[Path], object] = lambda _: None,
    on_outside_link: Callable[[Path], object] = lambda _: None,
) -> Iterator[Event | DeadLetter]:
    """Yield each event of ``paths`` (files, folders, ``-`` for stdin) in order, or a DeadLetter for an event that cannot be used.

    The location is ``path:line`` for NDJSON, ``path[position]`` for an array, ``path`` for a file with one object.
    A file or folder that cannot be opened, or cannot be read to its end, is one DeadLetter; the other files are read.
    ``on_skipped_file`` is called with files of folders that are skipped (:mod:`folders <dh_bridge.openlineage.folders>`),
    ``on_outside_link`` with links that lead out of a folder, which are not followed.
    """
    for path in paths:
        if str(path) == "-":
            try:
                pipe = stdin or standard_input()
            except EventError as error:
                yield DeadLetter("stdin", str(error), b"")
            else:
                yield from _read_safely(pipe, "stdin", zone)
            continue
        for file in event_files(Path(path), on_skipped_file, on_outside_link=on_outside_link):
            try:
                stream = file.open("rb", buffering=BUFFER)
            except OSError as error:
                yield _unreadable_letter(str(file), error)
                continue
            with stream:
                yield from _read_safely(stream, str(file), zone)


def events_of(
    raw: bytes,
    location: str,
    zone: tzinfo = timezone.utc,
    *,
    max_events: int | None = None,
    check: Callable[[bytes], None] = lambda _: None,
) -> Iterator[Event | DeadLetter]:
    """Yield the events in ``raw``: one object, a JSON array, or one per line; raise an EventError if there are more than ``max_events``.

    Without a limit, events inside :mod:`other documents <dh_bridge.openlineage.containers>` are found too. So a dead letter,
    as :meth:`DeadLetter.row` writes it, can be read again after the event was corrected or the bridge was updated. ``check`` gets
    the bytes of every event before the first one is parsed; its exceptions are not caught.
    """
    raw = raw.removeprefix(_BOM)
    if raw[:1] == b"[":
        try:
            raw_events = split_array(raw, location, max_events)
        except (msgspec.DecodeError, RecursionError) as error:
            yield DeadLetter(location, f"not a JSON array of events: {error}", raw)
            return
        for raw_event in raw_events:
            check(bytes(raw_event))
        for position, raw_event in enumerate(raw_events):
            yield from _events_in(bytes(raw_event), f"{location}[{position}]", zone, can_unwrap=max_events is None)
    elif max_events is not None and (lines := _numbered_lines(raw, location, max_events)):
        for _, line in lines:
            check(line)
        for number, line in lines:
            yield from _events_in(line, f"{location}:{number}", zone, can_unwrap=False)
    else:
        check(raw)
        yield from _events_in(raw, location, zone, can_unwrap=max_events is None)


def _events_in(raw: bytes, location: str, zone: tzinfo, *, can_unwrap: bool) -> Iterator[Event | DeadLetter]:
    try:
        yield parse_event(raw, location, zone)
    except EventError as error:
        if can_unwrap and (raw_letter := containers.unwrap_dead_letter(raw)) is not None:
            yield from events_of(raw_letter, location, zone)
        elif can_unwrap and (page := containers.unwrap_page(raw)) is not None:
            for position, raw_event in enumerate(page):
                yield from _events_in(bytes(raw_event), f"{location}.events[{position}]", zone, can_unwrap=False)
        elif can_unwrap and (documents := containers.split_documents(raw)):
            for position, document in enumerate(documents):
                yield from events_of(document, f"{location}[{position}]", zone)
        else:
            yield DeadLetter(location, str(error), raw)


def _numbered_lines(raw: bytes, location: str, max_lines: int) -> list[tuple[int, bytes]]:
    """Return the lines of ``raw``, numbered, where the first is an object and others follow; an EventError when there are too many."""
    end = raw.find(b"\n")
    if end < 0 or not _is_object_line((1, raw[:end])):
        return []
    if raw.count(b"\n") >= max_lines:
        raise EventError(f"more than {max_lines:,} lines", location=location, remedy="send fewer at once")
    lines = ((number, line.strip()) for number, line in enumerate(raw.split(b"\n"), 1))
    return [(number, line) for number, line in lines if line]


def standard_input() -> BinaryIO:
    """Return this process's standard input; an EventError if it has none."""
    if sys.stdin is None:
        raise EventError("standard input is closed", location="stdin", remedy="pass a file")
    return sys.stdin.buffer


def _read_safely(stream: BinaryIO, location: str, zone: tzinfo) -> Iterator[Event | DeadLetter]:
    try:
        yield from _read_stream(stream, location, zone)
    except (OSError, EOFError, zlib.error) as error:  # a packed file that breaks off, a pipe that does
        yield _unreadable_letter(location, error)


def _unreadable_letter(location: str, error: Exception) -> DeadLetter:
    return DeadLetter(location, f"cannot read the file: {error}", b"")


def _read_stream(stream: BinaryIO, location: str, zone: tzinfo) -> Iterator[Event | DeadLetter]:
    buffered = cast(
        "io.BufferedReader",
        stream if hasattr(stream, "peek") else io.BufferedReader(cast("io.RawIOBase", stream), BUFFER),
    )
    is_file = stream.seekable()
    content = unpacked(buffered, buffered.peek(MAGIC_BYTES)[:MAGIC_BYTES])
    if content is not None:
        is_file = False
        buffered = io.BufferedReader(content, BUFFER)
    reason = foreign_format(buffered.peek(HEAD_BYTES)[:HEAD_BYTES])
    if reason is None and is_file and not _has_json_line(buffered):
        reason = _TEXT_REASON
    if reason:
        yield DeadLetter(location, reason, b"")
        return
    lines: Iterator[tuple[int, bytes]] = enumerate(buffered, 1)
    for number, line in lines:
        first = line.removeprefix(_BOM).strip()
        if not first:
            continue
        if _opens_document(first):
            document_lines, is_complete = _read_document_lines(lines, array=first[:1] == b"[")
            if is_complete:
                document = first + b"\n" + b"".join(next_line for _, next_line in document_lines).rstrip()
                if (
                    first[:1] == b"["
                    or _is_json(document)
                    or containers.split_documents(document)
                    or not any(map(_is_object_line, document_lines))
                ):
                    yield from events_of(document, location, zone)
                    return
            lines = chain(document_lines, lines)  # one event a line, the first of them broken
        yield from events_of(first, f"{location}:{number}", zone)
        for next_number, next_line in lines:
            if stripped := next_line.strip():
                yield from events_of(stripped, f"{location}:{next_number}", zone)


def _has_json_line(stream: io.BufferedReader) -> bool:
    """Return whether a line of a file begins like JSON, or the file has no text; the file is at its beginning afterwards.

    A log with events between its lines has one, a CSV file has none.
    """
    if stream.peek(HEAD_BYTES).removeprefix(_BOM).lstrip()[:1] in _JSON_OPENINGS:
        return True  # without a look at the whole line: an array may be one line
    has_text = False
    for line in stream:
        text = line.removeprefix(_BOM).strip()
        has_text = has_text or bool(text)
        if text[:1] in _JSON_OPENINGS:
            stream.seek(0)
            return True
    stream.seek(0)
    return not has_text


def _opens_document(line: bytes) -> bool:
    """Return whether this first line is only the beginning of a JSON document of several lines."""
    if line[-1:] in (b"}", b"]") and line[:1] in (b"{", b"["):
        return not _is_json(line) and line[:1] == b"["
    return line[:1] in (b"{", b"[")


def _is_json(text: bytes) -> bool:
    try:
        _decode_raw(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        repaired = repair_json(text)
        return repaired is not None and _is_json(repaired)
    return True


def _read_document_lines(lines: Iterator[tuple[int, bytes]], *, array: bool) -> tuple[list[tuple[int, bytes]], bool]:
    """Return the rest of the document that the previous line began, and whether it is complete.

    If a line is an event by itself, the previous line was not a document: an endless stream is then not read to its end.
    """
    document_lines = []
    for line in lines:
        document_lines.append(line)
        if not array and b'"eventTime"' in line[1] and _is_object_line(line):
            return document_lines, False
    return document_lines, True


def _is_object_line(line: tuple[int, bytes]) -> bool:
    text = line[1].strip()
    return text[:1] == b"{" and text[-1:] == b"}" and _is_json(text)
