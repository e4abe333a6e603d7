"""The file sink: NDJSON, a line for each proposal, or the JSON array that ``datahub ingest``'s file source reads.

NDJSON is appended to, batch by batch: all of a batch, or nothing of it when the disk is full. The array is streamed into a
hidden file beside its place and takes the place when the sink is closed: a reader sees the old file or the whole new one.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from dh_bridge import private_files
from dh_bridge.datahub.creates import IF_ABSENT, LEFT_OUT, drops_creates_silently
from dh_bridge.datahub.generic_aspect import aspect_text, keyed_patches
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import JSON_ARRAY, SINKS, Closing, Delivery, SinkKind, split_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions

_STDOUT = "-"
_ENDINGS = {".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json"}
_FORMATS = ("ndjson", "json")

_encode = msgspec.json.encode


def array_item(proposal: Proposal, metadata: dict[str, Any] | None = None, *, keyed: bool) -> bytes:
    """Return the proposal as an item of the file source's array; a PATCH as text with its content type.

    ``metadata`` is its systemMetadata; ``keyed`` as :func:`dh_bridge.datahub.generic_aspect.keyed_patches` says of the server.
    """
    said = {} if metadata is None else {"systemMetadata": metadata}
    if proposal.change_type == "CREATE":
        said["headers"] = IF_ABSENT
    if proposal.change_type != "PATCH":
        return _encode(proposal)[:-1] + b"," + _encode(said)[1:] if said else _encode(proposal)
    text, kind = aspect_text(proposal, keyed=keyed)
    return _encode(
        {
            "entityType": proposal.entity_type,
            "entityUrn": proposal.entity_urn,
            "changeType": proposal.change_type,
            "aspectName": proposal.aspect_name,
            "aspect": {"value": text.decode("ascii"), "contentType": kind},
            **said,
        }
    )


class _Stream(Closing):
    """What both formats share: a file or standard output, and errors that name the place.

    A file has no buffer: what could not be written would stay in it, and come out beside what is sent again.
    """

    name = "file"
    kind: SinkKind = SINKS[name]

    def __init__(self, place: str, written: str, mode: str) -> None:
        self._place = place
        self._closed = False
        if place == _STDOUT and sys.stdout is None:
            raise SinkError("stdout is closed", where=f"file:{place}")
        try:
            self._file: IO[bytes] = sys.stdout.buffer if place == _STDOUT else private_files.opened(written, mode)
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> SinkError:
        return SinkError(f"cannot be written: {error.strerror or error}", where=f"file:{self._place}")

    def _write(self, data: bytes) -> None:
        if self._closed:
            raise SinkError("is closed", where=f"file:{self._place}")
        try:
            if self._place == _STDOUT:
                self._file.write(data)
                self._file.flush()
            else:
                self._append(data)
        except OSError as error:
            raise self._error(error) from error

    def _append(self, data: bytes) -> None:
        """Write all of it; an OSError means that a regular file is as it was."""
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                self._take_back(len(data) - len(left))
            raise

    def _take_back(self, size: int) -> None:
        """Cut off what was written last, unless somebody else wrote behind it."""
        found, end = os.fstat(self._file.fileno()), self._file.tell()
        if size and stat.S_ISREG(found.st_mode) and found.st_size == end:
            self._file.truncate(end - size)
            self._file.seek(end - size)

    def _shut(self) -> None:
        """Close the file; standard output belongs to the program and stays open."""
        self._closed = True
        if self._place != _STDOUT:
            try:
                self._file.close()
            except OSError as error:
                raise self._error(error) from error


class NdjsonSink(_Stream):
    """Appends a line for each proposal, batch by batch."""

    def __init__(self, place: str) -> None:
        super().__init__(place, place, "ab")
        if place == _STDOUT:
            return
        try:
            if self._file.seekable() and self._file.tell() and not _ends_with_newline(place):
                self._append(b"\n")  # a writer that died in the middle of a line must not spoil ours
        except OSError as error:
            self._file.close()
            raise self._error(error) from error

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Append a batch."""
        self._write(b"".join(map(ndjson_line, proposals)))
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Close the file."""
        self._shut()


class ArraySink(_Stream):
    """Streams one JSON array; the file is there, whole, after close. Left by an error, it leaves an older file alone.

    ``left_out`` counts the CREATE proposals that a server of the profile would report as errors.
    """

    kind = JSON_ARRAY

    def __init__(self, place: str, options: SinkOptions | None = None) -> None:
        self._options = options
        self._keyed = keyed_patches(None if options is None else options.profile)
        self._creates = drops_creates_silently(None if options is None else options.profile)
        self.left_out: Counter[str] = Counter()
        path = Path(place)
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        super().__init__(place, str(self._partial), "wb")
        self._start = b"[\n"

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Write a batch of items."""
        metadata = None if self._options is None else self._options.system_metadata()
        if not self._creates:
            kept = [proposal for proposal in proposals if proposal.change_type != "CREATE"]
            if len(kept) < len(proposals):
                self.left_out[LEFT_OUT] += len(proposals) - len(kept)
                proposals = kept
        version = None if self._options is None else self._options.profile
        taken, failed = split_unreadable(proposals, version)
        items = b",\n".join([array_item(proposal, metadata, keyed=self._keyed) for proposal in taken])
        if items:
            self._write(self._start + items)
            self._start = b",\n"
        elif self._closed:
            self._write(b"")
        return Delivery(len(taken), failed)

    def close(self) -> None:
        """End the array and move it into its place."""
        if self._closed:
            return
        self._write(b"\n]\n" if self._start == b",\n" else b"[]\n")
        try:
            if self._place != _STDOUT:
                os.fsync(self._file.fileno())
            self._shut()
            if self._place != _STDOUT:
                private_files.copy_mode(self._place, self._partial)
                self._partial.replace(self._place)
        except OSError as error:
            raise self._error(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:  # what is not in its place by now is of no use
            with suppress(SinkError):
                self._shut()
            with suppress(OSError):
                self._partial.unlink(missing_ok=True)


def _ends_with_newline(place: str) -> bool:
    with Path(place).open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def open_target(place: str, options: SinkOptions) -> NdjsonSink | ArraySink:
    """Return the sink of ``file:PATH``: the format named, or the one that the ending tells; ``-`` is NDJSON."""
    if not place:
        raise SettingsError(
            "file: needs a path", where="--to", now="write --to file:PATH, or file:- for standard output"
        )
    chosen = options.file_format or ("ndjson" if place == _STDOUT else _ENDINGS.get(Path(place).suffix.lower()))
    if chosen is None:
        raise SettingsError(
            f"the ending of {place!r} tells no format",
            where="--to",
            now=f"end it in {', '.join(_ENDINGS)} or name a format",
        )
    if chosen not in _FORMATS:
        raise SettingsError(f"{chosen!r} is no file format", where="--format", now=f"use one of {', '.join(_FORMATS)}")
    return ArraySink(place, options) if chosen == "json" else NdjsonSink(place)
