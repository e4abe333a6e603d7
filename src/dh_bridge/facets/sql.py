"""sql (job): the statement that ran. https://openlineage.io/docs/spec/facets/job-facets/sql"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import JOB_PROPERTIES, Facts
from dh_bridge.model.facts import SQL as SQL_TEXT
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class SqlFacet(Facet):
    """Query text and dialect."""

    query: str | None = None
    dialect: str | None = None


@facet(
    "sql",
    attach="job",
    struct=SqlFacet,
    outcomes={
        "query": mapped(SQL_TEXT, JOB_PROPERTIES["sql.query"]),
        "dialect": as_property(
            JOB_PROPERTIES,
            "queryProperties.urn",
        ),
    },
)
def sql(facet: SqlFacet, ctx: FacetContext) -> Facts:
    """DataTransformLogic where the profile has it, else the property ``sql.query`` with its hash; a query by ``queries: on``."""
    if facet.query and facet.query.strip():
        yield ctx.owner_urn, SQL_TEXT, "", ((ctx.version, facet.query),)
    if facet.dialect:
        yield property_fact(ctx, {"sql.dialect": present_property_text("sql.dialect", facet.dialect)})
