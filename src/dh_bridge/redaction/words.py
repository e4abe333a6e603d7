"""The words of a text: finds the kinds of secrets that it may have, in one pass of some milliseconds per million characters.

Most texts have no name of a secret, no token, no program and no function with secret arguments. Their distinct words show this,
and no other module searches them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

#: Kinds of words.
NAME, PROGRAM, NAMED_PROGRAM, FUNCTION, CALL, SCHEME, HALF_KEY, PROCEDURE, FORM, TOKEN = (
    1 << number for number in range(10)
)

#: Every byte that is no part of a name becomes a blank.
_NAME_CHARS = bytes(code if chr(code).isalnum() or chr(code) in "_.-" else 32 for code in range(128)) + b" " * 128
_SCHEMES = frozenset(("bearer", "basic", "apikey", "negotiate", "token", "authorization", "proxy-authorization"))
_PROCEDURE_WORDS = frozenset(("identified",))
_KEYS = frozenset(("key", "keys"))
_FORMS = frozenset(("using", "openrowset", "opendatasource"))
_MAX_WORD_LENGTH = 200
_MAX_CACHED_WORDS = 65_536

#: Words without a kind: nearly all words. Names of data are repeated.
_cached_plain_words: set[bytes] = set()
_cached_kinds: dict[bytes, int] = {}


class WordKinds(NamedTuple):
    """The kinds of the words of a text, as bits, and the words that have one."""

    kinds: int
    classified: tuple[str, ...]


_NO_KINDS = WordKinds(0, ())


def classify_words(text: str) -> WordKinds:
    """Return the kinds of all words of ``text``."""
    data = text.encode("utf-8", "replace")
    if b"\\" in data:  # the escaped ends of lines belong to no word
        data = data.replace(b"\\n", b"  ").replace(b"\\r", b"  ").replace(b"\\t", b"  ")
    words = set(data.translate(_NAME_CHARS).split())
    words -= _cached_plain_words
    if not words:
        return _NO_KINDS
    new_words = words - _cached_kinds.keys()
    if new_words:
        plain_words = new_words - _suspicious_words(new_words)
        _cache_plain_words(plain_words)
        words -= plain_words
    kinds = 0
    classified = []
    for word in words:
        kind = _cached_kinds.get(word)
        if kind is None:
            kind = _classify(word)
        if kind:
            kinds |= kind
            classified.append(word.decode("ascii"))
    return WordKinds(kinds, tuple(classified))


def _suspicious_words(words: set[bytes]) -> set[bytes]:
    """Return the words that may have a kind. All are searched at once, which costs less than one call for each."""
    text = b" ".join(words).decode("ascii")
    lower_text = text.lower()
    suspicious_words = {*_find_words(rules().root, lower_text, text), *_find_words(rules().token_start, text, text)}
    segments = lower_text.replace(".", " ").split()
    if not _kind_segments().isdisjoint(segments):
        suspicious_words.update(
            word for word in words if not _kind_segments().isdisjoint(word.decode("ascii").lower().split("."))
        )
    return suspicious_words


def _find_words(pattern: re.Pattern[str], searched_text: str, text: str) -> Iterator[bytes]:
    """Yield the words of ``text``, which blanks separate, where ``pattern`` is found in ``searched_text``."""
    end = 0
    while (match := pattern.search(searched_text, end)) is not None:
        begin = text.rfind(" ", end, match.start()) + 1 or end
        end = text.find(" ", match.start())
        if end < 0:
            end = len(text)
        yield text[begin:end].encode("ascii")


@cache
def _kind_segments() -> frozenset[str]:
    """Return the last dotted segments, in lower case, of all names that have a kind as a whole."""
    secret_rules = rules()
    names = {
        *secret_rules.commands, *secret_rules.sql_arguments, *secret_rules.code_arguments, *secret_rules.procedure_names,
        *_SCHEMES, *_PROCEDURE_WORDS, *_FORMS, *_KEYS,
    }  # fmt: skip
    return frozenset(name.lower().rpartition(".")[2] for name in names)


def _classify(word: bytes) -> int:
    if word.isdigit():
        return 0
    name = word[-_MAX_WORD_LENGTH:].decode("ascii")
    lower = name.lower()
    secret_rules = rules()
    last_part = lower.rpartition(".")[2]
    kind = 0
    if secret_rules.root.search(lower) is not None and is_secret_name(name):
        kind = NAME
    commands = secret_rules.commands.get(name) or secret_rules.commands.get(lower.removesuffix(".exe"))
    if commands is not None:
        kind |= NAMED_PROGRAM if all(row.named for row in commands) else PROGRAM
    if last_part in secret_rules.sql_arguments:
        kind |= FUNCTION
    if last_part in secret_rules.code_arguments or ".".join(lower.split(".")[-2:]) in secret_rules.code_arguments:
        kind |= CALL
    if lower in _FORMS:
        kind |= FORM
    if last_part in _SCHEMES:
        kind |= SCHEME
    if last_part in _KEYS:
        kind |= HALF_KEY
    if lower in secret_rules.procedure_names or lower in _PROCEDURE_WORDS:
        kind |= PROCEDURE
    if len(word) > secret_rules.shortest_token and secret_rules.token_start.search(word.decode("ascii")) is not None:
        kind |= TOKEN
    _cache_kind(word, kind)
    return kind


def _cache_kind(word: bytes, kind: int) -> None:
    if len(word) > _MAX_WORD_LENGTH:
        return
    if not kind:
        _cache_plain_words({word})
        return
    if len(_cached_kinds) >= _MAX_CACHED_WORDS:
        _cached_kinds.clear()
    _cached_kinds[word] = kind


def _cache_plain_words(words: set[bytes]) -> None:
    if len(words) > _MAX_CACHED_WORDS:
        return
    if len(_cached_plain_words) + len(words) > _MAX_CACHED_WORDS:
        _cached_plain_words.clear()
    _cached_plain_words.update(word for word in words if len(word) <= _MAX_WORD_LENGTH)
