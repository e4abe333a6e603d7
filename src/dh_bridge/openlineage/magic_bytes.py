"""Detects files that are not text by their first bytes, so that they cause one clear message and not one for each line."""

from __future__ import annotations

_UNPACK = "unpack it first"
_EXPORT = "export its events as lines of JSON"
_ENCODE = "save it as UTF-8"
_FORMATS = {
    b"PK\x03\x04": ("a ZIP archive", _UNPACK),
    b"BZh": ("a bzip2 file", _UNPACK),
    b"\xfd7zXZ\x00": ("an xz file", _UNPACK),
    b"PAR1": ("a Parquet file", _EXPORT),
    b"Obj\x01": ("an Avro file", _EXPORT),
    b"ORC": ("an ORC file", _EXPORT),
    b"SQLite format 3\x00": ("an SQLite database", _EXPORT),
    **{
        opening.encode(f"{coding}-{order}"): (f"{coding} text", _ENCODE)
        for coding in ("UTF-32", "UTF-16")  # in this order: the one may begin as the other does
        for order in ("LE", "BE")
        for opening in ("\ufeff{", "\ufeff[", "{", "[")
    },
}
_TAR, _TAR_OFFSET = b"ustar", 257
HEAD_BYTES = _TAR_OFFSET + len(_TAR)
"""Bytes that are looked at."""


def foreign_format(head: bytes) -> str | None:
    """Return the kind of a file that begins with ``head`` and a remedy; None if it may be JSON."""
    format_name, remedy = next(
        (description for magic, description in _FORMATS.items() if head.startswith(magic)), (None, _UNPACK)
    )
    if head[_TAR_OFFSET:HEAD_BYTES] == _TAR:
        format_name = "a tar archive"
    return format_name and f"{format_name}, not JSON ({remedy})"
