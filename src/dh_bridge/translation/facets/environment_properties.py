"""environment-properties (run): the Databricks environment (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.given import configuration
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.rungs import USER_DATABRICKS, USER_TARGETS
from dh_bridge.translation.slots import RUN_USER, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

_KEY = "environment-properties"


@facet(
    "environment-properties",
    at="run",
    leaves={
        "environment-properties.mountPoints[].**": withheld("too-large"),
        "environment-properties.user": mapped(*USER_TARGETS),
        "environment-properties.**": kept(
            "dataProcessInstanceProperties.customProperties[openlineage.environment-properties]"
        ),
        "**": kept(),
    },
    producer="Spark",
)
def environment_properties(opened: Open, at: Place) -> Statements:
    """Properties of the run, redacted; of the mount table only its size; the user is the run's user."""
    inner = opened.body.get(_KEY)
    nested = isinstance(inner, dict)
    rest = {name: value for name, value in opened.body.items() if name != _KEY} if nested else {}
    body = dict(inner) if isinstance(inner, dict) else dict(opened.body)
    mounts, user = body.pop("mountPoints", None), body.pop("user", None)
    for name in rest.keys() & body.keys():
        at.withheld(name, f"duplicate-of:{_KEY}.{name}")
    body = configuration(body, _KEY if nested else "", at)
    properties = flattened(_KEY, {**rest, **({"user": user} if user is not None else {}), **body})
    if isinstance(mounts, list):
        properties[f"{_KEY}.mountPoints.count"] = str(len(mounts))
    if isinstance(user, str) and user:
        yield at.run, RUN_USER, USER_DATABRICKS, user
    if properties:
        yield property_statement(at, properties)
