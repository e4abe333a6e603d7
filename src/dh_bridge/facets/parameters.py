"""Facets with the parameters and environment variables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.facet_support.named_parameters import NamedParameter, named_parameter_properties
from dh_bridge.model.facts import RUN_PROPERTIES
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


# -- executionParameters (run). https://openlineage.io/docs/spec/facets/run-facets/execution_parameters

_META_KEY = "executionParameters.meta"


class ExecutionParameter(Facet):
    """A parameter: its key, its value, which the specification's own example has as a number, and what people call it."""

    key: str | None = None
    name: str | None = None
    description: str | None = None
    value: Any = None


class ExecutionParameters(Facet):
    """The parameters."""

    parameters: list[ExecutionParameter] | None = None


_PARAMETER_OUTCOME = as_property(RUN_PROPERTIES["*"])


@facet(
    "executionParameters",
    attach="run",
    struct=ExecutionParameters,
    outcomes={
        f"parameters[].{field_name}": _PARAMETER_OUTCOME
        for field_name in ("key", "value", "value**", "name", "description")
    },
)
def execution_parameters(facet: ExecutionParameters, ctx: FacetContext) -> Facts:
    """One property of the run for each parameter, as with environmentVariables. Names and descriptions are one JSON property."""
    named_parameters = [
        NamedParameter(f"parameters[{position}]", "key", parameter.key, parameter.value)
        for position, parameter in enumerate(facet.parameters or ())
    ]
    properties = named_parameter_properties("executionParameters", named_parameters, ctx)
    meta: dict[str, dict[str, str]] = {}
    for parameter in facet.parameters or ():
        labels = {
            field_name: text for field_name in ("name", "description") if (text := getattr(parameter, field_name))
        }
        if labels and parameter.key and f"executionParameters.{parameter.key}" in properties:
            meta[parameter.key] = labels
    if meta:
        clash = properties.get(_META_KEY)  # a parameter that is called so itself
        if clash is not None:
            meta["meta"] = {**meta.get("meta", {}), "value": clash}
        properties[_META_KEY] = present_property_text(_META_KEY, meta)
    if properties:
        yield property_fact(ctx, properties)


# -- environmentVariables (run). https://openlineage.io/docs/spec/facets/run-facets/environment_variables


class EnvironmentVariable(Facet):
    """A variable."""

    name: str | None = None
    value: Any = None


class EnvironmentVariables(Facet):
    """The variables."""

    environmentVariables: list[EnvironmentVariable] | None = None


_VARIABLE_OUTCOME = as_property(RUN_PROPERTIES["*"])


@facet(
    "environmentVariables",
    attach="run",
    struct=EnvironmentVariables,
    outcomes={f"environmentVariables[].{field_name}": _VARIABLE_OUTCOME for field_name in ("name", "value", "value**")},
)
def environment_variables(facet: EnvironmentVariables, ctx: FacetContext) -> Facts:
    """One property of the run for each variable, at most 100 in alphabetical order. Secrets are recognised by name and by shape, and masked."""
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
