"""environmentVariables (run). https://openlineage.io/docs/spec/facets/run-facets/environment_variables"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.facet_support.named_parameters import NamedParameter, named_parameter_properties
from dh_bridge.model.facts import RUN_PROPERTIES

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class EnvironmentVariable(Facet):
    """A variable."""

    name: str | None = None
    value: Any = None


class EnvironmentVariables(Facet):
    """The variables."""

    environmentVariables: list[EnvironmentVariable] | None = None


_OUTCOME = as_property(RUN_PROPERTIES["*"])


@facet(
    "environmentVariables",
    attach="run",
    struct=EnvironmentVariables,
    outcomes={f"environmentVariables[].{field_name}": _OUTCOME for field_name in ("name", "value", "value**")},
)
def environment_variables(facet: EnvironmentVariables, ctx: FacetContext) -> Facts:
    """A property of the run for each variable, secrets masked by name and by shape; the first 100 of the alphabet."""
    properties = named_parameter_properties(
        "environmentVariables",
        [
            NamedParameter(f"environmentVariables[{position}]", "name", variable.name, variable.value)
            for position, variable in enumerate(facet.environmentVariables or ())
        ],
        ctx,
    )
    if properties:
        yield property_fact(ctx, properties)
