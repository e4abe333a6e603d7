"""Proposals that are still in packs: they are counted, written and delivered without a row of Spark for each.

A DataFrame of proposals that :func:`open_packs` returned knows its packs. What is made of it, such as a filter of it, does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dh_bridge.spark.folder_files import RowStats, row_stats
from dh_bridge.spark.output_order import ORDER_COLUMNS, ORDER_NAMES, with_order, write_order
from dh_bridge.spark.proposal_packs import OPENED
from dh_bridge.spark.rows import arrow_schema, fetch_rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from dh_bridge.spark.output_order import WriteOrder
    from dh_bridge.spark.proposal_packs import PackOpener
    from dh_bridge.spark.rows import Row

PROPOSALS = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, timestamp timestamp,"
    f" run_id string, location string, {ORDER_COLUMNS}"
)
"""Columns of proposals. ``aspect``: its JSON (the list of operations of a PATCH); ``timestamp`` and
``location`` of the run's last event, and its ``run_id`` of OpenLineage; null for shared entities. The last four order the rows
(see ORDER_COLUMNS)."""
_SCHEMA = arrow_schema(PROPOSALS)
_TIMESTAMP = _SCHEMA.get_field_index("timestamp")
_ROW_NUMBER_BITS = 33
"""Bits of the number of a row in its part, as of Spark's monotonically_increasing_id."""
_PACKS = "_dh_bridge_packs"


class PackedProposals(NamedTuple):
    """The packs of a DataFrame of proposals.

    Attributes:
        packs: their rows (data, row_count, size); stored, so that they are not computed twice.
        opener: how they are opened.
        order: what orders the proposals.
        is_small: whether they are so few that one task handles all of them soonest.
    """

    packs: DataFrame
    opener: PackOpener
    order: WriteOrder
    is_small: bool = False

    def file_count(self) -> int:
        """Return the number of Parquet files for the proposals."""
        return 1 if self.is_small else self.stats().file_count()

    def stats(self) -> RowStats:
        """Return the number of proposals, and the bytes of their JSON texts; with the proposals that the opener leaves out."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        packs = self.packs.coalesce(1) if self.is_small else self.packs
        ((row_count, size),) = packs.agg(F.sum("row_count"), F.sum("size")).collect()
        return RowStats(row_count or 0, size or 0)

    def rows(self) -> Iterator[Row]:
        """Yield the proposals in the driver, in order, with the columns OPENED."""
        packs = self.packs.select("data")
        for pack in fetch_rows(packs.coalesce(1) if self.is_small else packs, prefetch=not self.is_small):
            yield from rows_of(self.opener([pa.RecordBatch.from_pydict({"data": [bytes(pack.data)]})]))


def open_packs(packs: DataFrame, opener: PackOpener, *, batch: int | None = None, is_small: bool = False) -> DataFrame:
    """Return the proposals of packs (see PROPOSALS).

    Args:
        packs: Rows (data, row_count, size).
        opener: How they are opened.
        batch: The number of a stream's batch.
        is_small: As of :class:`PackedProposals`.
    """
    order = write_order(packs.sparkSession, batch)
    rows = packs.select("data").mapInArrow(opener, OPENED)
    proposals = rows.selectExpr(
        *("entity_type", "entity_urn", "aspect_name", "change_type", "aspect"),
        "timestamp_millis(time) AS timestamp",
        *("run_id", "location"),
    )
    ordered_proposals = with_order(proposals, order=order)
    setattr(ordered_proposals, _PACKS, PackedProposals(packs, opener, order, is_small))
    return ordered_proposals


def packs_of(proposals: DataFrame) -> PackedProposals | None:
    """Return the packs of proposals; None for a DataFrame that was made by other means."""
    # with Spark Connect, getattr returns a column of any name
    packed: PackedProposals | None = vars(proposals).get(_PACKS)
    return packed


def proposal_stats(proposals: DataFrame) -> RowStats:
    """Count proposals, and the bytes of their JSON texts."""
    packed = packs_of(proposals)
    return row_stats(proposals, "aspect") if packed is None or packed.opener.drops_runs else packed.stats()


class PackRows:
    """(data) -> PROPOSALS: the rows of packs, in a worker."""

    def __init__(self, packed: PackedProposals) -> None:
        self._opener = packed.opener
        self._order = packed.order

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part."""
        from pyspark import TaskContext  # noqa: PLC0415 - in a worker

        context = TaskContext.get()
        number = (context.partitionId() if context is not None else 0) << _ROW_NUMBER_BITS
        for rows in self._opener(record_batches):
            count = rows.num_rows
            columns = rows.columns
            milliseconds = pc.cast(columns[_TIMESTAMP], pa.timestamp("ms", "UTC"))
            columns[_TIMESTAMP] = pc.cast(milliseconds, _SCHEMA.field(_TIMESTAMP).type)
            order = {name: [value] * count for name, value in self._order._asdict().items()}
            order["sequence"] = list(range(number, number + count))
            columns += [pa.array(order[name], _SCHEMA.field(name).type) for name in ORDER_NAMES]
            number += count
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
