"""spark_applicationDetails (run): the application (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, RUN_USER, Facts
from dh_bridge.model.precedence import (
    NAME_APPLICATION,
    URL_SPARK_HISTORY,
    URL_SPARK_PROXY,
    URL_SPARK_UI,
    USER_SPARK,
    web_page_url,
)
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_URL_PRECEDENCES = {"historyUrl": URL_SPARK_HISTORY, "proxyUrl": URL_SPARK_PROXY, "uiWebUrl": URL_SPARK_UI}


@facet(
    "spark_applicationDetails",
    attach="run",
    outcomes={
        "applicationId": mapped(RUN_NAME, RUN_PROPERTIES),
        "userName": mapped(RUN_USER, RUN_PROPERTIES),
        **dict.fromkeys(_URL_PRECEDENCES, mapped(RUN_URL, RUN_PROPERTIES)),
        "**": as_property(),
    },
    producer="Spark",
)
def spark_application_details(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Application id (the name of application runs), user, pages; everything kept as properties too."""
    content = facet.content
    properties = flatten("spark_applicationDetails", content)
    if properties:
        yield property_fact(ctx, properties)
    if application := text_of(content.get("applicationId")):
        yield ctx.run_urn, RUN_NAME, NAME_APPLICATION, application
    if user := text_of(content.get("userName")):
        yield ctx.run_urn, RUN_USER, USER_SPARK, user
    for field_name, precedence in _URL_PRECEDENCES.items():
        url = web_page_url(str(content.get(field_name) or "").split(",", 1)[0])
        if url is not None:
            yield ctx.run_urn, RUN_URL, precedence, url
