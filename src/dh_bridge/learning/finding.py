"""Findings: what was noticed in events, and the setting that it calls for."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")
_MAX_TEXT_LENGTH = 100
_MAX_EXAMPLES = 3
MAX_EVIDENCE_NAMES = 100
"""Maximum number of names of one kind in the evidence."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was noticed ``count`` times, for people in ``text``.

    ``path`` names the setting (``("naming", "locations")``), () for a warning; ``value`` is what to add to it: a member
    of a list, (key, value) of a mapping, or the value. One that is not ``sure`` is proposed as a comment.
    """

    kind: str
    text: str
    count: int
    path: tuple[str, ...] = ()
    value: Any = None
    sure: bool = True


def one_line(text: str) -> str:
    """Return text from events in the form of a comment: one line, at most 100 characters."""
    line = _CONTROL.sub(" ", text)
    return line if len(line) <= _MAX_TEXT_LENGTH else f"{line[:_MAX_TEXT_LENGTH]}…"


def list_examples(names: list[str]) -> str:
    """Return the first words for people, and how many there are more."""
    remaining = len(names) - _MAX_EXAMPLES
    return ", ".join(map(one_line, names[:_MAX_EXAMPLES])) + (f" and {remaining:,} more" if remaining > 0 else "")


def count_text(count: int, noun: str, *, limit: int = 0) -> str:
    """Return a count with its noun, ``1 event``, ``1,200 events``; ``limit`` is where counting ended."""
    at_least = "at least " if limit and count >= limit else ""
    return f"{at_least}{count:,} {noun}" if count == 1 else f"{at_least}{count:,} {noun}s"
