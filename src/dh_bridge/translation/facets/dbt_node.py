"""dbt_node (job): the node of the dbt project (openlineage-dbt)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

dbt_node = kept_facet(
    "dbt_node", at="job", doc="File, database, schema, alias and unique id of the node.", producer="dbt"
)
