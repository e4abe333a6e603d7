"""Findings: what was noticed in events, and the setting that it calls for."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")
_SHOWN = 100
_EXAMPLES = 3
MOST = 100
"""Names of one kind that are told apart, as evidence."""


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


def shown(text: str) -> str:
    """Return text from events so that it can stand in a comment: one line, at most 100 characters."""
    line = _CONTROL.sub(" ", text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def listed(words: list[str]) -> str:
    """Return the first words for people, and how many there are more."""
    more = len(words) - _EXAMPLES
    return ", ".join(map(shown, words[:_EXAMPLES])) + (f" and {more:,} more" if more > 0 else "")


def times(count: int, one: str, *, most: int = 0) -> str:
    """Return a count with its noun, ``1 event``, ``1,200 events``; ``most`` is where counting ended."""
    at_least = "at least " if most and count >= most else ""
    return f"{at_least}{count:,} {one}" if count == 1 else f"{at_least}{count:,} {one}s"
