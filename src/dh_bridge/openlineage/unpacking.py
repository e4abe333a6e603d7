"""Compressed streams of events: gzip and Zstandard, recognized by their first bytes, unpacked as they are read."""

from __future__ import annotations

import gzip
import io
from importlib import import_module
from typing import Any, BinaryIO

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MAGIC_BYTES = max(len(GZIP_MAGIC), len(ZSTD_MAGIC))
"""Bytes that are looked at."""
_MAX_WINDOW_BYTES = 128 * 1024 * 1024
_PACKED_BYTES = 2048
"""Bytes that are unpacked at once: Zstandard makes at most 128 KiB of 4 bytes."""


def unpacked(stream: BinaryIO, head: bytes) -> io.RawIOBase | None:
    """Return the content of a stream that begins with ``head``, the next MAGIC_BYTES of it; None if it is not compressed."""
    if head.startswith(GZIP_MAGIC):
        return _GzipStream(stream)
    return _ZstdStream(stream) if head.startswith(ZSTD_MAGIC) else None


class _GzipStream(io.RawIOBase):
    """A gzipped stream, unzipped as far as it is complete: if it breaks off, all data before the break is returned."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=stream)

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` with what can be had at once; 0 at the end."""
        chunk = self._file.read1(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _ZstdStream(io.RawIOBase):
    """A stream of Zstandard frames, unpacked as the gzipped one; an OSError if a frame is damaged or breaks off."""

    def __init__(self, stream: BinaryIO) -> None:
        zstandard = import_module("zstandard")  # only for such files
        self._stream = stream
        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
        self._frame: Any = None
        self._packed = b""
        self._content = memoryview(b"")

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` with what can be had at once; 0 at the end."""
        while not self._content and self._unpack():
            pass
        number = min(len(buffer), len(self._content))
        buffer[:number] = self._content[:number]
        self._content = self._content[number:]
        return number

    def _unpack(self) -> bool:
        """Unpack the next bytes; return False at the end."""
        packed = self._packed or self._stream.read(_PACKED_BYTES)
        if not packed:
            if self._frame is not None:
                raise EOFError("the Zstandard frame breaks off")
            return False
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        try:
            self._content = memoryview(self._frame.decompress(packed))
        except self._error as error:
            raise OSError(str(error)) from error
        self._packed = b""
        if self._frame.eof:
            self._packed = self._frame.unused_data
            self._frame = None
        return True
