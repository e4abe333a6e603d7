"""environmentVariables (run). https://openlineage.io/docs/spec/facets/run-facets/environment_variables"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES
from dh_bridge.translation.reading.given import Given, given_properties

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class EnvironmentVariable(Facet):
    """A variable."""

    name: str | None = None
    value: Any = None


class EnvironmentVariables(Facet):
    """The variables."""

    environmentVariables: list[EnvironmentVariable] | None = None


_ROW = kept(RUN_PROPERTIES["*"])


@facet(
    "environmentVariables",
    at="run",
    reads=EnvironmentVariables,
    leaves={f"environmentVariables[].{leaf}": _ROW for leaf in ("name", "value", "value**")},
)
def environment_variables(facet: EnvironmentVariables, at: Place) -> Statements:
    """A property of the run for each variable, secrets masked by name and by shape; the first 100 of the alphabet."""
    properties = given_properties(
        "environmentVariables",
        [
            Given(f"environmentVariables[{position}]", "name", one.name, one.value)
            for position, one in enumerate(facet.environmentVariables or ())
        ],
        at,
    )
    if properties:
        yield property_statement(at, properties)
