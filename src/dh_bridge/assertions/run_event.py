"""The assertionRunEvent aspect: the result of a check in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.assertions.check import Check, meaningful_value
from dh_bridge.datahub.urns import datahub_guid
from dh_bridge.model.properties import limit_properties, masked_property_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_FULL_TABLE = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}


def run_event(  # noqa: PLR0913 - the fields of the aspect
    assertion_urn: str,
    dataset_urn: str,
    *,
    time: int,
    run_id: str | None,
    run_key: str | None = None,
    result: dict[str, Any],
    context: Mapping[str, Any] | None = None,
    batch: dict[str, Any] | None = None,
    partition: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the aspect's JSON; ``time`` is in milliseconds, ``run_id`` OpenLineage's (None for a DatasetEvent).

    ``run_key`` identifies the run if ``run_id`` may not be unique. The assertee is always the dataset, also for a check of a
    column. A dataset event has no run; its time is the required run id. A replay has the same message id and replaces the
    point.
    """
    event: dict[str, Any] = {
        "timestampMillis": time,
        "runId": run_id if run_id is not None else str(time),
        "asserteeUrn": dataset_urn,
        "status": "COMPLETE",
        "result": result,
    }
    if texts := _property_texts(context or {}):
        event["runtimeContext"] = texts
    if batch is not None:
        event["batchSpec"] = batch
    event["assertionUrn"] = assertion_urn
    event["partitionSpec"] = dict(partition) if partition is not None else dict(_FULL_TABLE)
    run_identity = run_key or run_id
    event["messageId"] = datahub_guid(
        {"urn": assertion_urn, "timestampMillis": time, **({"runId": run_identity} if run_identity is not None else {})}
    )
    return event


def check_partition(check: Check) -> dict[str, Any] | None:
    """Return the partitionSpec of a check that looks at some rows only: ``row_condition`` (GX), ``where`` (dbt), ``filter`` (Soda)."""
    for key in ("row_condition", "where", "filter"):
        predicate = check.params.get(key)
        if (
            isinstance(predicate, str)
            and (value_text := masked_property_text(key, meaningful_value(predicate))) is not None
        ):
            return {"partition": value_text, "type": "QUERY"}
    return None


def batch_spec(meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the batchSpec of Great Expectations' run facet ``great_expectations_meta``; None when it names no batch."""
    definition = meta.get("active_batch_definition")
    batch = meta.get("batch_spec") or meta.get("batch_kwargs")
    definition = definition if isinstance(definition, dict) else {}
    query = meaningful_value(batch.get("query")) if isinstance(batch, dict) else None
    if not definition and not isinstance(query, str) and _row_limit(batch) is None:
        return None
    names = {key: definition.get(key) for key in ("data_asset_name", "datasource_name")}
    spec: dict[str, Any] = {"customProperties": _property_texts(names)}
    if definition:
        spec["nativeBatchId"] = masked_property_text("active_batch_definition", definition)
    if isinstance(query, str):
        spec["query"] = masked_property_text("query", query)
    if (limit := _row_limit(batch)) is not None:
        spec["limit"] = limit
    return spec


def _row_limit(batch: Any) -> int | None:
    """Return how many rows were looked at, at most: ``limit`` (pandas, SQL) or ``n`` of the reader or the sample; 32 bits."""
    option_maps: list[Any] = (
        [batch, *map(batch.get, ("reader_options", "sampling_kwargs"))] if isinstance(batch, dict) else []
    )
    for options in option_maps:
        for key in ("limit", "n", "nrows") if isinstance(options, dict) else ():
            value = options.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31:
                return value
    return None


def dropped_context_keys(context: Mapping[str, Any]) -> set[str]:
    """Return the keys of a runtime context that there is no room for."""
    return {
        key for key, value in context.items() if masked_property_text(key, meaningful_value(value)) is not None
    } - _property_texts(context).keys()


def _property_texts(values: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: masked_property_text(key, meaningful_value(value)) for key, value in values.items()}
    return limit_properties({key: value for key, value in texts.items() if value is not None})
