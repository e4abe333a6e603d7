"""executionParameters (run). https://openlineage.io/docs/spec/facets/run-facets/execution_parameters"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.given import Given, given_properties

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements

_META = "executionParameters.meta"


class ExecutionParameter(Facet):
    """A parameter: its key, its value, which the specification's own example has as a number, and what people call it."""

    key: str | None = None
    name: str | None = None
    description: str | None = None
    value: Any = None


class ExecutionParameters(Facet):
    """The parameters."""

    parameters: list[ExecutionParameter] | None = None


_ROW = kept(RUN_PROPERTIES["*"])


@facet(
    "executionParameters",
    at="run",
    reads=ExecutionParameters,
    leaves={f"parameters[].{leaf}": _ROW for leaf in ("key", "value", "value**", "name", "description")},
)
def execution_parameters(facet: ExecutionParameters, at: Place) -> Statements:
    """A property of the run for each parameter, as with environment variables; names and descriptions in one JSON."""
    pairs = [
        Given(f"parameters[{position}]", "key", one.key, one.value)
        for position, one in enumerate(facet.parameters or ())
    ]
    properties = given_properties("executionParameters", pairs, at)
    meta: dict[str, dict[str, str]] = {}
    for one in facet.parameters or ():
        said = {leaf: text for leaf in ("name", "description") if (text := getattr(one, leaf))}
        if said and one.key and f"executionParameters.{one.key}" in properties:
            meta[one.key] = said
    if meta:
        clash = properties.get(_META)  # a parameter that is called so itself
        if clash is not None:
            meta["meta"] = {**meta.get("meta", {}), "value": clash}
        properties[_META] = worded(_META, meta)
    if properties:
        yield property_statement(at, properties)
