"""The file sink: NDJSON, one line for each proposal, or the JSON array that ``datahub ingest``'s file source reads.

NDJSON is appended batch by batch: a whole batch, or nothing of it if the disk is full. The array is streamed into a hidden file
beside the target and replaces the target when the sink is closed: a reader sees the old file or the whole new one.
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
from dh_bridge.sinks.base import JSON_ARRAY_KIND, SINK_KINDS, Closable, Delivery, SinkKind, split_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions

_STDOUT = "-"
_FORMATS_BY_SUFFIX = {".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json"}
_FORMATS = ("ndjson", "json")

_encode = msgspec.json.encode


def array_item(proposal: Proposal, metadata: dict[str, Any] | None = None, *, keyed: bool) -> bytes:
    """Return the proposal as an item of the file source's array; a PATCH as text with its content type.

    ``metadata`` is its systemMetadata; ``keyed`` as :func:`dh_bridge.datahub.generic_aspect.keyed_patches` says of the server.
    """
    extra_fields = {} if metadata is None else {"systemMetadata": metadata}
    if proposal.change_type == "CREATE":
        extra_fields["headers"] = IF_ABSENT
    if proposal.change_type != "PATCH":
        return _encode(proposal)[:-1] + b"," + _encode(extra_fields)[1:] if extra_fields else _encode(proposal)
    text, content_type = aspect_text(proposal, keyed=keyed)
    return _encode(
        {
            "entityType": proposal.entity_type,
            "entityUrn": proposal.entity_urn,
            "changeType": proposal.change_type,
            "aspectName": proposal.aspect_name,
            "aspect": {"value": text.decode("ascii"), "contentType": content_type},
            **extra_fields,
        }
    )


class _FileSink(Closable):
    """Common to both formats: a file or standard output, and errors that name the file.

    The file has no buffer: data that could not be written would stay in it, and be written beside the retried data.
    """

    name = "file"
    kind: SinkKind = SINK_KINDS[name]

    def __init__(self, address: str, path: str, mode: str) -> None:
        self._address = address
        self._is_closed = False
        if address == _STDOUT and sys.stdout is None:
            raise SinkError("standard output is closed", location=f"file:{address}")
        try:
            self._file: IO[bytes] = sys.stdout.buffer if address == _STDOUT else private_files.open_private(path, mode)
        except OSError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> SinkError:
        return SinkError(f"cannot write the file: {error.strerror or error}", location=f"file:{self._address}")

    def _write(self, data: bytes) -> None:
        if self._is_closed:
            raise SinkError("the sink is closed", location=f"file:{self._address}")
        try:
            if self._address == _STDOUT:
                self._file.write(data)
                self._file.flush()
            else:
                self._append(data)
        except OSError as error:
            raise self._write_error(error) from error

    def _append(self, data: bytes) -> None:
        """Write all data; after an OSError a regular file is unchanged."""
        remaining = memoryview(data)
        try:
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError:
            with suppress(OSError):
                self._truncate_last_write(len(data) - len(remaining))
            raise

    def _truncate_last_write(self, size: int) -> None:
        """Remove the data of the last write, unless another process has written after it."""
        status, end = os.fstat(self._file.fileno()), self._file.tell()
        if size and stat.S_ISREG(status.st_mode) and status.st_size == end:
            self._file.truncate(end - size)
            self._file.seek(end - size)

    def _close_file(self) -> None:
        """Close the file; standard output belongs to the program and stays open."""
        self._is_closed = True
        if self._address != _STDOUT:
            try:
                self._file.close()
            except OSError as error:
                raise self._write_error(error) from error


class NdjsonSink(_FileSink):
    """Appends a line for each proposal, batch by batch."""

    def __init__(self, address: str) -> None:
        super().__init__(address, address, "ab")
        if address == _STDOUT:
            return
        try:
            if self._file.seekable() and self._file.tell() and not _ends_with_newline(address):
                self._append(b"\n")  # a writer that was killed in the middle of a line must not damage the next line
        except OSError as error:
            self._file.close()
            raise self._write_error(error) from error

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Append a batch."""
        self._write(b"".join(map(ndjson_line, proposals)))
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Close the file."""
        self._close_file()


class ArraySink(_FileSink):
    """Streams one JSON array; the complete file appears at close. After an error, an older file stays unchanged.

    ``dropped_counts`` counts the CREATE proposals that a server of this version would report as errors.
    """

    kind = JSON_ARRAY_KIND

    def __init__(self, address: str, options: SinkOptions | None = None) -> None:
        self._options = options
        self._uses_keyed_patches = keyed_patches(None if options is None else options.datahub_version)
        self._accepts_creates = drops_creates_silently(None if options is None else options.datahub_version)
        self.dropped_counts: Counter[str] = Counter()
        path = Path(address)
        self._partial_path = path.with_name(f".{path.name}.{os.getpid()}.partial")
        super().__init__(address, str(self._partial_path), "wb")
        self._separator = b"[\n"

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Write a batch of items."""
        metadata = None if self._options is None else self._options.system_metadata()
        if not self._accepts_creates:
            supported = [proposal for proposal in proposals if proposal.change_type != "CREATE"]
            if len(supported) < len(proposals):
                self.dropped_counts[LEFT_OUT] += len(proposals) - len(supported)
                proposals = supported
        version = None if self._options is None else self._options.datahub_version
        readable, failures = split_unreadable(proposals, version)
        items = b",\n".join([array_item(proposal, metadata, keyed=self._uses_keyed_patches) for proposal in readable])
        if items:
            self._write(self._separator + items)
            self._separator = b",\n"
        elif self._is_closed:
            self._write(b"")
        return Delivery(len(readable), failures)

    def close(self) -> None:
        """End the array and move the file to the target path."""
        if self._is_closed:
            return
        self._write(b"\n]\n" if self._separator == b",\n" else b"[]\n")
        try:
            if self._address != _STDOUT:
                os.fsync(self._file.fileno())
            self._close_file()
            if self._address != _STDOUT:
                private_files.copy_mode(self._address, self._partial_path)
                self._partial_path.replace(self._address)
        except OSError as error:
            raise self._write_error(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:  # an incomplete file is of no use
            with suppress(SinkError):
                self._close_file()
            with suppress(OSError):
                self._partial_path.unlink(missing_ok=True)


def _ends_with_newline(path: str) -> bool:
    with Path(path).open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def open_target(address: str, options: SinkOptions) -> NdjsonSink | ArraySink:
    """Return the sink of ``file:PATH``; the format is ``options.file_format``, else that of the ending; ``-`` is NDJSON."""
    if not address:
        raise SettingsError(
            "file: requires a path", location="--to", remedy="write --to file:PATH, or file:- for standard output"
        )
    file_format = options.file_format or (
        "ndjson" if address == _STDOUT else _FORMATS_BY_SUFFIX.get(Path(address).suffix.lower())
    )
    if file_format is None:
        raise SettingsError(
            f"cannot infer the format from {address!r}",
            location="--to",
            remedy=f"use {' or '.join(_FORMATS_BY_SUFFIX)}, or pass --format",
        )
    if file_format not in _FORMATS:
        raise SettingsError(
            f"unknown file format {file_format!r}", location="--format", remedy=f"use one of {', '.join(_FORMATS)}"
        )
    return ArraySink(address, options) if file_format == "json" else NdjsonSink(address)
