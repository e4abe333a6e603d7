"""dbt_model (dataset): how the model is built (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import schema_field_objects, sibling_facet
from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    JOB_PROPERTIES,
    OPERATION,
    OWNER,
    PARTITIONED_BY,
    SUBTYPES,
    Facts,
)
from dh_bridge.model.precedence import OPERATION_DBT
from dh_bridge.model.properties import flatten, present_property_text
from dh_bridge.value_maps.owner_types import untyped_owner

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.naming import Name

_OPERATIONS = {"table": "OVERWRITE", "snapshot": "MERGE", "seed": "INSERT"}


_PROPERTY_OUTCOME = as_property(DATASET_PROPERTIES, JOB_PROPERTIES)
_PARTITION_OUTCOME = mapped(PARTITIONED_BY, *_PROPERTY_OUTCOME.targets)


@facet(
    "dbt_model",
    attach="dataset",
    outcomes={
        "config.materialized": mapped(*_PROPERTY_OUTCOME.targets, SUBTYPES),
        "config.incremental.partition_by.field": _PARTITION_OUTCOME,
        "config.incremental.partition_by.columns[]": _PARTITION_OUTCOME,
        "**": _PROPERTY_OUTCOME,
    },
    producer="dbt",
)
def dbt_model(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Configuration on the dataset and its job; materialisation says view, or what the run did to the table."""
    config = facet.content.get("config")
    config_values = dict(config) if isinstance(config, dict) else {}
    incremental = config_values.pop("incremental", None)
    properties = flatten("dbt_model.config", config_values)
    if incremental not in (None, {}, []):
        properties["dbt_model.config.incremental"] = present_property_text("dbt_model.config.incremental", incremental)
    other_values = {
        key: value for key, value in facet.content.items() if key != "config" or not isinstance(config, dict)
    }
    flatten("dbt_model", other_values, properties)
    if properties:
        yield property_fact(ctx, properties)
        if ctx.owner_urn and ctx.role == "output":
            yield ctx.owner_urn, JOB_PROPERTIES, "dbt_model", properties
    if ctx.options.settings.dbt.model_owner == "owner":
        owner = untyped_owner(config_values.get("owner"), ctx.options.settings.owners)
        if owner is not None:
            yield ctx.dataset_urn, OWNER, owner, None
    if ctx.name is not None:
        yield from _partition_key_facts(_partition_columns(incremental), ctx, ctx.name)
    materialized = config_values.get("materialized")
    if materialized == "view":
        yield ctx.dataset_urn, SUBTYPES, "", "View"
    if ctx.role == "output" and ctx.run_urn:
        operation = _OPERATIONS.get(str(materialized))
        if materialized == "incremental":
            strategy = incremental.get("strategy") if isinstance(incremental, dict) else None
            operation = "INSERT" if strategy == "append" else "MERGE"
        if operation:
            yield ctx.dataset_urn, OPERATION, OPERATION_DBT, operation


def _partition_columns(incremental: Any) -> dict[str, Any]:
    """Return the columns that the model is said to be partitioned by, by where it is said."""
    partition = incremental.get("partition_by") if isinstance(incremental, dict) else None
    if not isinstance(partition, dict):
        return {}
    columns = partition.get("columns")
    column_names = columns if isinstance(columns, list) else ()
    indexed_columns = {f"columns[{position}]": name for position, name in enumerate(column_names)}
    return {"field": partition.get("field"), **indexed_columns}


def _partition_key_facts(partition_columns: dict[str, Any], ctx: FacetContext, name: Name) -> Facts:
    """Yield the columns that the model is partitioned by, spelled as its schema spells them."""
    keys = {name.spell_column(column) for column in partition_columns.values() if isinstance(column, str) and column}
    if keys:
        yield ctx.dataset_urn, PARTITIONED_BY, "", tuple(sorted(keys))
    if ctx.notes is not None:
        _note_columns(partition_columns, ctx, name)


def _note_columns(partition_columns: dict[str, Any], ctx: FacetContext, name: Name) -> None:
    """Note for the report what is no column of the schema beside: no key is marked, the configuration is kept."""
    schema_columns = [field.get("name") for field in schema_field_objects(sibling_facet(ctx, "schema"))]
    columns = {name.spell_column(column) for column in schema_columns if isinstance(column, str)}
    for field_path, column in partition_columns.items():
        if not isinstance(column, str) or (columns and name.spell_column(column) not in columns):
            ctx.note_outcome(f"config.incremental.partition_by.{field_path}", *_PROPERTY_OUTCOME.targets)
