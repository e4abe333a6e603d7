"""A text without its secrets: by shape, by the names before them, and in SQL by what statements do."""

from __future__ import annotations

from functools import lru_cache

from dh_bridge.redaction.arguments import mask_arguments, to_lower
from dh_bridge.redaction.assignments import mask_assignments
from dh_bridge.redaction.commands import mask_program_arguments
from dh_bridge.redaction.mode import OFF, current_mode
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.shapes import has_sign, mask_shapes
from dh_bridge.redaction.statements import is_statement, mask_literals, mask_statement_forms
from dh_bridge.redaction.words import CALL, FORM, NAME, NAMED_PROGRAM, PROCEDURE, PROGRAM, WordKinds, classify_words

#: Shorter texts hold no secret that can be recognised.
_MIN_LENGTH = 6
#: Texts up to this length are cached: names, addresses and versions are repeated in each event.
_MAX_CACHED_LENGTH = 256
#: Of a longer text the head and the tail are redacted and stored, which is more than any aspect stores.
MAX_TEXT_LENGTH = 1_000_000
_TAIL_LENGTH = 20_000
_OMISSION = "…[{} characters left out]…"


def redact(text: str) -> str:
    """Return ``text`` without the secrets in it.

    >>> redact("postgres://ann:hunter2@db/x"), redact("password=hunter2 user=ann")
    ('postgres://ann:***@db/x', 'password=*** user=ann')
    """
    if len(text) < _MIN_LENGTH or current_mode() == OFF:
        return text
    return _redact_cached(text) if len(text) <= _MAX_CACHED_LENGTH else _redact_uncached(text)


def redact_sql(text: str) -> str:
    """Return a statement as :func:`redact` returns a text that begins as SQL does.

    >>> redact_sql("ALTER USER ann PASSWORD 'hunter2'")
    "ALTER USER ann PASSWORD '***'"
    """
    if current_mode() == OFF:
        return text
    redacted_text = cap_input(text)
    words = classify_words(redacted_text)
    redacted_text = mask_shapes(redacted_text, words.kinds)
    if words.kinds:
        redacted_text = mask_literals(redacted_text, words.kinds)
        if words.kinds & FORM:
            redacted_text = mask_statement_forms(redacted_text)
        if not is_statement(text):  # a field that should contain SQL, and contains something else
            redacted_text = _mask_named_values(_mask_statements(redacted_text, words), words)
    return redacted_text


def is_plain(text: str) -> bool:
    """Return whether neither ``text`` nor any line of it can hold a secret: no word and no sign asks for a closer look."""
    return len(text) <= MAX_TEXT_LENGTH and not classify_words(text).kinds and not has_sign(text)


def cap_input(text: str) -> str:
    """Return ``text``, of one that is longer than any aspect holds its head and tail: patterns are to see no more."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    omission = _OMISSION.format(len(text) - MAX_TEXT_LENGTH)
    return text[: MAX_TEXT_LENGTH - _TAIL_LENGTH - len(omission)] + omission + text[-_TAIL_LENGTH:]


@lru_cache(maxsize=16384)
def _redact_cached(text: str) -> str:
    return _redact_uncached(text)


def _redact_uncached(text: str) -> str:
    text = cap_input(text)
    words = classify_words(text)
    redacted_text = mask_shapes(text, words.kinds)
    if not words.kinds:
        return redacted_text
    redacted_text = (
        mask_literals(redacted_text, words.kinds)
        if is_statement(redacted_text)
        else _mask_statements(redacted_text, words)
    )
    return _mask_named_values(redacted_text, words)


def _mask_statements(text: str, words: WordKinds) -> str:
    """Return ``text`` without the secrets of the statements that it quotes, as code, errors and logs do."""
    if not words.kinds & (NAME | PROCEDURE):
        return text
    statement = rules().sql_phrases.search(to_lower(text))
    return (
        text if statement is None else text[: statement.start()] + mask_literals(text[statement.start() :], words.kinds)
    )


def _mask_named_values(text: str, words: WordKinds) -> str:
    """Return ``text`` without the secrets of programs, calls and names."""
    kinds = words.kinds
    if kinds & FORM:
        text = mask_statement_forms(text)
    if kinds & PROGRAM or (kinds & NAMED_PROGRAM and kinds & NAME):
        text = mask_program_arguments(text, words.classified)
    if kinds & CALL and "(" in text:
        text = mask_arguments(text, rules().code_calls, rules().code_arguments)
    return mask_assignments(text, kinds, words.classified)
