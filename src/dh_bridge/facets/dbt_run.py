"""dbt_run (run): the invocation of dbt (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import JOB_PROPERTIES, RUN_NAME, RUN_PROPERTIES, RUN_TYPE, Facts
from dh_bridge.model.precedence import NAME_INVOCATION, TYPE_BATCHES
from dh_bridge.model.properties import flatten
from dh_bridge.model.run_state import ANY_OWNER

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "dbt_run",
    attach="run",
    outcomes={
        "invocation_id": mapped(
            RUN_NAME,
            RUN_PROPERTIES,
        ),
        "project_name": as_property(RUN_PROPERTIES, JOB_PROPERTIES),
        "**": as_property(),
    },
    producer="dbt",
)
def dbt_run(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Invocation id (the name of the invocation's run), project and profile as properties.

    dbt tries no node again under the same run id. A microbatch model has a START and an end for each batch, then its own
    end, which is OTHER where some failed.
    """
    yield ctx.run_urn, RUN_TYPE, TYPE_BATCHES, True
    properties = flatten("dbt_run", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    invocation = text_of(facet.content.get("invocation_id"))
    if invocation:
        yield ctx.run_urn, RUN_NAME, NAME_INVOCATION, invocation
    project = properties.get("dbt_run.project_name")
    if project and ctx.job is not None and ctx.owner_urn != ANY_OWNER:
        yield ctx.job.flow_urn, JOB_PROPERTIES, "dbt_run", {"dbt_run.project_name": project}
