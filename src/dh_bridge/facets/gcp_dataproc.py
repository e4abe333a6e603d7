"""gcp_dataproc (run): the Dataproc job or batch. https://openlineage.io/spec/registry/gcp/dataproc"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, Facts
from dh_bridge.model.precedence import NAME_APPLICATION, URL_DATAPROC
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "gcp_dataproc",
    "gcp_dataproc_spark",
    attach="run",
    outcomes={
        "appId": mapped(RUN_NAME, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Google Cloud",
)
def gcp_dataproc(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; the application id names application runs. Both keys carry the same leaves."""
    properties = flatten("gcp_dataproc", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    yield from _page_facts(facet.content, ctx)
    application = text_of(facet.content.get("appId"))
    if application:
        yield ctx.run_urn, RUN_NAME, NAME_APPLICATION, application


#: leaf that tells the kind of thing -> the console's word for it
_CONSOLE_SECTIONS = {"batchId": "batches", "jobId": "jobs", "sessionId": "interactive"}


def _page_facts(content: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the page of the batch, job or session in Google's console, for which the event lacks the region."""
    region, project = ctx.options.settings.links.dataproc_region, text_of(content.get("projectId"))
    if region is None or not project:
        return
    for field_name, section in _CONSOLE_SECTIONS.items():
        name = text_of(content.get(field_name))
        if name:
            page_path = f"{section}/{region}/{quote(name, safe='')}"
            url = f"https://console.cloud.google.com/dataproc/{page_path}?project={quote(project, safe='')}"
            yield ctx.run_urn, RUN_URL, URL_DATAPROC, url
            return
