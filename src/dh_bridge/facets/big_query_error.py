"""bigQuery_error (run): what went wrong while BigQuery was asked about a query (Airflow's Google provider)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import property_facet

big_query_error = property_facet(
    "bigQuery_error", attach="run", doc="Errors of the client and of the SQL parser.", producer="Airflow"
)
