"""Findings: problems in a sample of events, and the setting that solves each of them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")
_MAX_TEXT_LENGTH = 100
MAX_EXAMPLES = 3
"""Examples of a finding, at most."""
MAX_EVIDENCE_NAMES = 100
"""The most names of one kind that a finding shows as evidence."""


class Finding(msgspec.Struct, frozen=True):
    """A problem that was found ``count`` times, and the setting that solves it.

    Attributes:
        kind: A key of ``KINDS``.
        text: The problem, for people.
        count: How often it was found.
        path: The setting that solves it, such as ``("naming", "locations")``. Empty if no setting does.
        value: What to add to the setting: a member of a list, (key, value) of a mapping, or the value.
        sure: Whether the value was tried and needs no decision. Other values are shown as comments.
        examples: Names or locations that have the problem, at most ``MAX_EXAMPLES``.
        effect: What the setting changes in the sample: ``61 flows become 1``.
        has_evidence: Whether a symlink or equal columns support a change of the platform.
        promise: The names that the setting changes (namespace, line feed, name), and what each of them becomes: the URN of a
            dataset, the name of a flow, or the name of a flow, a line feed and the id of a job.
    """

    kind: str
    text: str
    count: int
    path: tuple[str, ...] = ()
    value: Any = None
    sure: bool = True
    examples: tuple[str, ...] = ()
    effect: str = ""
    has_evidence: bool = False
    promise: dict[str, str | None] = {}

    def row(self) -> dict[str, Any]:
        """Return the finding for programs."""
        row = msgspec.structs.asdict(self)
        del row["promise"], row["has_evidence"]
        return row

    def without_setting(self) -> Finding:
        """Return the finding without its setting."""
        return msgspec.structs.replace(self, path=(), value=None, effect="", promise={})


def one_line(text: str, *, max_length: int = _MAX_TEXT_LENGTH) -> str:
    """Return text from events as one line of at most ``max_length`` characters."""
    line = _CONTROL.sub(" ", text)
    return line if len(line) <= max_length else f"{line[:max_length]}…"


def list_examples(names: list[str]) -> str:
    """Return the first words for people, and how many there are more."""
    remaining = len(names) - MAX_EXAMPLES
    return ", ".join(map(one_line, names[:MAX_EXAMPLES])) + (f" and {remaining:,} more" if remaining > 0 else "")


def count_text(count: int, noun: str, *, plural: str = "", limit: int = 0) -> str:
    """Return a count with its noun, ``1 event``, ``1,200 events``; ``limit`` is where counting ended."""
    at_least = "at least " if limit and count >= limit else ""
    return f"{at_least}{count:,} {noun if count == 1 else plural or f'{noun}s'}"
