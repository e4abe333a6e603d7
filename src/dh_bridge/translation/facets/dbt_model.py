"""dbt_model (dataset): how the model is built (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.people import stated_owner
from dh_bridge.translation.properties import flattened, worded
from dh_bridge.translation.rungs import OPERATION_DBT
from dh_bridge.translation.slots import JOB_PROPERTIES, OPERATION, OWNER, PARTITIONED_BY, SUBTYPES, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

_OPERATIONS = {"table": "OVERWRITE", "snapshot": "MERGE", "seed": "INSERT"}


_INCREMENTAL = "datasetProperties.customProperties[openlineage.dbt_model.config.incremental]"
_PARTITION = mapped("schemaMetadata.fields[].isPartitioningKey", _INCREMENTAL)


@facet(
    "dbt_model",
    at="dataset",
    leaves={
        "config.materialized": mapped("datasetProperties.customProperties[openlineage.dbt_model.config.materialized]"),
        "config.incremental.partition_by.field": _PARTITION,
        "config.incremental.partition_by.columns[]": _PARTITION,
        "config.incremental.**": kept(_INCREMENTAL),
        "**": kept(),
    },
    producer="dbt",
)
def dbt_model(opened: Open, at: Place) -> Statements:
    """Configuration on the dataset and its job; materialisation says view, or what the run did to the table."""
    config = opened.body.get("config")
    body = dict(config) if isinstance(config, dict) else {}
    incremental = body.pop("incremental", None)
    properties = flattened("dbt_model.config", body)
    if incremental:
        properties["dbt_model.config.incremental"] = worded("dbt_model.config.incremental", incremental)
    rest = {key: value for key, value in opened.body.items() if key != "config" or not isinstance(config, dict)}
    flattened("dbt_model", rest, properties)
    if properties:
        yield property_statement(at, properties)
        if at.owner and at.role == "output":
            yield at.owner, JOB_PROPERTIES, "dbt_model", properties
            if at.notes is not None and at.options.settings.materialize == "none":
                _note(properties, at)
    if at.options.settings.dbt.model_owner == "owner":
        owner = stated_owner(body.get("owner"), at.options.settings.owners)
        if owner is not None:
            yield at.dataset, OWNER, owner, None
    keys = _partition_keys(incremental, at)
    if keys:
        yield at.dataset, PARTITIONED_BY, "", keys
    materialized = body.get("materialized")
    if materialized == "view":
        yield at.dataset, SUBTYPES, "", "View"
    if at.role == "output" and at.run:
        word = _OPERATIONS.get(str(materialized))
        if materialized == "incremental":
            strategy = incremental.get("strategy") if isinstance(incremental, dict) else None
            word = "INSERT" if strategy == "append" else "MERGE"
        if word:
            yield at.dataset, OPERATION, OPERATION_DBT, word


def _partition_keys(incremental: Any, at: Place) -> tuple[str, ...]:
    """Return the columns that the model is partitioned by, spelled as its schema spells them."""
    partition = incremental.get("partition_by") if isinstance(incremental, dict) else None
    if not isinstance(partition, dict) or at.name is None:
        return ()
    columns = partition.get("columns")
    said = [partition.get("field"), *(columns if isinstance(columns, list) else ())]
    return tuple(sorted({at.name.column(name) for name in said if isinstance(name, str) and name}))


def _note(properties: dict[str, str], at: Place) -> None:
    """Note for the report that the configuration is on the job alone: datasets are not written."""
    for name in properties:
        key = f"customProperties[openlineage.{name}]"
        at.reached(name.removeprefix("dbt_model."), "kept", f"dataJobInfo.{key}", f"dataFlowInfo.{key}")
