"""dbt_model (dataset): how the model is built (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.rungs import OPERATION_DBT
from dh_bridge.translation.slots import JOB_PROPERTIES, OPERATION, SUBTYPES, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

_OPERATIONS = {"table": "OVERWRITE", "snapshot": "MERGE", "seed": "INSERT"}


@facet("dbt_model", at="dataset", leaves={"**": kept()}, producer="dbt")
def dbt_model(opened: Open, at: Place) -> Statements:
    """Configuration on the dataset and its job; materialisation says view, or what the run did to the table."""
    config = opened.body.get("config")
    body = dict(config) if isinstance(config, dict) else {}
    incremental = body.pop("incremental", None)
    properties = flattened("dbt_model.config", body)
    if incremental:
        properties["dbt_model.config.incremental"] = kept_text("dbt_model.config.incremental", incremental) or ""
    flattened("dbt_model", {key: value for key, value in opened.body.items() if key != "config"}, properties)
    if properties:
        yield property_statement(at, properties)
        if at.owner and at.role == "output":
            yield at.owner, JOB_PROPERTIES, "dbt_model", properties
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
