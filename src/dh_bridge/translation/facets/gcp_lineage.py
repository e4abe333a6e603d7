"""gcp_lineage (job): display name and origin. https://openlineage.io/spec/registry/gcp/lineage"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_FIELD, Statements
from dh_bridge.translation.precedence import FIELD_STATED
from dh_bridge.translation.properties import capped, flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "gcp_lineage",
    at="job",
    leaves={"displayName": mapped(JOB_FIELD["name"]), "**": kept()},
    producer="Google Cloud",
)
def gcp_lineage(opened: Open, at: Place) -> Statements:
    """The name to show for the job or flow; its origin as properties."""
    body = dict(opened.body)
    name = text_of(body.get("displayName"))
    if name:
        del body["displayName"]
        yield at.owner, JOB_FIELD, ("name", FIELD_STATED), capped(name)
    properties = flattened("gcp_lineage", body)
    if properties:
        yield property_statement(at, properties)
