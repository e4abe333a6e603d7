"""What a checkpoint of Great Expectations 1.x found, as checks and results.

Nothing of Great Expectations is imported here: its objects are only read (CheckpointResult and what it holds, as of 1.24).
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.sdk.plain import plain
from dh_bridge.translation.properties import text
from dh_bridge.translation.reading.batches import part_of_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.sdk.pipeline import Pipeline

PLATFORM = "great-expectations"
#: Counts and values of a result; lists of unexpected values stay where they are: they are people's data.
_COUNTS = {"element_count": "rows", "missing_count": "missing", "unexpected_count": "unexpected"}
#: What they count for these is values of a column that differ, not rows.
_OF_VALUES = "expect_column_distinct_values_"
_SHARES = ("unexpected_percent", "missing_percent", "unexpected_percent_total")
#: Identifiers of a batch that say how it was handed over, not which part of the data it is.
_HANDED_OVER = frozenset(("dataframe", "path"))


def report_checkpoint(pipeline: Pipeline, found: Any, datasets: Mapping[str, str]) -> int:
    """Tell every expectation of ``found``, a CheckpointResult, and how it ended; return how many there were.

    ``datasets`` gives the dataset of each data asset, by its name or by ``<data source>/<name>``; a SettingsError names an
    asset that has none, before anything is told. Of a pipeline with ``on_error="warn"`` what cannot be told is a warning, and
    the rest is told.
    """
    suites = []
    for suite in found.run_results.values():
        with _told(pipeline, suite.suite_name):
            suites.append((suite, _dataset(suite, datasets)))
    time = found.run_id.run_time
    run_id = found.run_id.run_name or time.isoformat()
    told = 0
    for suite, dataset in suites:
        batch = _batch(suite)
        context = {"checkpoint": found.checkpoint_config.name, "suite": suite.suite_name}
        for result in suite.results:
            with _told(pipeline, f"{suite.suite_name} {result.expectation_config.type}"):
                _report(pipeline, dataset, suite.suite_name, result).report(
                    **_outcome(result), run_id=run_id, time=int(time.timestamp() * 1000), url=suite.result_url,
                    batch=batch, context=context, **_part(suite),
                )  # fmt: skip
                told += 1
    return told


@contextmanager
def _told(pipeline: Pipeline, what: str) -> Iterator[None]:
    """Let the checkpoint go on without ``what`` where the pipeline only warns."""
    try:
        yield
    except BridgeError as error:
        if pipeline.on_error == "raise":
            raise
        warnings.warn(f"{what} is not told: {error}", RuntimeWarning, stacklevel=2)


def _report(pipeline: Pipeline, dataset: str, suite: str, result: Any) -> Any:
    config = result.expectation_config
    params = {key: value for key, value in config.kwargs.items() if key != "batch_id"}
    if isinstance(condition := params.get("row_condition"), dict) and (predicate := _predicate(condition)):
        params["row_condition"] = predicate
    described = getattr(config, "description", None)
    return pipeline.assertion(
        dataset, config.type, platform=PLATFORM, suite=suite, description=described, parameters=params
    )


def _predicate(condition: Mapping[str, Any]) -> str | None:
    """Return a condition on rows (great_expectations.expectations.row_conditions) as text; None for one of no known type."""
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
        case "and" | "or" as word:
            parts = [_predicate(one) for one in condition.get("conditions") or ()]
            return f" {word.upper()} ".join(f"({part})" for part in parts) if parts and None not in parts else None
    return None


def _literal(value: Any) -> str:
    found = plain(value)
    if isinstance(found, list):
        return f"({', '.join(map(_literal, found))})"
    return "'" + found.replace("'", "''") + "'" if isinstance(found, str) else text(found)


def _outcome(result: Any) -> dict[str, Any]:
    """Return what :meth:`~dh_bridge.sdk.assertion.Assertion.report` is told of a result."""
    said = result.result or {}
    of_values = result.expectation_config.type.startswith(_OF_VALUES)
    native = [*_SHARES, *_COUNTS] if of_values else _SHARES
    found: dict[str, Any] = {} if of_values else {argument: said.get(key) for key, argument in _COUNTS.items()}
    found["actual"] = said.get("observed_value")
    found["results"] = {key: said[key] for key in native if said.get(key) is not None}
    severity = getattr(result.expectation_config, "severity", None)
    if severity is not None:
        found["severity"] = str(getattr(severity, "value", severity))
    raised = next(_raised(result.exception_info or {}), None)
    return {**found, "error": raised} if raised is not None else {**found, "success": bool(result.success)}


def _raised(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages of exceptions: one for the expectation, or one for each of its metrics."""
    if info.get("raised_exception"):
        yield str(info.get("exception_message") or "an exception without a message")
    for inner in info.values():
        if isinstance(inner, dict):
            yield from _raised(inner)


def _definition(suite: Any) -> dict[str, Any]:
    definition = suite.meta.get("active_batch_definition")
    return definition if isinstance(definition, dict) else {}


def _batch(suite: Any) -> dict[str, Any]:
    spec = suite.meta.get("batch_spec")
    spec = spec if isinstance(spec, dict) else {}
    named = {key: _definition(suite).get(key) for key in ("data_asset_name", "datasource_name")}
    limit = spec.get("limit")
    return {
        "id": suite.batch_id,
        "query": spec.get("query"),
        "limit": limit if isinstance(limit, int) else None,
        "properties": named,
    }


def _part(suite: Any) -> dict[str, Any]:
    """Return which part of the data the batch is, in the words of a report: of a partition or a query; nothing for all of it."""
    identifiers = _definition(suite).get("batch_identifiers") or {}
    part = {key: value for key, value in identifiers.items() if key not in _HANDED_OVER}
    if part:
        return {"partition": [part]}
    looked_at = part_of_batch(suite.meta)
    return {"where": looked_at.partition} if looked_at is not None and looked_at.kind == "QUERY" else {}


def _dataset(suite: Any, datasets: Mapping[str, str]) -> str:
    source = _definition(suite).get("datasource_name")
    for name in (f"{source}/{suite.asset_name}", suite.asset_name):
        if name in datasets:
            return datasets[name]
    raise SettingsError(
        f"no dataset is given for the data asset {suite.asset_name!r}", where="datasets", now="name it there"
    )
