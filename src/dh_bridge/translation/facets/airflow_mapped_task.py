"""airflow_mappedTask (run): the index of a mapped task (Airflow provider)."""

from __future__ import annotations

from dh_bridge.translation.reading.generic import kept_facet

airflow_mapped_task = kept_facet("airflow_mappedTask", at="run", doc="Map index and operator.", producer="Airflow")
