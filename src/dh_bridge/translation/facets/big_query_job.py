"""bigQueryJob (run): what BigQuery says of a query (Airflow's Google provider; older releases wrote ``bigQuery_job``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement, withheld
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.bulk import without_bulk

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "bigQueryJob",
    "bigQuery_job",
    at="run",
    leaves={"properties": withheld("too-large"), "properties**": withheld("too-large"), "**": kept()},
    producer="Airflow",
)
def big_query_job(opened: Open, at: Place) -> Statements:
    """Whether it was cached and what it cost; the whole job resource, which repeats the SQL, is withheld."""
    body, properties = without_bulk("bigQueryJob", opened.body, "properties", "too-large", at)
    flattened("bigQueryJob", body, properties)
    if properties:
        yield property_statement(at, properties)
