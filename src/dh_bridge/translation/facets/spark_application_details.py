"""spark_applicationDetails (run): the application (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, RUN_USER, Statements
from dh_bridge.translation.precedence import (
    NAME_APPLICATION,
    URL_SPARK_HISTORY,
    URL_SPARK_PROXY,
    URL_SPARK_UI,
    USER_SPARK,
    page,
)
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_URL_RUNGS = {"historyUrl": URL_SPARK_HISTORY, "proxyUrl": URL_SPARK_PROXY, "uiWebUrl": URL_SPARK_UI}


@facet(
    "spark_applicationDetails",
    at="run",
    leaves={
        "applicationId": mapped(RUN_NAME, RUN_PROPERTIES),
        "userName": mapped(RUN_USER, RUN_PROPERTIES),
        **dict.fromkeys(_URL_RUNGS, mapped(RUN_URL, RUN_PROPERTIES)),
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
    if application := text_of(body.get("applicationId")):
        yield at.run, RUN_NAME, NAME_APPLICATION, application
    if user := text_of(body.get("userName")):
        yield at.run, RUN_USER, USER_SPARK, user
    for leaf, rung in _URL_RUNGS.items():
        first = page(str(body.get(leaf) or "").split(",", 1)[0])
        if first is not None:
            yield at.run, RUN_URL, rung, first
