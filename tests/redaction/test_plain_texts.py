"""Texts that are recognised as plain at once: none of them holds a secret, alone or as a line among others."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.secret_kinds import planted_texts

from dh_bridge.redaction import redact, words
from dh_bridge.redaction.texts import is_plain

COLUMNS = [f"{table}_{column}" for table in ("orders", "customers") for column in ("id", "name", "total", "placed_at")]
SECRETS = [one.text for one in planted_texts() if redact(one.text) != one.text]
HARMLESS = (Path(__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(autouse=True)
def _no_cached_words():
    words._cached_plain_words.clear()
    words._cached_kinds.clear()


def test_text_with_a_secret_is_not_plain():
    assert len(SECRETS) > 4_000
    assert [text for text in SECRETS if is_plain(text)] == []
    assert [text for text in SECRETS if is_plain(text)] == []  # its words are cached now


def test_line_with_a_secret_is_seen_among_names():
    assert [text for text in SECRETS if is_plain("\n".join([*COLUMNS, text, *COLUMNS]))] == []


def test_names_of_columns_are_plain():
    assert is_plain("\n".join(COLUMNS))


def test_new_words_get_the_kinds_that_each_has_alone():
    for text in [*SECRETS, *HARMLESS]:
        words._cached_plain_words.clear()
        found = words._suspicious_words(
            new := set(text.encode("utf-8", "replace").translate(words._NAME_CHARS).split())
        )
        assert [word for word in new - found if words._classify(word)] == []


def test_one_long_word_with_many_names_of_secrets_is_searched_once():
    assert words._suspicious_words({b"token" * 100_000, b"orders"}) == {b"token" * 100_000}
