"""Compression of the values of a ledger: states, fingerprints, histories, waiting proposals.

A value is a Zstandard frame, or the bytes as they were if they are shorter. Frames name their dictionary. A new ledger uses the dictionary
of the package (``states.zdict``, made by tools/train_ledger_dictionary.py). When the ledger has TRAINING_RUNS runs, and ten times as
many, and so on, a dictionary is made of its own values and stored in its table ``dictionary``: the values of one company are alike.
Values that were written before keep their dictionary until they change.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import zstandard

from dh_bridge.storage.connection import FileConnection
from dh_bridge.storage.damage import DamageError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

TRAINING_RUNS = 300
TRAINING_FACTOR = 10
DICTIONARY_BYTES = 64 * 1024
_LEVEL = 3
_SEGMENT_BYTES, _DMER_BYTES = 2048, 8
"""Parameters of Zstandard's trainer, with which it need not try several: 0.1 s."""
_SAMPLES_PER_KIND = 300
_MAX_SAMPLE_BYTES = 32 * 1024
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of a frame; no state, MessagePack array or map, or JSON object begins with them."""
_MAX_VALUE_BYTES = 1 << 30
_SAMPLE_QUERIES = (
    "SELECT substr(state, 6) FROM run WHERE state IS NOT NULL ORDER BY id DESC LIMIT ?",
    "SELECT substr(registers, 6) FROM shared ORDER BY id DESC LIMIT ?",
    "SELECT substr(value, 6) FROM state_object ORDER BY id DESC LIMIT ?",
    "SELECT aspects FROM (SELECT urn FROM shared ORDER BY id DESC LIMIT ?) JOIN sent USING (urn)",
    "SELECT aspects FROM (SELECT key FROM run ORDER BY id DESC LIMIT ?) JOIN sent ON urn = key",
    "SELECT entry FROM run_history ORDER BY run DESC LIMIT ?",
)
"""The latest values of each kind; the first five bytes of a state are its checksum."""


class Compression:
    """Compresses and decompresses the values of one file, for one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compressor: zstandard.ZstdCompressor | None = None
        self._package_compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=package_dictionary())
        self._decompressors: dict[int, zstandard.ZstdDecompressor] = {}
        self._has_own_dictionary = False
        #: the number of runs at which the next dictionary is made; None: not known yet
        self._next_training: int | None = None

    def compress(self, data: bytes) -> bytes:
        """Return a value as it is stored, for example a state."""
        if self._compressor is None:
            row = self._connection.execute("SELECT data FROM dictionary ORDER BY run_count DESC LIMIT 1").fetchone()
            self._use(zstandard.ZstdCompressionDict(row[0]) if row is not None else package_dictionary())
        frame = self._compressor.compress(data)  # type: ignore[union-attr]
        return frame if len(frame) < len(data) else data

    def compress_portable(self, data: bytes) -> bytes:
        """Return a value that does not depend on the ledger's dictionaries, for example a proposal of the outbox.

        The dictionary of the package has the names of all aspects.
        """
        frame: bytes = self._package_compressor.compress(data)
        return frame if len(frame) < len(data) else data

    def decompress(self, data: bytes) -> bytes:
        """Return a value as it was.

        Raises:
            DamageError: The bytes are damaged, or the dictionary is missing.
        """
        if not data.startswith(_FRAME_MAGIC):
            return data
        try:
            number = zstandard.get_frame_parameters(data).dict_id
            decompressor = self._decompressors.get(number)
            if decompressor is None:
                decompressor = self._decompressors[number] = zstandard.ZstdDecompressor(self._dictionary(number))
            return decompressor.decompress(data, max_output_size=_MAX_VALUE_BYTES)
        except zstandard.ZstdError as error:
            raise DamageError(f"a compressed value cannot be read: {error}", where="the ledger") from error

    def train_if_due(self) -> bool:
        """Make a dictionary of the latest values if the ledger has grown enough; the caller opens the transaction.

        Returns:
            Whether the table has a new dictionary. After a rollback, call :meth:`forget`.
        """
        (run_count,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()
        if self._next_training is None:
            row = self._connection.execute("SELECT max(run_count) FROM dictionary").fetchone()
            self._next_training = TRAINING_RUNS if row[0] is None else row[0] * TRAINING_FACTOR
        if run_count < self._next_training:
            return False
        self._next_training = run_count * TRAINING_FACTOR
        try:
            dictionary = zstandard.train_dictionary(
                DICTIONARY_BYTES, list(self.samples(_SAMPLES_PER_KIND)), k=_SEGMENT_BYTES, d=_DMER_BYTES, level=_LEVEL
            )
        except zstandard.ZstdError:
            return False  # too few values, or too short ones
        self._connection.execute(
            "INSERT OR IGNORE INTO dictionary (id, data, run_count) VALUES (?, ?, ?)",
            (dictionary.dict_id(), dictionary.as_bytes(), run_count),
        )
        self._use(dictionary)
        return True

    @property
    def has_own_dictionary(self) -> bool:
        """Whether the ledger has made a dictionary of its own values."""
        if not self._has_own_dictionary:
            row = self._connection.execute("SELECT EXISTS (SELECT 1 FROM dictionary)").fetchone()
            self._has_own_dictionary = bool(row[0])
        return self._has_own_dictionary

    def forget(self) -> None:
        """Read the dictionaries again: another process has added one, or a transaction was rolled back."""
        self._compressor = self._next_training = None
        self._has_own_dictionary = False
        self._decompressors.clear()

    def _use(self, dictionary: zstandard.ZstdCompressionDict) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)

    def _dictionary(self, number: int) -> zstandard.ZstdCompressionDict | None:
        if not number:
            return None
        row = self._connection.execute("SELECT data FROM dictionary WHERE id = ?", (number,)).fetchone()
        dictionary = package_dictionary() if row is None else zstandard.ZstdCompressionDict(row[0])
        if dictionary.dict_id() != number:
            raise zstandard.ZstdError(f"dictionary {number} is missing")
        return dictionary

    def samples(self, limit: int) -> Iterator[bytes]:
        """Yield the latest values of each kind, at most ``limit``; very long ones are left out."""
        for query in _SAMPLE_QUERIES:
            for (stored,) in self._connection.execute(query, (limit,)).fetchall():
                value = self.decompress(stored)
                if len(value) <= _MAX_SAMPLE_BYTES:
                    yield value


def compression_of(connection: sqlite3.Connection) -> Compression:
    """Return the compression of a file: the same object for all who share its connection."""
    if not isinstance(connection, FileConnection):
        return Compression(connection)
    compression = connection.extensions.get("compression")
    if not isinstance(compression, Compression):
        compression = connection.extensions["compression"] = Compression(connection)
    return compression


@cache
def package_dictionary() -> zstandard.ZstdCompressionDict:
    """Return the dictionary of the package. Ledgers refer to it by its number: a new one would be a second file."""
    return zstandard.ZstdCompressionDict(files("dh_bridge.ledger").joinpath("states.zdict").read_bytes())
