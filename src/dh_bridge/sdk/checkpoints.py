"""What a checkpoint of Great Expectations 1.x found, as checks and results.

Nothing of Great Expectations is imported here: its objects are only read (CheckpointResult and what it holds, as of 1.24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.sdk.pipeline import Pipeline

PLATFORM = "great-expectations"
#: Counts and values of a result; lists of unexpected values stay where they are: they are people's data.
_COUNTS = {"element_count": "rows", "missing_count": "missing", "unexpected_count": "unexpected"}
_SHARES = ("unexpected_percent", "missing_percent", "unexpected_percent_total")
#: Identifiers of a batch that say how it was handed over, not which part of the data it is.
_HANDED_OVER = frozenset(("dataframe", "path"))


def report_checkpoint(pipeline: Pipeline, found: Any, datasets: Mapping[str, str]) -> int:
    """Tell every expectation of ``found``, a CheckpointResult, and how it ended; return how many there were.

    ``datasets`` gives the dataset of each data asset, by its name or by ``<data source>/<name>``; a SettingsError names an
    asset that has none, before anything is told.
    """
    suites = [(suite, _dataset(suite, datasets)) for suite in found.run_results.values()]
    time = found.run_id.run_time
    run_id = found.run_id.run_name or time.isoformat()
    told = 0
    for suite, dataset in suites:
        batch = _batch(suite)
        context = {"checkpoint": found.checkpoint_config.name, "suite": suite.suite_name}
        for result in suite.results:
            _report(pipeline, dataset, suite.suite_name, result).report(
                **_outcome(result), run_id=run_id, time=int(time.timestamp() * 1000), url=suite.result_url,
                batch=batch, context=context, partition=_partition(suite),
            )  # fmt: skip
            told += 1
    return told


def _report(pipeline: Pipeline, dataset: str, suite: str, result: Any) -> Any:
    config = result.expectation_config
    params = {key: value for key, value in config.kwargs.items() if key != "batch_id"}
    condition = params.get("row_condition")
    if isinstance(condition, dict) and "pass_through_filter" in condition:
        params["row_condition"] = condition["pass_through_filter"]
    described = getattr(config, "description", None)
    return pipeline.assertion(
        dataset, config.type, platform=PLATFORM, suite=suite, description=described, parameters=params
    )


def _outcome(result: Any) -> dict[str, Any]:
    """Return what :meth:`~dh_bridge.sdk.assertion.Assertion.report` is told of a result."""
    said = result.result or {}
    found: dict[str, Any] = {argument: said.get(key) for key, argument in _COUNTS.items()}
    found["actual"] = said.get("observed_value")
    found["results"] = {key: said[key] for key in _SHARES if said.get(key) is not None}
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


def _partition(suite: Any) -> list[dict[str, Any]] | None:
    identifiers = _definition(suite).get("batch_identifiers") or {}
    part = {key: value for key, value in identifiers.items() if key not in _HANDED_OVER}
    return [part] if part else None


def _dataset(suite: Any, datasets: Mapping[str, str]) -> str:
    source = _definition(suite).get("datasource_name")
    for name in (f"{source}/{suite.asset_name}", suite.asset_name):
        if name in datasets:
            return datasets[name]
    raise SettingsError(
        f"no dataset is given for the data asset {suite.asset_name!r}", where="datasets", now="name it there"
    )
