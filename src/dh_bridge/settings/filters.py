"""Filters: which events, datasets and facets are left out, each drop counted with the rule that made it.

Patterns are globs, compared with the whole text and with its case: ``*`` stands for any characters (dots and slashes
too), ``?`` for one, ``[0-9]`` for one of a set; ``[*]`` is a literal star. Deny wins; an empty allow list allows all.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_MODEL = ConfigDict(extra="forbid", frozen=True)

Pattern = Annotated[str, StringConstraints(min_length=1)]
Patterns = tuple[Pattern, ...]


def _compile_patterns(patterns: Patterns) -> re.Pattern[str] | None:
    return re.compile("|".join(translate(pattern) for pattern in patterns)) if patterns else None


class AllowDeny(BaseModel):
    """Two lists of patterns over one text of an event."""

    model_config = _MODEL

    allow: Patterns = Field(default=(), description="When there are any: what matches none of them is left out.")
    deny: Patterns = Field(default=(), description="What matches one of them is left out.")

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        return _compile_patterns(self.allow), _compile_patterns(self.deny)

    def __bool__(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.allow or self.deny)

    def refusal(self, text: str) -> str | None:
        """Return the rule that leaves ``text`` out (``deny: tmp_*`` or ``allow``), None when it stays."""
        allow, deny = self._compiled
        if deny is not None and deny.match(text):
            return next(f"deny: {pattern}" for pattern in self.deny if re.match(translate(pattern), text))
        if allow is not None and not allow.match(text):
            return "allow"
        return None


class FilterSettings(BaseModel):
    """What is left out, and temporary datasets that lineage runs through.

    Patterns are globs over the whole text, with its case: `*` stands for any characters (dots and slashes too), `?` for
    one, `[0-9]` for one of a set. Deny wins; an empty allow list allows all.
    """

    model_config = _MODEL

    job_namespace: AllowDeny = Field(default=AllowDeny(), description="By the namespace of the job.")
    job_name: AllowDeny = Field(default=AllowDeny(), description="By the name of the job.")
    dataset_namespace: AllowDeny = Field(default=AllowDeny(), description="By the namespace of a dataset.")
    dataset_name: AllowDeny = Field(default=AllowDeny(), description="By the name of a dataset.")
    producer: AllowDeny = Field(default=AllowDeny(), description="By the event's `producer`, a URL.")
    event_type: AllowDeny = Field(
        default=AllowDeny(), description="By the event type: START, RUNNING, COMPLETE, FAIL, ABORT, OTHER."
    )
    facet: AllowDeny = Field(default=AllowDeny(), description="By the key of a facet; the rest of the event stays.")
    through: Patterns = Field(
        default=(),
        description="Temporary datasets: globs over `name` or `namespace/name`. They are not written; lineage runs"
        " through them, from what they were made of to what was made of them.",
    )

    @cached_property
    def _collapse_pattern(self) -> re.Pattern[str] | None:
        return _compile_patterns(self.through)

    def is_collapsed(self, namespace: str, name: str) -> bool:
        """Whether the dataset is one of the temporary ones that lineage runs through."""
        return self._collapse_pattern is not None and bool(
            self._collapse_pattern.match(name) or self._collapse_pattern.match(f"{namespace}/{name}")
        )
