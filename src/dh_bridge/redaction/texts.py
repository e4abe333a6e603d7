"""A text without its secrets: by shape, by the names before them, and in SQL by what statements do."""

from __future__ import annotations

from functools import lru_cache

from dh_bridge.redaction.arguments import lowered, without_arguments
from dh_bridge.redaction.assignments import without_assignments
from dh_bridge.redaction.commands import without_arguments_of_programs
from dh_bridge.redaction.mode import OFF, mode
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.shapes import without_shapes
from dh_bridge.redaction.statements import is_statement, without_forms, without_literals
from dh_bridge.redaction.words import CALL, FORM, NAME, NAMED_PROGRAM, OTHER, PROGRAM, Words, words_of

#: Shorter texts hold no secret that can be recognised.
_SHORTEST = 6
#: Texts up to this length are remembered: names, addresses and versions come again with each event.
_REMEMBERED = 256
#: Of a longer text the head and the tail are kept, which is more than any aspect holds.
MAX_TEXT = 1_000_000
_TAIL = 20_000
_LEFT_OUT = "…[{} characters left out]…"


def redacted(text: str) -> str:
    """Return ``text`` without the secrets in it.

    >>> redacted("postgres://ann:hunter2@db/x"), redacted("password=hunter2 user=ann")
    ('postgres://ann:***@db/x', 'password=*** user=ann')
    """
    if len(text) < _SHORTEST:
        return text
    clean = _remembered(text) if len(text) <= _REMEMBERED else _without_secrets(text)
    return clean if clean is text or mode() != OFF else text


def redacted_sql(text: str) -> str:
    """Return a statement as :func:`redacted` returns a text that begins as SQL does.

    >>> redacted_sql("ALTER USER ann PASSWORD 'hunter2'")
    "ALTER USER ann PASSWORD '***'"
    """
    clean = capped_input(text)
    words = words_of(clean)
    clean = without_shapes(clean, words.kinds)
    if words.kinds:
        clean = without_literals(clean, words.kinds)
        if words.kinds & FORM:
            clean = without_forms(clean)
        if not is_statement(text):  # a leaf that is said to hold SQL, and holds something else
            clean = _without_names(_without_statements(clean, words), words)
    return clean if mode() != OFF else text


def capped_input(text: str) -> str:
    """Return ``text``, of one that is longer than any aspect holds its head and tail: patterns are to see no more."""
    if len(text) <= MAX_TEXT:
        return text
    mark = _LEFT_OUT.format(len(text) - MAX_TEXT)
    return text[: MAX_TEXT - _TAIL - len(mark)] + mark + text[-_TAIL:]


@lru_cache(maxsize=16384)
def _remembered(text: str) -> str:
    return _without_secrets(text)


def _without_secrets(text: str) -> str:
    text = capped_input(text)
    words = words_of(text)
    clean = without_shapes(text, words.kinds)
    if not words.kinds:
        return clean
    clean = without_literals(clean, words.kinds) if is_statement(clean) else _without_statements(clean, words)
    return _without_names(clean, words)


def _without_statements(text: str, words: Words) -> str:
    """Return ``text`` without the secrets of the statements that it quotes, as code, errors and logs do."""
    if not words.kinds & (NAME | OTHER):
        return text
    inside = rules().sql_inside.search(lowered(text))
    return text if inside is None else text[: inside.start()] + without_literals(text[inside.start() :], words.kinds)


def _without_names(text: str, words: Words) -> str:
    """Return ``text`` without what programs, calls and names say to be secrets."""
    kinds = words.kinds
    if kinds & FORM:
        text = without_forms(text)
    if kinds & PROGRAM or (kinds & NAMED_PROGRAM and kinds & NAME):
        text = without_arguments_of_programs(text, words.special)
    if kinds & CALL and "(" in text:
        text = without_arguments(text, rules().code_parts, rules().code_arguments)
    return without_assignments(text, kinds, words.special)
