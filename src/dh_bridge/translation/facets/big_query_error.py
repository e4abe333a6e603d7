"""bigQuery_error (run): what went wrong while BigQuery was asked about a query (Airflow's Google provider)."""

from __future__ import annotations

from dh_bridge.translation.reading.generic import kept_facet

big_query_error = kept_facet(
    "bigQuery_error", at="run", doc="Errors of the client and of the SQL parser.", producer="Airflow"
)
