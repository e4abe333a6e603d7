"""operation and datasetProfile: what a run did to its outputs, and what it measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.facts import (
    AFFECTED_ROWS,
    LIFECYCLE,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
    SCHEMA,
    SQL,
)
from dh_bridge.translation.fold import Slots, value
from dh_bridge.translation.precedence import OPERATION_DBT, OPERATION_ICEBERG, OPERATION_SQL, TYPE_STREAMING
from dh_bridge.translation.reading.statistics import meaningful
from dh_bridge.translation.reading.subsets import parts_of, whole
from dh_bridge.translation.render.precedence import combined
from dh_bridge.translation.render.profiles import profile_value
from dh_bridge.translation.render.stamps import FULL_TABLE, message_id, millis
from dh_bridge.translation.runs.contributions import actor_of, counts_of, io_of
from dh_bridge.translation.runs.queries import queries_of, sql_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.merge import Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.reading.operation_types import OperationTypes
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

#: Words after which the statistics of a run are those of the whole table.
_REPLACED = ("CREATE", "OVERWRITE")
#: Operations on a table, and on none of its rows.
_OF_NO_ROWS = ("ALTER", "DROP")


def operation_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield an operation and a profile of each dataset, once per terminal event of the run."""
    if state.kind == "run" and not history.terminals:
        return  # nothing is told before the end
    outputs = state.listed or io_of(state, OUTPUT)
    counts = {dataset: found for (direction, dataset), found in counts_of(state).items() if direction == "output"}
    sql = _sql(state)
    actor = actor_of(state.cells.get(state.urn, {}), options)
    for urn in sorted(state.cells):
        if not urn.startswith("urn:li:dataset:") or urn in state.through:
            continue
        slots = state.cells[urn]
        happened: dict[tuple[int, str], dict[str, Any]] = {}
        measured: dict[tuple[int, str], dict[str, Any]] = {}
        for stamp, kind in _terminals(state, history):
            if urn in outputs and state.urn and _happened(slots, counts.get(urn, {}), kind):
                _keep(happened, _operation(urn, slots, counts.get(urn, {}), sql, stamp, state, actor, options))
            profile = _profile(urn, slots, counts.get(urn, {}), stamp, state, options)
            if profile is not None:
                _keep(measured, profile)
        for aspect, points in (("operation", happened), ("datasetProfile", measured)):
            for key in sorted(points):
                yield upsert("dataset", urn, aspect, points[key])


def _keep(points: dict[tuple[int, str], dict[str, Any]], point: dict[str, Any]) -> None:
    """Keep one point for each millisecond and partition: each terminal event contributes its own."""
    points.setdefault((point["timestampMillis"], point["partitionSpec"]["partition"]), point)


def _terminals(state: RunState, history: History) -> Iterator[tuple[Stamp, str]]:
    if state.kind == "dataset":  # several in one millisecond may each tell of another part
        yield from ((stamp, "COMPLETE") for stamp in sorted([stamp for stamp, _ in state.events]))
    elif state.kind == "run":
        if len(history.terminals) == 1:
            yield history.terminals[0], "COMPLETE" if history.completed else str(history.winner)
        else:
            yield from sorted({(stamp, str(kind)) for stamp, kind in state.events if kind in TERMINAL})


def _happened(slots: Slots, counts: dict[str, int], kind: str) -> bool:
    """Whether a terminal event of this kind says that the output was changed."""
    return kind == "COMPLETE" or counts.get("rowCount", 0) > 0 or LIFECYCLE in slots


def _sql(state: RunState) -> str | None:
    texts = [max(slots[SQL][""][1]) for slots in state.cells.values() if SQL in slots]
    return str(max(texts)[1]) if texts else None


def _type(slots: Slots, sql: str | None, types: OperationTypes, *, streaming: bool) -> tuple[str, bool]:
    """Return (operation type, whether it is only inferred), by the ladder of words, in which the SQL has its rung.

    Iceberg overwrites files, whatever a statement does to rows: a DELETE is one all the same.
    """
    elements = slots.get(OPERATION, {})
    by_sql = types.of_sql(sql) if sql else None
    for rung in sorted({*elements, OPERATION_SQL}):
        if rung == OPERATION_SQL or (rung == OPERATION_ICEBERG and by_sql == "DELETE"):
            found = by_sql
        else:
            found = types.of_word(str(elements[rung][1]))
        if found is not None:
            return found, False
    return "INSERT", not streaming


def _operation(  # noqa: PLR0913 - the parts of one step
    urn: str,
    slots: Slots,
    counts: dict[str, int],
    sql: str | None,
    stamp: Stamp,
    state: RunState,
    actor: str,
    options: Options,
) -> dict[str, Any]:
    time = millis(stamp[0])
    part = whole(parts_of(slots, stamp, "output"))
    kind, inferred = _type(slots, sql, options.tables.operation_types, streaming=state.hinted(TYPE_STREAMING))
    properties = combined(slots, OPERATION_PROPERTIES, options.prefix)
    own = {"runId": state.run_id, "run": state.urn}
    job = state.job()
    if job is not None:
        own["job"] = f"{job.namespace}/{job.name}"
    if inferred:
        own["operation.inferred"] = "true"
    query = value(state.cells.get(state.urn, {}), RUN_PROPERTIES, "externalQuery") or {}
    if "externalQuery.externalQueryId" in query:
        own["externalQueryId"] = query["externalQuery.externalQueryId"]
    if sql:
        own["sql.sha256"] = sql_digest(sql)
    for leaf in ("size", "fileCount"):
        if leaf in counts:
            own[f"outputStatistics.{leaf}"] = str(counts[leaf])
    properties.update({options.prefix + key: text for key, text in own.items()})
    found: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": part.spec() if part is not None else FULL_TABLE,
        "messageId": message_id(urn, state.mark, time),
        "actor": actor,
        "operationType": kind,
    }
    rows = counts.get("rowCount", value(slots, AFFECTED_ROWS))
    # Iceberg's listener tells of the last commit to a table, with an ALTER as well.
    if rows is not None and meaningful(rows) and kind not in _OF_NO_ROWS:  # a sum may be larger than DataHub's long
        found["numAffectedRows"] = rows
    found["sourceType"] = "DATA_PROCESS"
    found["customProperties"] = dict(sorted(properties.items()))
    found["lastUpdatedTimestamp"] = time
    if state.queries and options.profile.has_field("operation", "queries") and (queries := queries_of(state, urn)):
        found["queries"] = queries
    return found


def _replaced(slots: Slots) -> bool:
    """Whether the run wrote the whole table anew; no later word takes that back."""
    return any(word in slots.get(LIFECYCLE, ()) for word in _REPLACED) or (
        value(slots, OPERATION, OPERATION_DBT) == "OVERWRITE"
    )


def _profile(  # noqa: PLR0913 - the parts of one step
    urn: str, slots: Slots, counts: dict[str, int], stamp: Stamp, state: RunState, options: Options
) -> dict[str, Any] | None:
    """Return the profile: of metrics, and of the statistics of a run that replaced the whole table."""
    measured = profile_value(slots.get(METRIC, {}))
    if "rowCount" in counts and options.settings.operations.profile_from_overwrite and _replaced(slots):
        measured.setdefault("rowCount", counts["rowCount"])
        if "size" in counts:
            measured.setdefault("sizeInBytes", counts["size"])
    if not measured:
        return None
    time = millis(stamp[0])
    parts = parts_of(slots, stamp, "output", "input", "dataset")
    found: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": parts[-1].spec() if parts else FULL_TABLE,
        "messageId": message_id(urn, state.mark, time),
    }
    schema = value(slots, SCHEMA)
    if "rowCount" in measured:
        found["rowCount"] = measured["rowCount"]
    if schema is not None:
        found["columnCount"] = len(schema.columns)
    for field in ("fieldProfiles", "sizeInBytes"):
        if field in measured:
            found[field] = measured[field]
    return found
