"""gcp_dataproc (run): the Dataproc job or batch. https://openlineage.io/spec/registry/gcp/dataproc"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, Statements
from dh_bridge.translation.precedence import NAME_APPLICATION, URL_DATAPROC
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "gcp_dataproc",
    "gcp_dataproc_spark",
    at="run",
    leaves={
        "appId": mapped(RUN_NAME, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Google Cloud",
)
def gcp_dataproc(opened: Open, at: Place) -> Statements:
    """Properties of the run; the application id names application runs. Both keys carry the same leaves."""
    properties = flattened("gcp_dataproc", opened.body)
    if properties:
        yield property_statement(at, properties)
    yield from _page(opened.body, at)
    application = text_of(opened.body.get("appId"))
    if application:
        yield at.run, RUN_NAME, NAME_APPLICATION, application


#: leaf that tells the kind of thing -> the console's word for it
_KINDS = {"batchId": "batches", "jobId": "jobs", "sessionId": "interactive"}


def _page(body: dict[str, Any], at: Place) -> Statements:
    """Yield the page of the batch, job or session in Google's console, for which the event lacks the region."""
    region, project = at.options.settings.links.dataproc_region, text_of(body.get("projectId"))
    if region is None or not project:
        return
    for leaf, word in _KINDS.items():
        name = text_of(body.get(leaf))
        if name:
            where = f"{word}/{region}/{quote(name, safe='')}"
            url = f"https://console.cloud.google.com/dataproc/{where}?project={quote(project, safe='')}"
            yield at.run, RUN_URL, URL_DATAPROC, url
            return
