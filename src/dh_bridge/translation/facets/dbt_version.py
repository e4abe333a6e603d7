"""dbt_version (run): the version of dbt (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, Statements
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_ASPECTS = ("dataProcessInstanceProperties", "dataJobInfo", "dataFlowInfo")


@facet(
    "dbt_version",
    at="run",
    leaves={
        "version": kept(*(f"{aspect}.customProperties[openlineage.dbt_version.version]" for aspect in _ASPECTS)),
        "**": kept(*(f"{aspect}.customProperties[openlineage.dbt_version.{{path}}]" for aspect in _ASPECTS)),
    },
    producer="dbt",
)
def dbt_version(opened: Open, at: Place) -> Statements:
    """Version of dbt, on the run and on its job."""
    properties = flattened("dbt_version", opened.body)
    if properties:
        yield property_statement(at, properties)
        yield at.owner, JOB_PROPERTIES, "dbt_version", properties
