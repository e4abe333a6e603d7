"""sql (job): the statement that ran. https://openlineage.io/docs/spec/facets/job-facets/sql"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, Statements
from dh_bridge.translation.facts import SQL as SQL_TEXT
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class Sql(Facet):
    """Query text and dialect."""

    query: str | None = None
    dialect: str | None = None


@facet(
    "sql",
    at="job",
    reads=Sql,
    leaves={
        "query": mapped(SQL_TEXT, JOB_PROPERTIES["sql.query"]),
        "dialect": kept(
            JOB_PROPERTIES,
            "queryProperties.urn",
        ),
    },
)
def sql(facet: Sql, at: Place) -> Statements:
    """DataTransformLogic where the profile has it, else the property ``sql.query`` with its hash; a query by ``queries: on``."""
    if facet.query and facet.query.strip():
        yield at.owner, SQL_TEXT, "", ((at.stamp, facet.query),)
    if facet.dialect:
        yield property_statement(at, {"sql.dialect": worded("sql.dialect", facet.dialect)})
