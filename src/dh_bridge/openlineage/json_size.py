"""Counts the separators of JSON in a text, before any object is built from it.

A decoder makes up to 400 bytes of memory of each byte that it reads (an empty dataset, a note about a value of a wrong type), so a bound
on bytes alone bounds neither memory nor time.
"""

from __future__ import annotations

_SEPARATORS = b",:[{"
_NON_SEPARATORS = bytes(set(range(256)) - set(_SEPARATORS))
_SLICE_BYTES = 256 * 1024
"""Bytes that are split at quotes at once."""


def has_more_values(raw: bytes, limit: int) -> bool:
    """Return whether ``raw`` has more than ``limit`` separators (``,``, ``:``, ``[``, ``{``) outside of its texts.

    Each key, value and container of JSON needs one of them. Text that is no JSON is counted up to where a decoder stops.

    Args:
        raw: JSON, or what somebody sent for it.
        limit: The number of separators that is allowed.

    Returns:
        True if the limit is exceeded; what follows then is not counted.
    """
    if len(raw) <= limit or sum([raw.count(separator) for separator in (b",", b":", b"[", b"{")]) <= limit:
        return False
    count, inside_text, end = 0, 0, 0
    while end < len(raw):
        start, end = end, end + _SLICE_BYTES
        piece = raw[start:end]
        if piece.endswith(b"\\") and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            end += 1  # the escaped character belongs to its backslash
            piece = raw[start:end]
        if b"\\" in piece:  # what is left of escapes neither opens nor closes a text
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"')
        count += len(b"".join(parts[inside_text::2]).translate(None, _NON_SEPARATORS))
        if count > limit:
            return True
        inside_text ^= (len(parts) - 1) & 1
    return False
