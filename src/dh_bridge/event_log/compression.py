"""Compression of records: zstandard with a dictionary, so that a single event is small, too."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from dh_bridge.event_log.format import MAX_FRAME_BYTES

_LEVEL = 3
_MAX_RECORD_BYTES = 4 * MAX_FRAME_BYTES
"""Maximum size of a record without compression: a damaged frame must not fill the memory."""


class FrameError(ValueError):
    """A frame that is damaged, or compressed in another way."""


@cache
def default_dictionary() -> bytes:
    """Return the dictionary of new segments; tools/train_log_dictionary.py makes it of the example events."""
    dictionary = pkgutil.get_data(__package__, "events.zdict")
    if dictionary is None:
        raise FileNotFoundError("events.zdict")
    return dictionary


class FrameCodec:
    """Compresses and decompresses the frames of one segment; one thread at a time."""

    def __init__(self, dictionary: bytes) -> None:
        zstandard = import_module("zstandard")  # on the first use: most processes have no log
        self._error = zstandard.ZstdError
        dict_data = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dict_data, write_checksum=False)
        self._decompressor = zstandard.ZstdDecompressor(dict_data=dict_data)

    def compress(self, data: bytes) -> bytes:
        """Return a frame."""
        frame: bytes = self._compressor.compress(data)
        return frame

    def decompress(self, frame: bytes) -> bytes:
        """Return the content of a frame; a FrameError if it is damaged."""
        try:
            data: bytes = self._decompressor.decompress(frame, max_output_size=_MAX_RECORD_BYTES)
        except self._error as error:
            raise FrameError(str(error)) from error
        return data
