"""The results of a checkpoint of Great Expectations 1.x as assertions.

Nothing of Great Expectations is imported here: its objects are only read (CheckpointResult and its fields, as of 1.24).
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.facet_support.batches import batch_partition_spec
from dh_bridge.model.properties import json_text
from dh_bridge.sdk.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.sdk.pipeline import Pipeline

PLATFORM = "great-expectations"
#: Counts and values of a result; lists of unexpected values are not written: they are people's data.
_COUNTS = {"element_count": "rows", "missing_count": "missing", "unexpected_count": "unexpected"}
#: For these expectations the counts are distinct values of a column, not rows.
_VALUE_EXPECTATION_PREFIX = "expect_column_distinct_values_"
_PERCENTAGES = ("unexpected_percent", "missing_percent", "unexpected_percent_total")
#: Identifiers of a batch that describe how it was passed, not which part of the data it is.
_TRANSIENT_IDENTIFIERS = frozenset(("dataframe", "path"))


def report_checkpoint(pipeline: Pipeline, checkpoint_result: Any, datasets: Mapping[str, str]) -> int:
    """Write every expectation of ``checkpoint_result``, a CheckpointResult, and its result.

    Return the number of expectations.

    ``datasets`` has the dataset of each data asset, by its name or by ``<data source>/<name>``; a SettingsError names an asset
    without one, before anything is written. If the pipeline has ``on_error="warn"``, an expectation that cannot be written is a
    warning, and the others are written.
    """
    suites = []
    for suite in checkpoint_result.run_results.values():
        with _warn_on_error(pipeline, suite.suite_name):
            suites.append((suite, _dataset_of_suite(suite, datasets)))
    time = checkpoint_result.run_id.run_time
    run_id = checkpoint_result.run_id.run_name or time.isoformat()
    count = 0
    for suite, dataset in suites:
        batch = _batch_argument(suite)
        context = {"checkpoint": checkpoint_result.checkpoint_config.name, "suite": suite.suite_name}
        for result in suite.results:
            with _warn_on_error(pipeline, f"{suite.suite_name} {result.expectation_config.type}"):
                _define_assertion(pipeline, dataset, suite.suite_name, result).report(
                    **_report_arguments(result), run_id=run_id, time=int(time.timestamp() * 1000), url=suite.result_url,
                    batch=batch, context=context, **_partition_argument(suite),
                )  # fmt: skip
                count += 1
    return count


@contextmanager
def _warn_on_error(pipeline: Pipeline, subject: str) -> Iterator[None]:
    """Continue the checkpoint without ``subject`` if the pipeline only warns."""
    try:
        yield
    except BridgeError as error:
        if pipeline.on_error == "raise":
            raise
        warnings.warn(f"{subject}: not sent: {error}", RuntimeWarning, stacklevel=2)


def _define_assertion(pipeline: Pipeline, dataset: str, suite: str, result: Any) -> Any:
    config = result.expectation_config
    params = {key: value for key, value in config.kwargs.items() if key != "batch_id"}
    if isinstance(condition := params.get("row_condition"), dict) and (predicate := _predicate(condition)):
        params["row_condition"] = predicate
    description = getattr(config, "description", None)
    return pipeline.assertion(
        dataset, config.type, platform=PLATFORM, suite=suite, description=description, parameters=params
    )


def _predicate(condition: Mapping[str, Any]) -> str | None:
    """Return a condition on rows (great_expectations.expectations.row_conditions) as text; None for an unknown type."""
    column = condition.get("column")
    name = column.get("name") if isinstance(column, dict) else column
    match condition.get("type"):
        case "pass_through":
            return condition.get("pass_through_filter")
        case "nullity":
            return f"{name} IS {'' if condition.get('is_null') else 'NOT '}NULL"
        case "comparison":
            operator = str(condition.get("operator")).replace("_", " ")
            return f"{name} {operator} {_literal(condition.get('parameter'))}"
        case "and" | "or" as conjunction:
            parts = [_predicate(part) for part in condition.get("conditions") or ()]
            return (
                f" {conjunction.upper()} ".join(f"({part})" for part in parts) if parts and None not in parts else None
            )
    return None


def _literal(value: Any) -> str:
    plain_value = to_plain(value)
    if isinstance(plain_value, list):
        return f"({', '.join(map(_literal, plain_value))})"
    return "'" + plain_value.replace("'", "''") + "'" if isinstance(plain_value, str) else json_text(plain_value)


def _report_arguments(result: Any) -> dict[str, Any]:
    """Return the arguments of :meth:`~dh_bridge.sdk.assertion.Assertion.report` for a result."""
    details = result.result or {}
    is_value_count = result.expectation_config.type.startswith(_VALUE_EXPECTATION_PREFIX)
    native_keys = [*_PERCENTAGES, *_COUNTS] if is_value_count else _PERCENTAGES
    arguments: dict[str, Any] = (
        {} if is_value_count else {argument: details.get(key) for key, argument in _COUNTS.items()}
    )
    arguments["actual"] = details.get("observed_value")
    arguments["results"] = {key: details[key] for key in native_keys if details.get(key) is not None}
    severity = getattr(result.expectation_config, "severity", None)
    if severity is not None:
        arguments["severity"] = str(getattr(severity, "value", severity))
    error = next(_exception_messages(result.exception_info or {}), None)
    return {**arguments, "error": error} if error is not None else {**arguments, "success": bool(result.success)}


def _exception_messages(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages of exceptions: one for the expectation, or one for each of its metrics."""
    if info.get("raised_exception"):
        yield str(info.get("exception_message") or "an exception without a message")
    for inner in info.values():
        if isinstance(inner, dict):
            yield from _exception_messages(inner)


def _batch_definition(suite: Any) -> dict[str, Any]:
    definition = suite.meta.get("active_batch_definition")
    return definition if isinstance(definition, dict) else {}


def _batch_argument(suite: Any) -> dict[str, Any]:
    spec = suite.meta.get("batch_spec")
    spec = spec if isinstance(spec, dict) else {}
    properties = {key: _batch_definition(suite).get(key) for key in ("data_asset_name", "datasource_name")}
    limit = spec.get("limit")
    return {
        "id": suite.batch_id,
        "query": spec.get("query"),
        "limit": limit if isinstance(limit, int) else None,
        "properties": properties,
    }


def _partition_argument(suite: Any) -> dict[str, Any]:
    """Return the part of the data that the batch is, as arguments of a report: a partition or a query; empty for all data."""
    identifiers = _batch_definition(suite).get("batch_identifiers") or {}
    partition = {key: value for key, value in identifiers.items() if key not in _TRANSIENT_IDENTIFIERS}
    if partition:
        return {"partition": [partition]}
    batch_part = batch_partition_spec(suite.meta)
    return {"where": batch_part.partition} if batch_part is not None and batch_part.kind == "QUERY" else {}


def _dataset_of_suite(suite: Any, datasets: Mapping[str, str]) -> str:
    source = _batch_definition(suite).get("datasource_name")
    for name in (f"{source}/{suite.asset_name}", suite.asset_name):
        if name in datasets:
            return datasets[name]
    raise SettingsError(
        f"no dataset for the data asset {suite.asset_name!r}",
        location="datasets",
        remedy="add the data asset to datasets",
    )
