"""dbt_run (run): the invocation of dbt (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, RUN_NAME, RUN_PROPERTIES, RUN_TYPE, Statements
from dh_bridge.translation.precedence import NAME_INVOCATION, TYPE_BATCHES
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of
from dh_bridge.translation.runstate import ANY_OWNER

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "dbt_run",
    at="run",
    leaves={
        "invocation_id": mapped(
            RUN_NAME,
            RUN_PROPERTIES,
        ),
        "project_name": kept(RUN_PROPERTIES, JOB_PROPERTIES),
        "**": kept(),
    },
    producer="dbt",
)
def dbt_run(opened: Open, at: Place) -> Statements:
    """Invocation id (the name of the invocation's run), project and profile as properties.

    dbt tries no node again under the same run id. A microbatch model has a START and an end for each batch, then its own
    end, which is OTHER where some failed.
    """
    yield at.run, RUN_TYPE, TYPE_BATCHES, True
    properties = flattened("dbt_run", opened.body)
    if properties:
        yield property_statement(at, properties)
    invocation = text_of(opened.body.get("invocation_id"))
    if invocation:
        yield at.run, RUN_NAME, NAME_INVOCATION, invocation
    project = properties.get("dbt_run.project_name")
    if project and at.job is not None and at.owner != ANY_OWNER:
        yield at.job.flow_urn, JOB_PROPERTIES, "dbt_run", {"dbt_run.project_name": project}
