"""Filters: which events, datasets and facets are left out, and the lists of patterns that other settings use, too.

Patterns are globs, compared with the whole text and with its case: ``*`` stands for any characters (dots and slashes
too), ``?`` for one, ``[0-9]`` for one of a set; ``[*]`` is a literal star. A pattern that begins with ``!`` excludes.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Pattern = Annotated[str, StringConstraints(min_length=1)]
Patterns = tuple[Pattern, ...]


class PatternList:
    """Compiled patterns, of which the last one that matches decides.

    As in the path filters of GitHub Actions and in ripgrep's ``--glob``: a pattern includes, one with ``!`` in front
    excludes. What no pattern matches is included only if all patterns exclude.

    >>> PatternList(("etl_*", "!*_tmp")).exclusion("etl_tmp")
    '!*_tmp'
    """

    def __init__(self, patterns: Patterns) -> None:
        self._rules = [
            (pattern, re.compile(translate(pattern.removeprefix("!"))).match, "/" in pattern)
            for pattern in reversed(patterns)
        ]
        self._has_inclusions = any(not pattern.startswith("!") for pattern in patterns)

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return bool(self._rules)

    def exclusion(self, name: str, namespace: str | None = None) -> str | None:
        """Return the reason to leave a name out: the pattern, or ``no pattern matches``; None if the name is included.

        Args:
            name: The text to compare.
            namespace: Patterns with a slash are compared with ``namespace/name`` if a namespace is given.
        """
        full_name = name if namespace is None else f"{namespace}/{name}"
        for pattern, match, has_slash in self._rules:
            if match(full_name if has_slash else name):
                return pattern if pattern.startswith("!") else None
        return "no pattern matches" if self._has_inclusions else None


class FilterSettings(BaseModel):
    """Events, datasets and facets that are left out.

    Patterns are globs over the whole text, with its case: `*` stands for any characters (dots and slashes too), `?` for
    one, `[0-9]` for one of a set. A pattern includes; a pattern that begins with `!` excludes (quote it in YAML). The last
    pattern that matches decides. If a list has only exclusions, all other texts are included: `["!tmp_*"]`. Otherwise texts
    that match no pattern are left out: `["etl_*", "!etl_tmp_*"]`. An empty list includes all. In `jobs` and `datasets`, a
    pattern with a slash is compared with `namespace/name`, and a pattern without a slash with the name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs: Patterns = Field(
        default=(),
        description='Jobs whose events are read: `["!tmp_*", "!dev/*"]` drops names that begin with `tmp_`, and the'
        " namespace `dev`.",
    )
    datasets: Patterns = Field(
        default=(),
        description='Datasets that are read: `["!*.staging.*", "!s3://scratch/*"]`. The rest of the event stays.',
    )
    producers: Patterns = Field(
        default=(), description="Producers whose events are read, by the event's `producer` (a URL)."
    )
    event_types: Patterns = Field(
        default=(), description="Types of events that are read: START, RUNNING, COMPLETE, FAIL, ABORT, OTHER."
    )
    facets: Patterns = Field(
        default=(), description="Facets that are read, by their keys. The rest of the event stays."
    )
