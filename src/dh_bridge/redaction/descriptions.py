"""Descriptions of columns: hundreds of short texts of prose, of which hardly one holds a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.redaction.mode import OFF, current_mode

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Letters of tokens become one letter, all others blanks: a run of them is then found as fast as a fixed text.
_TOKEN_CHARS = bytes(97 if chr(code).isalnum() or chr(code) in "_-" else 32 for code in range(128)) + b" " * 128
_LONG_WORD = b"a" * 15
_MARKERS = (b"@", b"=", b":", b"'", b'"', b"--", b"earer ", b"asic ", b"%40")


def may_hold_secret(texts: Iterable[str | None]) -> bool:
    """Return whether one of ``texts`` is worth a look: it has a sign of a secret, or a word as long as a token.

    >>> may_hold_secret(["when the order was paid", None]), may_hold_secret(["password: hunter2"])
    (False, True)
    """
    data = "\n".join([text for text in texts if text]).encode("utf-8", "replace")
    if not data or current_mode() == OFF:
        return False
    return any([marker in data for marker in _MARKERS]) or _LONG_WORD in data.translate(_TOKEN_CHARS)  # noqa: C419 - faster
