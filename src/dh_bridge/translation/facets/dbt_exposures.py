"""dbt_exposures (dataset): who uses the model (openlineage-dbt)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

dbt_exposures = kept_facet("dbt_exposures", at="dataset", doc="Exposures as one JSON.", producer="dbt")
