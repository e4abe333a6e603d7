"""gcp_dataproc (run): the Dataproc job or batch. https://openlineage.io/spec/registry/gcp/dataproc"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.rungs import NAME_APPLICATION
from dh_bridge.translation.slots import RUN_NAME, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place


@facet(
    "gcp_dataproc",
    "gcp_dataproc_spark",
    at="run",
    leaves={
        "appId": mapped("dataProcessInstanceProperties.name", "dataProcessInstanceProperties.customProperties"),
        "**": kept(),
    },
    producer="Google Cloud",
)
def gcp_dataproc(opened: Open, at: Place) -> Statements:
    """Properties of the run; the application id names application runs. Both keys carry the same leaves."""
    properties = flattened("gcp_dataproc", opened.body)
    if properties:
        yield property_statement(at, properties)
    application = opened.body.get("appId")
    if isinstance(application, str) and application:
        yield at.run, RUN_NAME, NAME_APPLICATION, application
