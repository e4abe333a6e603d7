"""bigQueryJob (run): what BigQuery says of a query (Airflow's Google provider; older releases wrote ``bigQuery_job``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, property_fact
from dh_bridge.facet_support.large_values import drop_large_value
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


@facet(
    "bigQueryJob",
    "bigQuery_job",
    attach="run",
    outcomes={"properties": dropped("too-large"), "properties**": dropped("too-large"), "**": as_property()},
    producer="Airflow",
)
def big_query_job(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Whether it was cached and what it cost; the whole job resource, which repeats the SQL, is withheld."""
    content, properties = drop_large_value("bigQueryJob", facet.content, "properties", "too-large", ctx)
    flatten("bigQueryJob", content, properties)
    if properties:
        yield property_fact(ctx, properties)
