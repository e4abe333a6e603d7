"""How a platform's job names fall into flow and job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from dh_bridge.translation.identity.producers import NameForm, Row

_GROUPS = {"flow", "job", "display"}


class Parts(NamedTuple):
    """A job name in parts: ids of flow and job (equal: a flow-level job), the job's display name, what made them.

    ``shared``: one job stands for unrelated runs.
    """

    flow: str
    job: str
    display: str
    why: str
    shared: bool = False


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    flow: str | None
    job: str | None
    shared: bool
    why: str

    def parts(self, name: str) -> Parts | None:
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        said = match.groupdict()
        flow = self.flow or said.get("flow") or name
        job = self.job or said.get("job") or name
        return Parts(flow, job, said.get("display") or job, self.why, self.shared)


def first_dot(name: str) -> Parts:
    """Cut at the first dot, unless it opens or ends the name: so does DataHub's own OpenLineage endpoint."""
    flow, _, rest = name.partition(".")
    if flow and rest:
        return Parts(flow, name, rest, "first dot")
    return Parts(name, name, name, "whole name")


class Splitting:
    """The name forms of all platforms."""

    def __init__(self, found: list[tuple[str, Row]]) -> None:
        self._forms: dict[str, tuple[_Form, ...]] = {}
        self._whole: set[str] = set()
        for stem, row in found:
            if row.names and row.platform not in self._forms:
                self._forms[row.platform] = tuple(_form(form, stem) for form in row.names)
            if row.otherwise == "whole":
                self._whole.add(row.platform)

    def split(self, platform: str, name: str) -> Parts:
        """Return the parts of a cleaned job name."""
        for form in self._forms.get(platform, ()):
            parts = form.parts(name)
            if parts is not None:
                return parts
        if platform in self._whole:
            return Parts(name, name, name, "whole name")
        return first_dot(name)


def _form(form: NameForm, stem: str) -> _Form:
    place = f"mappings/producers/{stem}.yaml"
    try:
        pattern = re.compile(form.pattern, re.DOTALL)
    except re.error as error:
        raise MappingError(f"`{form.pattern}`: {error}", where=place, now="mend the pattern") from error
    if unknown := pattern.groupindex.keys() - _GROUPS:
        raise MappingError(f"groups {sorted(unknown)} mean nothing", where=place, now="name groups flow, job, display")
    return _Form(pattern, form.flow, form.job, form.shared, f"name form of {stem}")
