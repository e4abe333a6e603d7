"""dbt_version (run): the version of dbt (openlineage-dbt)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

dbt_version = kept_facet("dbt_version", at="run", doc="Version of dbt.", producer="dbt")
