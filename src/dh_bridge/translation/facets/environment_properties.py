"""environment-properties (run): the Databricks environment (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.slots import RUN_USER, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

#: rung of facets.md 3.9
_USER_RUNG = 3


@facet(
    "environment-properties",
    at="run",
    leaves={
        "environment-properties.mountPoints[].**": withheld("too-large"),
        "environment-properties.user": mapped(
            "dataProcessInstanceProperties.created",
            "dataProcessInstanceProperties.customProperties",
            "operation.actor",
            "dataJobInputOutput.inputDatasetEdges[].created.actor",
        ),
        "**": kept(),
    },
    producer="Spark",
)
def environment_properties(opened: Open, at: Place) -> Statements:
    """Properties of the run, redacted; of the mount table only its size; the user is the run's user."""
    inner = opened.body.get("environment-properties")
    body = dict(inner) if isinstance(inner, dict) else dict(opened.body)
    mounts = body.pop("mountPoints", None)
    properties = flattened("environment-properties", body)
    if isinstance(mounts, list):
        properties["environment-properties.mountPoints.count"] = str(len(mounts))
    user = body.get("user")
    if isinstance(user, str) and user:
        yield at.run, RUN_USER, _USER_RUNG, user
    if properties:
        yield property_statement(at, properties)
