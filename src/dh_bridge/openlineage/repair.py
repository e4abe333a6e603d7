r"""Repairs JSON that some writers send and decoders reject: NaN and Infinity, half of a surrogate pair.

Python's ``json`` writes both: NaN for the mean of no values, ``\udce9`` if the name of a file in an error
message has a byte that is not UTF-8. A text that is cut by UTF-16 units may end with half an emoji.
"""

from __future__ import annotations

import re

_TEXT_OR_WORD = re.compile(rb'"(?:[^"\\]|\\.?)*(?:"|\Z)|-?\b(?:NaN|Infinity)\b', re.DOTALL)
_HEX = rb"[0-9a-fA-F]"
_SURROGATE_PAIR = rb"\\u[dD][89abAB]%b{2}\\u[dD][c-fC-F]%b{2}" % (_HEX, _HEX)
_BACKSLASHES_OR_SURROGATES = re.compile(rb"(?:\\\\)+|%b|\\u[dD][89a-fA-F]%b{2}" % (_SURROGATE_PAIR, _HEX))
_SURROGATE_BYTES = len(rb"\ud800")


def repair_json(raw: bytes) -> bytes | None:
    r"""Return JSON that decoders accept, None if it has neither of these faults.

    Null replaces NaN and Infinity. Half of a surrogate pair becomes its escape as plain text: ``\udce9``.
    """
    repaired = _replace_non_finite(raw)
    return _escape_lone_surrogates(raw if repaired is None else repaired) or repaired


def _replace_non_finite(raw: bytes) -> bytes | None:
    if b"NaN" not in raw and b"Infinity" not in raw:
        return None
    output, end = bytearray(), 0
    for part in _TEXT_OR_WORD.finditer(raw):  # not by sub(), which holds a hundred bytes for each text
        if not part[0].startswith(b'"'):
            output += raw[end : part.start()] + b"null"
            end = part.end()
    return bytes(output + raw[end:]) if end else None


def _escape_lone_surrogates(raw: bytes) -> bytes | None:
    output, end = bytearray(), 0
    for part in _BACKSLASHES_OR_SURROGATES.finditer(raw):
        if len(part[0]) == _SURROGATE_BYTES and part[0][1:2] == b"u":
            output += raw[end : part.start()] + b"\\"
            end = part.start()
    return bytes(output + raw[end:]) if end else None
