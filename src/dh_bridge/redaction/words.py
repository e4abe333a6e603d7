"""The words of a text: which kinds of secrets it may hold, found in one pass that costs some milliseconds for a million characters.

Most texts have no name of a secret, no token, no program and no function that takes one. Their distinct words say so, and no other
module looks at them.
"""

from __future__ import annotations

from typing import NamedTuple

from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules

#: Kinds of words.
NAME, PROGRAM, NAMED_PROGRAM, FUNCTION, CALL, SCHEME, HALF_KEY, OTHER, FORM, TOKEN = (
    1 << number for number in range(10)
)

#: Every byte that is no part of a name becomes a blank.
_TABLE = bytes(code if chr(code).isalnum() or chr(code) in "_.-" else 32 for code in range(128)) + b" " * 128
_SCHEMES = frozenset(("bearer", "basic", "apikey", "negotiate", "token", "authorization", "proxy-authorization"))
_OTHERS = frozenset(("identified",))
_FORMS = frozenset(("using", "openrowset", "opendatasource"))
_LONGEST = 200
_MOST_KNOWN = 65_536

#: Words without a kind: nearly all of them. Names of data come again and again.
_plain: set[bytes] = set()
_kinds: dict[bytes, int] = {}


class Words(NamedTuple):
    """The kinds of the words of a text, as bits, and the words that have one."""

    kinds: int
    special: tuple[str, ...]


_NONE = Words(0, ())


def words_of(text: str) -> Words:
    """Return the kinds of all words of ``text``."""
    data = text.encode("utf-8", "replace")
    if b"\\" in data:  # the escaped ends of lines belong to no word
        data = data.replace(b"\\n", b"  ").replace(b"\\r", b"  ").replace(b"\\t", b"  ")
    words = set(data.translate(_TABLE).split())
    words -= _plain
    if not words:
        return _NONE
    kinds = 0
    special = []
    for word in words:
        kind = _kinds.get(word)
        if kind is None:
            kind = _kind(word)
        if kind:
            kinds |= kind
            special.append(word.decode("ascii"))
    return Words(kinds, tuple(special))


def _kind(word: bytes) -> int:
    if word.isdigit():
        return 0
    name = word[-_LONGEST:].decode("ascii")
    lower = name.lower()
    found = rules()
    last = lower.rpartition(".")[2]
    kind = 0
    if found.root.search(lower) is not None and secret_name(name):
        kind = NAME
    commands = found.commands.get(name) or found.commands.get(lower.removesuffix(".exe"))
    if commands is not None:
        kind |= NAMED_PROGRAM if all(row.named for row in commands) else PROGRAM
    if last in found.arguments:
        kind |= FUNCTION
    if last in found.code_arguments or ".".join(lower.split(".")[-2:]) in found.code_arguments:
        kind |= CALL
    if lower in _FORMS:
        kind |= FORM
    if last in _SCHEMES:
        kind |= SCHEME
    if last in ("key", "keys"):
        kind |= HALF_KEY
    if lower in found.procedures_names or lower in _OTHERS:
        kind |= OTHER
    if len(word) > found.shortest_token and found.token_start.search(word.decode("ascii")) is not None:
        kind |= TOKEN
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
