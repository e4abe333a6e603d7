"""The current state that proposals lead to: the latest value of each aspect, and the points of timeseries."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.catalog.applier import ProposalApplier
from dh_bridge.datahub.timeseries import InvalidPointError, document_id, is_timeseries
from dh_bridge.spark.output_order import ORDER_COLUMNS, ORDER_NAMES, sort_by_entity, with_order
from dh_bridge.spark.rows import Row, rows_of, to_record_batches
from dh_bridge.spark.targets import PROPOSAL_COLUMNS, proposal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

_KEY_COLUMNS = "entity_type string NOT NULL, entity_urn string NOT NULL, aspect_name string NOT NULL"
_MICROS_COLUMNS = "stream_id string, batch long, sequence long, written_at long"
"""ORDER_COLUMNS as Arrow passes them: ``written_at`` in microseconds since 1970."""
_CURRENT = f"{_KEY_COLUMNS}, aspect string, refused string"
CURRENT = f"{_CURRENT}, {ORDER_COLUMNS}"
"""Columns of current aspects. ``aspect``: JSON of the value, null if no proposal could be applied. ``refused``: the reason if
DataHub would reject one of the proposals, else null. The last four (see ORDER_COLUMNS) are those of the latest proposal."""
_POINTS = f"{_KEY_COLUMNS}, aspect string NOT NULL, time long NOT NULL, document string NOT NULL"
POINTS = f"{_KEY_COLUMNS}, aspect string NOT NULL, time timestamp NOT NULL, document string NOT NULL, {ORDER_COLUMNS}"
"""Columns of points. ``aspect``: JSON of the value. ``time``: its ``timestampMillis``. ``document``: the id of the point, as
hexadecimal digits: DataHub stores the latest of the points of an entity with the same id."""
_IS_NEW = "is_new"

_decode = msgspec.json.decode


class OrderedRow(NamedTuple):
    """A proposal with the columns that order it; ``written_at`` in microseconds since 1970."""

    entity_type: str
    entity_urn: str
    aspect_name: str
    change_type: str
    aspect: str
    stream_id: str | None
    batch: int | None
    sequence: int
    written_at: int

    @property
    def key(self) -> tuple[str, str, str]:
        """The first columns of results."""
        return self.entity_type, self.entity_urn, self.aspect_name

    @property
    def order(self) -> tuple[str | None, int | None, int, int]:
        """The last columns of results."""
        return self[5:]


def current(proposals: DataFrame, base: DataFrame | None = None) -> DataFrame:
    """Return the latest value of each aspect, with all patches applied in the order in which they were written.

    Args:
        proposals: Proposals of a batch job, or of any number of batches of streams. Points of timeseries are not part of the
            result; see :func:`points`.
        base: The current aspects before ``proposals``, as this function returned them, for example a table of a lake. Only the
            aspects that are in ``proposals`` are used. If ``proposals`` are already applied to it, the result does not change.

    Returns:
        A row for each aspect in ``proposals``; see CURRENT.
    """
    rows = with_order(proposals).selectExpr(*PROPOSAL_COLUMNS, *ORDER_NAMES, f"true AS {_IS_NEW}")
    if base is not None:
        keys = proposals.select("entity_urn", "aspect_name").distinct()
        stored_rows = base.join(keys, ["entity_urn", "aspect_name"], "left_semi").filter("aspect IS NOT NULL")
        key_names = ("entity_type", "entity_urn", "aspect_name")
        rows = rows.unionByName(
            stored_rows.selectExpr(*key_names, "'UPSERT' AS change_type", "aspect", *ORDER_NAMES, f"false AS {_IS_NEW}")
        )
    return map_entities(rows, _current_rows, f"{_CURRENT}, {_MICROS_COLUMNS}", leading=_IS_NEW)


def points(proposals: DataFrame) -> DataFrame:
    """Return the points of timeseries aspects, such as results of checks and events of runs, each once.

    Args:
        proposals: Proposals of a batch job, or of any number of batches of streams.

    Returns:
        A row for each point; see POINTS. Points that DataHub would reject are left out.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    rows = with_order(proposals).select(*PROPOSAL_COLUMNS, *ORDER_NAMES)
    timed_points = map_entities(rows, _point_rows, f"{_POINTS}, {_MICROS_COLUMNS}")
    return timed_points.withColumn("time", F.expr("timestamp_millis(time)"))


def map_entities(
    rows: DataFrame, step: Callable[[list[OrderedRow]], Iterator[Row]], columns: str, *, leading: str | None = None
) -> DataFrame:
    """Return the rows that ``step`` makes of each entity's proposals, which it gets in the order in which they were written.

    Args:
        rows: PROPOSAL_COLUMNS and ORDER_COLUMNS, in this order; then ``leading``.
        step: A function of a module, so that it can be sent to the workers.
        columns: The columns of its rows; a ``written_at`` among them is in microseconds, and becomes a timestamp.
        leading: A column that orders the rows of an entity before all others.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    sorted_rows = sort_by_entity(rows, leading=leading).withColumn("written_at", F.expr("unix_micros(written_at)"))
    result = sorted_rows.mapInArrow(_EntityStep(step, columns), columns)
    if "written_at" in result.columns:
        result = result.withColumn("written_at", F.expr("timestamp_micros(written_at)"))
    return result


class _EntityStep:
    """The task of a worker: the rows of each entity, through a function."""

    def __init__(self, step: Callable[[list[OrderedRow]], Iterator[Row]], columns: str) -> None:
        self._step = step
        self._columns = columns

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all entities of a part."""
        return to_record_batches(
            (row for entity in entity_rows(record_batches) for row in self._step(entity)), self._columns
        )


def entity_rows(record_batches: Iterable[pa.RecordBatch]) -> Iterator[list[OrderedRow]]:
    """Yield the rows of each entity, in the order in which they were written."""
    rows = (OrderedRow(*row[:9]) for row in rows_of(record_batches))
    for _, entity in groupby(rows, key=lambda row: row.entity_urn):
        yield list(entity)


def current_value(rows: list[OrderedRow]) -> tuple[str | None, str | None]:
    """Return the JSON of an aspect after the proposals ``rows``, in order, and the reason if one would be rejected."""
    last_upsert = max((number for number, row in enumerate(rows) if row.change_type == "UPSERT"), default=0)
    if last_upsert == len(rows) - 1 and rows[-1].change_type != "PATCH" and rows[-1].aspect.startswith("{"):
        return rows[-1].aspect, None
    applier = ProposalApplier()
    for row in rows:
        applier.apply(proposal_of(row))
    pending = applier.aspects.get(rows[0].key[1:])
    if pending is not None:
        pending.render_draft()
    value = None if pending is None or pending.encoded_bytes is None else pending.encoded_bytes.decode()
    return value, applier.failures[0].reason if applier.failures else None


def rows_by_aspect(rows: list[OrderedRow]) -> dict[str, list[OrderedRow]]:
    """Return aspect -> its rows, of the aspects that are no timeseries."""
    aspects: dict[str, list[OrderedRow]] = {}
    for row in rows:
        if not is_timeseries(row.aspect_name):
            aspects.setdefault(row.aspect_name, []).append(row)
    return aspects


def point_values(rows: list[OrderedRow]) -> Iterator[tuple[OrderedRow, dict[str, Any], bytes]]:
    """Yield (row, value, document id) of the points of an entity, each once, without those that DataHub would reject."""
    documents: dict[tuple[str, bytes], tuple[OrderedRow, dict[str, Any], bytes]] = {}
    for row in rows:
        if not is_timeseries(row.aspect_name):
            continue
        with suppress(InvalidPointError, msgspec.DecodeError, AttributeError):
            value = _decode(row.aspect)
            document = document_id(row.entity_urn, value)
            documents[row.aspect_name, document] = row, value, document
    yield from documents.values()


def _current_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    for aspect_rows in rows_by_aspect(rows).values():
        yield *aspect_rows[-1].key, *current_value(aspect_rows), *aspect_rows[-1].order


def _point_rows(rows: list[OrderedRow]) -> Iterator[Row]:
    for row, value, document in point_values(rows):
        yield *row.key, row.aspect, value["timestampMillis"], document.hex(), *row.order
