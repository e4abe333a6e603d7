"""Lineage, runs and checks as typed tables, for SQL: one row for each edge, run or check, as docs/spark.md describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.check_results import check_name, checked_column
from dh_bridge.catalog.edges import column_edges as stated_column_edges
from dh_bridge.catalog.edges import entity_type, relations
from dh_bridge.datahub.urns import parse_urn
from dh_bridge.errors import AspectError
from dh_bridge.spark.current import OrderedRow, current_value, map_entities, point_values, rows_by_aspect
from dh_bridge.spark.output_order import ORDER_NAMES, with_order
from dh_bridge.spark.targets import PROPOSAL_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

    from dh_bridge.spark.rows import Row

EDGES = (
    "source string NOT NULL, target string NOT NULL, job string, run string, first_used timestamp, last_used timestamp"
)
"""Columns of edges: data flows from ``source`` to ``target``, which are URNs of datasets or jobs. ``job``: the job that reads or
writes, null for lineage that a dataset states. ``run``: the latest known run of the job that used the edge. ``first_used`` and
``last_used``: times of the first and the latest event with the edge, if DataHub stores them."""
COLUMN_EDGES = (
    "source string NOT NULL, source_dataset string NOT NULL, source_column string NOT NULL, target string NOT NULL,"
    " target_dataset string NOT NULL, target_column string NOT NULL, operation string NOT NULL, job string, run string,"
    " first_used timestamp, last_used timestamp"
)
"""Columns of column edges: ``source`` and ``target`` are URNs of schema fields, ``operation`` how the value is computed (NONE if
it is not known); the others are those of the edge of ``job`` to ``target_dataset``, see EDGES."""
RUNS = (
    "urn string NOT NULL, name string, job string, parent string, status string NOT NULL, started timestamp,"
    " ended timestamp, updated timestamp NOT NULL, duration_millis long, attempt long"
)
"""Columns of runs. ``job`` and ``parent``: the job or flow that ran, and the run that started it. ``status``: STARTED, or the
result of the latest event (SUCCESS, FAILURE, SKIPPED, UP_FOR_RETRY). ``ended``: the time of that event, if it ended the run.
``updated``: its time in any case. ``attempt`` begins with 1."""
CHECKS = (
    "urn string NOT NULL, dataset string, column string, type string NOT NULL, name string NOT NULL, description string,"
    " result string, time timestamp, run_id string, removed boolean NOT NULL"
)
"""Columns of checks. ``result``, ``time`` and ``run_id`` (OpenLineage's id) of the latest result: SUCCESS, FAILURE, ERROR."""

_EDGE_ROWS = (
    "source string NOT NULL, target string NOT NULL, job string, first_used long, last_used long, run string,"
    " run_time long"
)
_COLUMN_ROWS = (
    "source string NOT NULL, source_dataset string NOT NULL, source_column string NOT NULL, target string NOT NULL,"
    " target_dataset string NOT NULL, target_column string NOT NULL, operation string NOT NULL, job string"
)
_LINEAGE_ASPECTS = ("dataJobInputOutput", "upstreamLineage")
_RUN_EVENT = "dataProcessInstanceRunEvent"
_RUN_ASPECTS = (
    "dataProcessInstanceInput",
    "dataProcessInstanceOutput",
    "dataProcessInstanceRelationships",
    "dataProcessInstanceProperties",
    _RUN_EVENT,
)
_DOWNSTREAM = -1
_decode = msgspec.json.decode


def edges(proposals: DataFrame) -> DataFrame:
    """Return the lineage between datasets and jobs.

    Args:
        proposals: Proposals of a batch job, or of any number of batches of streams; or a table of :func:`current` aspects and,
            for the column ``run``, :func:`points`.

    Returns:
        A row for each edge; see EDGES.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    edge_rows = _map_aspects(proposals, (*_LINEAGE_ASPECTS, *_RUN_ASPECTS), _edge_rows, _EDGE_ROWS)
    uses = edge_rows.groupBy("source", "target", "job").agg(
        F.max_by("run", "run_time").alias("run"),
        F.expr("timestamp_millis(min(first_used))").alias("first_used"),
        F.expr("timestamp_millis(max(last_used))").alias("last_used"),
        F.bool_or(F.col("run_time").isNull()).alias("is_edge"),
    )
    return uses.filter("is_edge").drop("is_edge")


def column_edges(proposals: DataFrame) -> DataFrame:
    """Return the lineage between columns.

    Args:
        proposals: As of :func:`edges`.

    Returns:
        A row for each edge; see COLUMN_EDGES.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    columns = _map_aspects(proposals, _LINEAGE_ASPECTS, _column_rows, _COLUMN_ROWS)
    dataset_edges = edges(proposals).select(
        F.col("source").alias("edge_source"),
        F.col("target").alias("edge_target"),
        F.col("job").alias("edge_job"),
        *("run", "first_used", "last_used"),
    )
    is_same_edge = (
        (F.coalesce("job", "source_dataset") == F.col("edge_source"))
        & (F.col("target_dataset") == F.col("edge_target"))
        & F.col("job").eqNullSafe(F.col("edge_job"))
    )
    return columns.join(dataset_edges, is_same_edge, "left").drop("edge_source", "edge_target", "edge_job")


def runs(proposals: DataFrame) -> DataFrame:
    """Return the runs that have a run event; others are left out, as in DataHub.

    Args:
        proposals: Proposals of a batch job, or of any number of batches of streams.

    Returns:
        A row for each run; see RUNS.
    """
    return _with_times(_map_aspects(proposals, _RUN_ASPECTS, _run_rows, _as_millis(RUNS)), RUNS)


def checks(proposals: DataFrame) -> DataFrame:
    """Return the data quality checks with their latest results.

    Args:
        proposals: Proposals of a batch job, or of any number of batches of streams.

    Returns:
        A row for each check; see CHECKS.
    """
    aspects = ("assertionInfo", "assertionRunEvent", "status")
    rows = proposals.filter("entity_urn LIKE 'urn:li:assertion:%'")
    return _with_times(_map_aspects(rows, aspects, _check_rows, _as_millis(CHECKS)), CHECKS)


def _map_aspects(proposals: DataFrame, aspects: tuple[str, ...], step: Any, columns: str) -> DataFrame:
    """Return the rows that ``step`` makes of the proposals of some aspects, entity by entity."""
    rows = with_order(proposals.filter(proposals.aspect_name.isin(*aspects)).filter("aspect IS NOT NULL"))
    names = [name if name in rows.columns else "'UPSERT' AS change_type" for name in PROPOSAL_COLUMNS]
    return map_entities(rows.selectExpr(*names, *ORDER_NAMES), step, columns)


def _as_millis(columns: str) -> str:
    """Return columns as Arrow passes them: times in milliseconds since 1970."""
    return columns.replace(" timestamp", " long")


def _with_times(rows: DataFrame, columns: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    for name, kind, *_ in (column.split() for column in columns.split(", ")):
        if kind == "timestamp":
            rows = rows.withColumn(name, F.expr(f"timestamp_millis({name})"))
    return rows


def _values(rows: list[OrderedRow]) -> dict[str, Any]:
    """Return aspect -> its current value, of the aspects of an entity that have one."""
    values = {name: current_value(aspect_rows)[0] for name, aspect_rows in rows_by_aspect(rows).items()}
    return {name: _decode(value) for name, value in values.items() if value is not None}


def _latest_point(rows: list[OrderedRow], aspect: str) -> dict[str, Any] | None:
    """Return the latest point of an aspect; of several at one time, the one that was written last."""
    points = [value for row, value, _ in point_values(rows) if row.aspect_name == aspect]
    return max(reversed(points), key=lambda point: point["timestampMillis"], default=None)


def _edge_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    urn, values = rows[0].entity_urn, _values(rows)
    if rows[0].entity_type == "dataProcessInstance":
        yield from _use_rows(urn, values, _latest_point(rows, _RUN_EVENT))
        return
    job = urn if rows[0].entity_type == "dataJob" else None
    for aspect in _LINEAGE_ASPECTS:
        value = values.get(aspect)
        if value is None:
            continue
        times = _edge_times(value)
        for (_, other), direction in relations(aspect, value).items():
            if direction and entity_type(other) != "schemaField":
                ends = (urn, other) if direction == _DOWNSTREAM else (other, urn)
                yield *ends, job, *times.get(other, (None, None)), None, None


def _edge_times(value: Mapping[str, Any]) -> dict[str, tuple[int | None, int | None]]:
    """Return the other end of an edge -> milliseconds of its first and its last use."""
    times: dict[str, tuple[int | None, int | None]] = {}
    for field in ("inputDatasetEdges", "outputDatasetEdges", "inputDatajobEdges"):
        for edge in value.get(field) or ():
            created, modified = edge.get("created") or {}, edge.get("lastModified") or {}
            times[edge["destinationUrn"]] = created.get("time"), modified.get("time", created.get("time"))
    for upstream in value.get("upstreams") or ():
        created = upstream.get("created") or upstream.get("auditStamp") or {}
        times[upstream["dataset"]] = created.get("time"), (upstream.get("auditStamp") or created).get("time")
    return times


def _use_rows(run: str, values: Mapping[str, Any], latest: Mapping[str, Any] | None) -> Iterator[Row]:
    """Yield the edges that a run used; ``run_time`` orders the runs of a job."""
    job = (values.get("dataProcessInstanceRelationships") or {}).get("parentTemplate")
    if job is None or entity_type(job) != "dataJob":
        return
    created = (values.get("dataProcessInstanceProperties") or {}).get("created") or {}
    run_time = latest["timestampMillis"] if latest else created.get("time", 0)
    for aspect, field in (("dataProcessInstanceInput", "input"), ("dataProcessInstanceOutput", "output")):
        value = values.get(aspect) or {}
        datasets = [
            *(value.get(f"{field}s") or ()),
            *(edge["destinationUrn"] for edge in value.get(f"{field}Edges") or ()),
        ]
        for dataset in dict.fromkeys(datasets):
            ends = (dataset, job) if field == "input" else (job, dataset)
            yield *ends, job, None, None, run, run_time


def _column_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    job = rows[0].entity_urn if rows[0].entity_type == "dataJob" else None
    for value in _values(rows).values():
        for target, source, operation in stated_column_edges(value):
            source_parts, target_parts = _field_parts(source), _field_parts(target)
            if source_parts and target_parts:
                yield source, *source_parts, target, *target_parts, operation, job


def _field_parts(urn: str) -> tuple[str, ...] | None:
    """Return (dataset, column) of a schema field; None for another URN."""
    try:
        kind, parts = parse_urn(urn)
    except AspectError:
        return None
    return parts if kind == "schemaField" and len(parts) == 2 else None


def _run_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    latest = _latest_point(rows, _RUN_EVENT)
    if latest is None:
        return
    values = _values(rows)
    properties = values.get("dataProcessInstanceProperties") or {}
    relationships = values.get("dataProcessInstanceRelationships") or {}
    time, status = latest["timestampMillis"], latest["status"]
    yield (
        rows[0].entity_urn, properties.get("name"), relationships.get("parentTemplate"), relationships.get("parentInstance"),
        (latest.get("result") or {}).get("type") or status, (properties.get("created") or {}).get("time"),
        time if status == "COMPLETE" else None, time, latest.get("durationMillis"), latest.get("attempt"),
    )  # fmt: skip


def _check_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    values = _values(rows)
    info = values.get("assertionInfo")
    if info is None:
        return
    latest = _latest_point(rows, "assertionRunEvent") or {}
    targets = sorted(target for _, target in relations("assertionInfo", info) if entity_type(target) == "dataset")
    yield (
        rows[0].entity_urn, targets[0] if targets else None, checked_column(info), info["type"],
        check_name(info, "openlineage.name"), info.get("description"), (latest.get("result") or {}).get("type"),
        latest.get("timestampMillis"), latest.get("runId"), bool((values.get("status") or {}).get("removed")),
    )  # fmt: skip
