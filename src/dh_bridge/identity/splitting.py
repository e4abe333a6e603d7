"""Splits a platform's job names into flow and job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from dh_bridge.identity.producers import NameForm, ProducerMapping

_GROUPS = {"flow", "job", "display"}


class JobNameParts(NamedTuple):
    """A job name in parts: ids of flow and job (equal: a flow-level job), the job's display name, what made them.

    ``shared``: one job stands for unrelated runs.
    """

    flow: str
    job: str
    display: str
    reason: str
    shared: bool = False


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    flow: str | None
    job: str | None
    shared: bool
    reason: str

    def parts(self, name: str) -> JobNameParts | None:
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        groups = match.groupdict()
        flow = self.flow or groups.get("flow") or name
        job = self.job or groups.get("job") or name
        return JobNameParts(flow, job, groups.get("display") or job, self.reason, self.shared)


def split_at_first_dot(name: str) -> JobNameParts:
    """Cut at the first dot, unless it opens or ends the name: so does DataHub's own OpenLineage endpoint."""
    flow, _, task = name.partition(".")
    if flow and task:
        return JobNameParts(flow, name, task, "first dot")
    return JobNameParts(name, name, name, "whole name")


class JobNameSplitter:
    """The name forms of all platforms."""

    def __init__(self, mappings: list[tuple[str, ProducerMapping]]) -> None:
        self._forms: dict[str, tuple[_Form, ...]] = {}
        self._unsplit_platforms: set[str] = set()
        for stem, row in mappings:
            if row.names and row.platform not in self._forms:
                self._forms[row.platform] = tuple(_compile_form(form, stem) for form in row.names)
            if row.otherwise == "whole":
                self._unsplit_platforms.add(row.platform)

    def has_form(self, platform: str, name: str) -> bool:
        """Return whether a form of the platform describes the whole name."""
        return any(form.pattern.fullmatch(name) for form in self._forms.get(platform, ()))

    def split(self, platform: str, name: str) -> JobNameParts:
        """Return the parts of a cleaned job name."""
        for form in self._forms.get(platform, ()):
            parts = form.parts(name)
            if parts is not None:
                return parts
        if platform in self._unsplit_platforms:
            return JobNameParts(name, name, name, "whole name")
        return split_at_first_dot(name)


def _compile_form(form: NameForm, stem: str) -> _Form:
    location = f"mappings/producers/{stem}.yaml"
    try:
        form_pattern = re.compile(form.pattern, re.DOTALL)
    except re.error as error:
        raise MappingError(f"`{form.pattern}`: {error}", location=location, remedy="fix the pattern") from error
    if unknown := form_pattern.groupindex.keys() - _GROUPS:
        raise MappingError(
            f"unknown groups {sorted(unknown)}", location=location, remedy="use the groups flow, job, display"
        )
    return _Form(form_pattern, form.flow, form.job, form.shared, f"name form of {stem}")
