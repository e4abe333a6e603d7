"""airflow_mappedTask (run): the index of a mapped task (Airflow provider)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import property_facet

airflow_mapped_task = property_facet(
    "airflow_mappedTask", attach="run", doc="Map index and operator.", producer="Airflow"
)
