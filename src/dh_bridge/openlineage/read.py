"""Events from files, folders, pipes and bytes: JSON objects, a JSON array, NDJSON, each also gzipped.

One line is in memory at a time for NDJSON; a JSON array or a pretty-printed object is read whole.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from datetime import timezone, tzinfo
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage import containers
from dh_bridge.openlineage.arrays import members
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.folders import event_files
from dh_bridge.openlineage.magic_bytes import HEAD, strange
from dh_bridge.openlineage.parsing import parse
from dh_bridge.openlineage.repair import mended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
#: Bytes that are read at once. Events are longer than Python's buffer of 8 KiB: to put a line of 24 KiB together takes four times as long as to read it.
BUFFER = 256 * 1024
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def read_events(  # noqa: PLR0913 - what a caller may choose
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    zone: tzinfo = timezone.utc,
    passed: Callable[[Path], object] = lambda _: None,
    follow_links: bool = False,
    outside: Callable[[Path], object] = lambda _: None,
) -> Iterator[Event | DeadLetter]:
    """Yield each event of ``paths`` (files, folders, ``-`` for stdin) in order, or a DeadLetter where one cannot be used.

    ``place`` is ``path:line`` for NDJSON, ``path[position]`` for an array, ``path`` for a file of one object.
    A file or folder that cannot be opened, or not be read to its end, is one DeadLetter, and the others go on. ``passed`` is told
    of the files of folders that are passed over (:mod:`folders <dh_bridge.openlineage.folders>`), ``outside`` of links that lead
    out of a folder, which are followed only with ``follow_links``.
    """
    for path in paths:
        if str(path) == "-":
            try:
                pipe = stdin or standard_input()
            except EventError as error:
                yield DeadLetter("stdin", str(error), b"")
            else:
                yield from _readable(pipe, "stdin", zone)
            continue
        for file in event_files(Path(path), passed, follow_links=follow_links, outside=outside):
            try:
                stream = file.open("rb", buffering=BUFFER)
            except OSError as error:
                yield _unreadable(str(file), error)
                continue
            with stream:
                yield from _readable(stream, str(file), zone)


def events_of(
    raw: bytes,
    place: str,
    zone: tzinfo = timezone.utc,
    *,
    most: int | None = None,
    check: Callable[[bytes], None] = lambda _: None,
) -> Iterator[Event | DeadLetter]:
    """Yield the event in ``raw``, or each of them: of a JSON array, or one a line; an EventError when there are more than ``most``.

    Who sets no bound has also what is found :mod:`within <dh_bridge.openlineage.containers>` other things. A dead letter, as
    :meth:`DeadLetter.row` writes it, can so be told again once the event is mended, or we are. ``check`` gets the bytes of every event
    before the first one is parsed; what it raises is raised here.
    """
    raw = raw.removeprefix(_BOM)
    if raw[:1] == b"[":
        try:
            found = members(raw, place, most)
        except (msgspec.DecodeError, RecursionError) as error:
            yield DeadLetter(place, f"not a JSON array of events: {error}", raw)
            return
        for member in found:
            check(bytes(member))
        for position, member in enumerate(found):
            yield from _one(bytes(member), f"{place}[{position}]", zone, opened=most is None)
    elif most is not None and (lines := _lines(raw, place, most)):
        for _, line in lines:
            check(line)
        for number, line in lines:
            yield from _one(line, f"{place}:{number}", zone, opened=False)
    else:
        check(raw)
        yield from _one(raw, place, zone, opened=most is None)


def _one(raw: bytes, place: str, zone: tzinfo, *, opened: bool) -> Iterator[Event | DeadLetter]:
    try:
        yield parse(raw, place, zone)
    except EventError as error:
        if opened and (letter := containers.letter(raw)) is not None:
            yield from events_of(letter, place, zone)
        elif opened and (page := containers.page(raw)) is not None:
            for position, member in enumerate(page):
                yield from _one(bytes(member), f"{place}.events[{position}]", zone, opened=False)
        elif opened and (documents := containers.documents(raw)):
            for position, document in enumerate(documents):
                yield from events_of(document, f"{place}[{position}]", zone)
        else:
            yield DeadLetter(place, str(error), raw)


def _lines(raw: bytes, place: str, most: int) -> list[tuple[int, bytes]]:
    """Return the lines of ``raw``, numbered, where the first is an object and others follow; an EventError when there are too many."""
    end = raw.find(b"\n")
    if end < 0 or not _is_object_line((1, raw[:end])):
        return []
    if raw.count(b"\n") >= most:
        raise EventError(f"more than {most:,} lines", where=place, now="send fewer at a time")
    lines = ((number, line.strip()) for number, line in enumerate(raw.split(b"\n"), 1))
    return [(number, line) for number, line in lines if line]


def standard_input() -> BinaryIO:
    """Return this process's standard input; an EventError where it has none."""
    if sys.stdin is None:
        raise EventError("it is closed", where="stdin", now="name a file")
    return sys.stdin.buffer


def _readable(stream: BinaryIO, place: str, zone: tzinfo) -> Iterator[Event | DeadLetter]:
    try:
        yield from _stream(stream, place, zone)
    except (OSError, EOFError, zlib.error) as error:  # a gzip that breaks off, a pipe that does
        yield _unreadable(place, error)


def _unreadable(place: str, error: Exception) -> DeadLetter:
    return DeadLetter(place, f"cannot be read: {error}", b"")


def _stream(stream: BinaryIO, place: str, zone: tzinfo) -> Iterator[Event | DeadLetter]:
    buffered = stream if hasattr(stream, "peek") else io.BufferedReader(cast("io.RawIOBase", stream), BUFFER)
    if buffered.peek(2)[:2] == _GZIP:
        buffered = io.BufferedReader(_Unzipped(buffered), BUFFER)
    if reason := strange(buffered.peek(HEAD)[:HEAD]):
        yield DeadLetter(place, reason, b"")
        return
    lines: Iterator[tuple[int, bytes]] = enumerate(buffered, 1)
    for number, line in lines:
        first = line.removeprefix(_BOM).strip()
        if not first:
            continue
        if _opens_document(first):
            rest, ended = _rest(lines, array=first[:1] == b"[")
            if ended:
                whole = first + b"\n" + b"".join(after for _, after in rest).rstrip()
                if (
                    first[:1] == b"["
                    or _is_json(whole)
                    or containers.documents(whole)
                    or not any(map(_is_object_line, rest))
                ):
                    yield from events_of(whole, place, zone)
                    return
            lines = chain(rest, lines)  # one event a line, the first of them broken
        yield from events_of(first, f"{place}:{number}", zone)
        for later, after in lines:
            if stripped := after.strip():
                yield from events_of(stripped, f"{place}:{later}", zone)


class _Unzipped(io.RawIOBase):
    """A gzipped stream, unzipped as far as it is whole: of one that breaks off nothing is lost that stands before."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=stream)

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, room: Any) -> int:
        """Fill ``room`` with what can be had at once; 0 at the end."""
        found = self._file.read1(len(room))
        room[: len(found)] = found
        return len(found)


def _opens_document(line: bytes) -> bool:
    """Return whether this first line only begins a JSON document that goes on behind it."""
    if line[-1:] in (b"}", b"]") and line[:1] in (b"{", b"["):
        return not _is_json(line) and line[:1] == b"["
    return line[:1] in (b"{", b"[")


def _is_json(text: bytes) -> bool:
    try:
        _decode_raw(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        sound = mended(text)
        return sound is not None and _is_json(sound)
    return True


def _rest(lines: Iterator[tuple[int, bytes]], *, array: bool) -> tuple[list[tuple[int, bytes]], bool]:
    """Return what may belong to the document that the line before began, and whether that is all there is.

    An event on a line of its own says that it was no document: a stream without end is then not read to its end.
    """
    rest = []
    for line in lines:
        rest.append(line)
        if not array and b'"eventTime"' in line[1] and _is_object_line(line):
            return rest, False
    return rest, True


def _is_object_line(line: tuple[int, bytes]) -> bool:
    text = line[1].strip()
    return text[:1] == b"{" and text[-1:] == b"}" and _is_json(text)
