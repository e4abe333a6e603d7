"""dbt_version (run): the version of dbt (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "dbt_version",
    at="run",
    leaves={
        "**": kept(RUN_PROPERTIES, JOB_PROPERTIES),
    },
    producer="dbt",
)
def dbt_version(opened: Open, at: Place) -> Statements:
    """Version of dbt, on the run and on its job."""
    properties = flattened("dbt_version", opened.body)
    if properties:
        yield property_statement(at, properties)
        yield at.owner, JOB_PROPERTIES, "dbt_version", properties
