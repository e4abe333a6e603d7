"""operation and datasetProfile: the operations of a run on its outputs, and its measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.contributions import actor_of, counts_of, io_of
from dh_bridge.aggregate.queries import queries_of, sql_digest
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.facet_support.subsets import combine_partition_specs, partition_specs
from dh_bridge.model.facts import (
    AFFECTED_ROWS,
    CAPTURE_TIME,
    LIFECYCLE,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
    SCHEMA,
    SQL,
)
from dh_bridge.model.fold import Registers, value
from dh_bridge.model.precedence import (
    OPERATION_DBT,
    OPERATION_ICEBERG,
    OPERATION_LIFECYCLE,
    OPERATION_SQL,
    TYPE_STREAMING,
)
from dh_bridge.openlineage.events import TERMINAL_TYPES
from dh_bridge.render.dataset_profiles import profile_fields
from dh_bridge.render.fragments import FULL_TABLE, message_id, millis
from dh_bridge.render.precedence import combine_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.merge import Version
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options
    from dh_bridge.value_maps.operation_types import OperationTypes

#: Words after which the statistics of a run are those of the whole table.
_REPLACING_CHANGES = ("CREATE", "OVERWRITE")
#: Operations on a table, and on none of its rows.
_ROWLESS_OPERATIONS = ("ALTER", "DROP")


def operation_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield an operation and a profile of each dataset, once per terminal event of the run."""
    if state.kind == "run" and not history.terminals:
        return  # nothing is written before the end
    outputs = state.snapshot_outputs or io_of(state, OUTPUT)
    counts = {
        dataset: statistics for (direction, dataset), statistics in counts_of(state).items() if direction == "output"
    }
    sql = _last_sql(state)
    actor = actor_of(state.facts.get(state.urn, {}), options)
    for urn in sorted(state.facts):
        if not urn.startswith("urn:li:dataset:") or urn in state.collapsed_urns:
            continue
        registers = state.facts[urn]
        operations: dict[tuple[int, str], dict[str, Any]] = {}
        profiles: dict[tuple[int, str], dict[str, Any]] = {}
        for version, kind in _terminal_events(state, history):
            if urn in outputs and state.urn and _has_changed(registers, counts.get(urn, {}), kind):
                _add_point(
                    operations, _operation(urn, registers, counts.get(urn, {}), sql, version, state, actor, options)
                )
            profile = _profile(urn, registers, counts.get(urn, {}), version, state, options)
            if profile is not None:
                _add_point(profiles, profile)
        for aspect, points in (("operation", operations), ("datasetProfile", profiles)):
            for key in sorted(points):
                yield upsert("dataset", urn, aspect, points[key])


def _add_point(points: dict[tuple[int, str], dict[str, Any]], point: dict[str, Any]) -> None:
    """Keep one point for each millisecond and partition: each terminal event contributes its own."""
    points.setdefault((point["timestampMillis"], point["partitionSpec"]["partition"]), point)


def _terminal_events(state: RunState, history: History) -> Iterator[tuple[Version, str]]:
    if state.kind == "dataset":  # several in one millisecond may be about different parts
        yield from ((version, "COMPLETE") for version in sorted([version for version, _ in state.events]))
    elif state.kind == "run":
        if len(history.terminals) == 1:
            yield history.terminals[0], "COMPLETE" if history.has_completed else str(history.final_type)
        else:
            yield from sorted({(version, str(kind)) for version, kind in state.events if kind in TERMINAL_TYPES})


def _has_changed(registers: Registers, counts: dict[str, int], kind: str) -> bool:
    """Whether a terminal event of this type means that the output was changed."""
    is_stated = LIFECYCLE in registers or OPERATION_LIFECYCLE in registers.get(OPERATION, ())
    return kind == "COMPLETE" or counts.get("rowCount", 0) > 0 or is_stated


def _last_sql(state: RunState) -> str | None:
    texts = [max(registers[SQL][""][1]) for registers in state.facts.values() if SQL in registers]
    return str(max(texts)[1]) if texts else None


def _operation_type(
    registers: Registers, sql: str | None, types: OperationTypes, *, is_streaming: bool
) -> tuple[str, bool]:
    """Return (operation type, whether it is only inferred) by precedence, in which the SQL has its rank.

    Iceberg overwrites files for any change of rows, so a DELETE counts as DELETE.
    """
    elements = registers.get(OPERATION, {})
    by_sql = types.find_by_sql(sql) if sql else None
    for precedence in sorted({*elements, OPERATION_SQL}):
        if precedence == OPERATION_SQL or (precedence == OPERATION_ICEBERG and by_sql == "DELETE"):
            operation_type = by_sql
        else:
            operation_type = types.find_by_word(str(elements[precedence][1]))
        if operation_type is not None:
            return operation_type, False
    return "INSERT", not is_streaming


def _operation(  # noqa: PLR0913 - the parts of one step
    urn: str,
    registers: Registers,
    counts: dict[str, int],
    sql: str | None,
    version: Version,
    state: RunState,
    actor: str,
    options: Options,
) -> dict[str, Any]:
    time = millis(version[0])
    partition = combine_partition_specs(partition_specs(registers, version, "output"))
    kind, inferred = _operation_type(
        registers, sql, options.tables.operation_types, is_streaming=state.has_type_hint(TYPE_STREAMING)
    )
    properties = combine_properties(registers, OPERATION_PROPERTIES, options.prefix)
    run_properties = {"runId": state.run_id, "run": state.urn}
    job = state.job()
    if job is not None:
        run_properties["job"] = f"{job.namespace}/{job.name}"
    if inferred:
        run_properties["operation.inferred"] = "true"
    query = value(state.facts.get(state.urn, {}), RUN_PROPERTIES, "externalQuery") or {}
    if "externalQuery.externalQueryId" in query:
        run_properties["externalQueryId"] = query["externalQuery.externalQueryId"]
    if sql:
        run_properties["sql.sha256"] = sql_digest(sql)
    for statistic in ("size", "fileCount"):
        if statistic in counts:
            run_properties[f"outputStatistics.{statistic}"] = str(counts[statistic])
    properties.update({options.prefix + key: text for key, text in run_properties.items()})
    operation: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": partition.to_json() if partition is not None else FULL_TABLE,
        "messageId": message_id(urn, state.guid, time),
        "actor": actor,
        "operationType": kind,
    }
    rows = counts.get("rowCount", value(registers, AFFECTED_ROWS))
    # Iceberg's listener reports the last commit to a table for an ALTER, too.
    if (
        rows is not None and is_meaningful_count(rows) and kind not in _ROWLESS_OPERATIONS
    ):  # a sum may be larger than DataHub's long
        operation["numAffectedRows"] = rows
    operation["sourceType"] = "DATA_PROCESS"
    operation["customProperties"] = dict(sorted(properties.items()))
    operation["lastUpdatedTimestamp"] = time
    if state.queries and options.profile.has_field("operation", "queries") and (queries := queries_of(state, urn)):
        operation["queries"] = queries
    return operation


def _capture_time(registers: Registers, version: Version) -> int:
    """Return when the numbers of a terminal event's profile were measured, in microseconds: by the event, else by its run.

    An event that states metrics without a time measured them itself.
    """
    capture_times = registers.get(CAPTURE_TIME)
    if capture_times:
        own = [moment for stated, moment in capture_times.values() if stated[:3] == version[:3]]
        if own:
            return int(max(own))
        if all(stated[:3] != version[:3] for stated, _ in registers.get(METRIC, {}).values()):
            return int(max(capture_times.values())[1])
    return int(version[0])


def _has_replaced_table(registers: Registers) -> bool:
    """Whether the run replaced the whole table; later facts do not change that."""
    return any(change in registers.get(LIFECYCLE, ()) for change in _REPLACING_CHANGES) or (
        value(registers, OPERATION, OPERATION_DBT) == "OVERWRITE"
    )


def _profile(  # noqa: PLR0913 - the parts of one step
    urn: str, registers: Registers, counts: dict[str, int], version: Version, state: RunState, options: Options
) -> dict[str, Any] | None:
    """Return the profile: of metrics, and of the statistics of a run that replaced the whole table."""
    metrics = profile_fields(registers.get(METRIC, {}))
    if (
        "rowCount" in counts
        and "profiles_of_overwrites" not in options.settings.excluded_metadata
        and _has_replaced_table(registers)
    ):
        metrics.setdefault("rowCount", counts["rowCount"])
        if "size" in counts:
            metrics.setdefault("sizeInBytes", counts["size"])
    if not metrics:
        return None
    time = millis(_capture_time(registers, version))
    partitions = partition_specs(registers, version, "output", "input", "dataset")
    profile: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": partitions[-1].to_json() if partitions else FULL_TABLE,
        "messageId": message_id(urn, state.guid, time),
    }
    schema = value(registers, SCHEMA)
    if "rowCount" in metrics:
        profile["rowCount"] = metrics["rowCount"]
    if schema is not None:
        profile["columnCount"] = len(schema.columns)
    for field in ("fieldProfiles", "sizeInBytes"):
        if field in metrics:
            profile[field] = metrics[field]
    return profile
