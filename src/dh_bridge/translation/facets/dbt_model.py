"""dbt_model (dataset): how the model is built (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    JOB_PROPERTIES,
    OPERATION,
    OWNER,
    PARTITIONED_BY,
    SUBTYPES,
    Statements,
)
from dh_bridge.translation.precedence import OPERATION_DBT
from dh_bridge.translation.properties import flattened, worded
from dh_bridge.translation.reading.beside import beside, fields_of
from dh_bridge.translation.reading.people import stated_owner

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.naming import Name

_OPERATIONS = {"table": "OVERWRITE", "snapshot": "MERGE", "seed": "INSERT"}


_KEPT = kept(DATASET_PROPERTIES, JOB_PROPERTIES)
_PARTITION = mapped(PARTITIONED_BY, *_KEPT.targets)


@facet(
    "dbt_model",
    at="dataset",
    leaves={
        "config.materialized": mapped(*_KEPT.targets, SUBTYPES),
        "config.incremental.partition_by.field": _PARTITION,
        "config.incremental.partition_by.columns[]": _PARTITION,
        "**": _KEPT,
    },
    producer="dbt",
)
def dbt_model(opened: Open, at: Place) -> Statements:
    """Configuration on the dataset and its job; materialisation says view, or what the run did to the table."""
    config = opened.body.get("config")
    body = dict(config) if isinstance(config, dict) else {}
    incremental = body.pop("incremental", None)
    properties = flattened("dbt_model.config", body)
    if incremental not in (None, {}, []):
        properties["dbt_model.config.incremental"] = worded("dbt_model.config.incremental", incremental)
    rest = {key: value for key, value in opened.body.items() if key != "config" or not isinstance(config, dict)}
    flattened("dbt_model", rest, properties)
    if properties:
        yield property_statement(at, properties)
        if at.owner and at.role == "output":
            yield at.owner, JOB_PROPERTIES, "dbt_model", properties
    if at.options.settings.dbt.model_owner == "owner":
        owner = stated_owner(body.get("owner"), at.options.settings.owners)
        if owner is not None:
            yield at.dataset, OWNER, owner, None
    if at.name is not None:
        yield from _keys(_partition_columns(incremental), at, at.name)
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


def _partition_columns(incremental: Any) -> dict[str, Any]:
    """Return the columns that the model is said to be partitioned by, by where it is said."""
    partition = incremental.get("partition_by") if isinstance(incremental, dict) else None
    if not isinstance(partition, dict):
        return {}
    columns = partition.get("columns")
    listed = columns if isinstance(columns, list) else ()
    found = {f"columns[{position}]": name for position, name in enumerate(listed)}
    return {"field": partition.get("field"), **found}


def _keys(said: dict[str, Any], at: Place, name: Name) -> Statements:
    """Yield the columns that the model is partitioned by, spelled as its schema spells them."""
    keys = {name.column(column) for column in said.values() if isinstance(column, str) and column}
    if keys:
        yield at.dataset, PARTITIONED_BY, "", tuple(sorted(keys))
    if at.notes is not None:
        _note_columns(said, at, name)


def _note_columns(said: dict[str, Any], at: Place, name: Name) -> None:
    """Note for the report what is no column of the schema beside: no key is marked, the configuration is kept."""
    sent = [field.get("name") for field in fields_of(beside(at, "schema"))]
    columns = {name.column(column) for column in sent if isinstance(column, str)}
    for leaf, column in said.items():
        if not isinstance(column, str) or (columns and name.column(column) not in columns):
            at.reached(f"config.incremental.partition_by.{leaf}", *_KEPT.targets)
