"""spark_applicationDetails (run): the application (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.slots import RUN_NAME, RUN_URL, RUN_USER, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

#: rungs of facets.md 3.2 (application runs only), 3.4 and 3.9
APPLICATION_RUNG = 4
_URL_RUNGS = {"historyUrl": 2, "proxyUrl": 3, "uiWebUrl": 4}
_USER_RUNG = 0
_PROPERTIES = "dataProcessInstanceProperties"


@facet(
    "spark_applicationDetails",
    at="run",
    leaves={
        "applicationId": mapped(f"{_PROPERTIES}.name", f"{_PROPERTIES}.customProperties"),
        "userName": mapped(
            f"{_PROPERTIES}.created.actor",
            f"{_PROPERTIES}.customProperties",
            "operation.actor",
            "dataJobInputOutput.inputDatasetEdges[].created.actor",
        ),
        **{
            leaf: mapped(
                f"{_PROPERTIES}.externalUrl",
                f"{_PROPERTIES}.customProperties",
                "dataProcessInstanceRunEvent.externalUrl",
            )
            for leaf in _URL_RUNGS
        },
        "**": kept(),
    },
    producer="Spark",
)
def spark_application_details(opened: Open, at: Place) -> Statements:
    """Application id (the name of application runs), user, pages; everything kept as properties too."""
    body = opened.body
    properties = flattened("spark_applicationDetails", body)
    if properties:
        yield property_statement(at, properties)
    if isinstance(body.get("applicationId"), str):
        yield at.run, RUN_NAME, APPLICATION_RUNG, body["applicationId"]
    if isinstance(body.get("userName"), str) and body["userName"]:
        yield at.run, RUN_USER, _USER_RUNG, body["userName"]
    for leaf, rung in _URL_RUNGS.items():
        first = str(body.get(leaf) or "").split(",", 1)[0].strip()
        if first.startswith(("http://", "https://")):
            yield at.run, RUN_URL, rung, first
