"""The words of a text: which kinds of secrets it may hold, found in one pass that costs a few milliseconds per million characters.

Most texts have no name of a secret, no program and no function that takes one. Their distinct words say so, and no other module looks
at them.
"""

from __future__ import annotations

from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules

#: Kinds of words.
NAME, PROGRAM, FUNCTION, CALL, SCHEME, HALF_KEY, STATEMENT, OTHER = (1 << number for number in range(8))

#: Every byte that is no part of a name becomes a blank.
_TABLE = bytes(code if chr(code).isalnum() or chr(code) in "_.-" else 32 for code in range(128)) + b" " * 128
_SCHEMES = frozenset(("bearer", "basic", "apikey", "negotiate", "token", "authorization", "proxy-authorization"))
_OTHERS = frozenset(("identified", "odbc_connect", "login"))
_LONGEST = 200
_MOST_KNOWN = 65_536

#: Words without a kind: nearly all of them. Names of data come again and again.
_plain: set[bytes] = set()
_kinds: dict[bytes, int] = {}


def kinds_of_words(text: str) -> int:
    """Return the kinds of all words of ``text``, as bits."""
    data = text.encode("utf-8", "replace")
    if b"\\" in data:  # the escaped ends of lines belong to no word
        data = data.replace(b"\\n", b"  ").replace(b"\\r", b"  ").replace(b"\\t", b"  ")
    words = set(data.translate(_TABLE).split())
    words -= _plain
    kinds = 0
    for word in words:
        kind = _kinds.get(word)
        kinds |= _kind(word) if kind is None else kind
    return kinds


def _kind(word: bytes) -> int:
    name = word[-_LONGEST:].decode("ascii")
    lower = name.lower()
    found = rules()
    last = lower.rpartition(".")[2]
    kind = NAME if secret_name(name) else 0
    if lower in found.commands or name in found.commands or lower.removesuffix(".exe") in found.commands:
        kind |= PROGRAM
    if last in found.arguments:
        kind |= FUNCTION
    if last in found.code_arguments or ".".join(lower.split(".")[-2:]) in found.code_arguments:
        kind |= CALL
    if lower in _SCHEMES:
        kind |= SCHEME
    if last in ("key", "keys"):
        kind |= HALF_KEY
    if lower in found.procedures_names:
        kind |= OTHER
    if lower in _OTHERS:
        kind |= OTHER
    if lower in found.sql_words:
        kind |= STATEMENT
    _remember(word, kind)
    return kind


def _remember(word: bytes, kind: int) -> None:
    if len(word) > _LONGEST:
        return
    if kind:
        if len(_kinds) >= _MOST_KNOWN:
            _kinds.clear()
        _kinds[word] = kind
        return
    if len(_plain) >= _MOST_KNOWN:
        _plain.clear()
    _plain.add(word)
