"""Delivery from the executors: Kafka by default, REST on request (many at once can take a server down).

Each part of the proposals is delivered by one executor, in order, an entity always from the same one. What may get through
later is sent again, with a pause that grows; what does not get through, or is refused, becomes a row of a table with its reason.
That table holds proposals: delivered again by the same function, once the cause is mended. Delivered + rows = all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from dh_bridge.delivery import WriteFilterSink
from dh_bridge.errors import SinkError
from dh_bridge.settings.writes import WritesSettings
from dh_bridge.sinks.base import Failure, Sink, SinkOptions, open_sink
from dh_bridge.spark.rows import Row, rows_of, to_record_batches
from dh_bridge.spark.targets import MAX_ATTEMPTS, PROPOSAL_COLUMNS, deliver_in_batches, proposal_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.datahub.proposal import Proposal

FAILURE_COLUMNS = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, reason string"
)
"""Columns of what was not delivered: those of a proposal, and why."""
RESULT_COLUMNS = f"{FAILURE_COLUMNS}, late boolean, delivered long"
"""Columns of what executors tell: rows of FAILURE_COLUMNS and whether they may get through later, and one with the number of the
others, without a reason."""


class ExecutorDelivery(NamedTuple):
    """How many proposals arrived, and those that did not (see FAILURE_COLUMNS); ``close`` gives the executors' disks back.

    ``retryable_count``: how many of those that did not may get through later.
    """

    delivered_count: int
    failed_count: int
    failures: DataFrame
    cached_rows: DataFrame
    retryable_count: int

    def close(self) -> None:
        """Forget what the executors told."""
        self.cached_rows.unpersist()


def deliver_from_executors(  # noqa: PLR0913 - what a delivery needs
    proposals: DataFrame,
    target: str,
    options: SinkOptions,
    *,
    writes: WritesSettings | None = None,
    max_partitions: int | None = None,
    attempts: int = MAX_ATTEMPTS,
) -> ExecutorDelivery:
    """Deliver from the executors, at most ``max_partitions`` at once, and return what came of it; an entity comes from one of them."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    rows = proposals.select(*PROPOSAL_COLUMNS)
    partitioned_rows = (
        rows.repartition(max_partitions, "entity_urn") if max_partitions else rows.repartition("entity_urn")
    )
    # kept, as whatever is asked of it twice would be sent twice
    result_rows = partitioned_rows.mapInArrow(DeliveryStep(target, options, writes, attempts), RESULT_COLUMNS).persist(
        StorageLevel.DISK_ONLY
    )
    ((delivered_count, failed_count, retryable_count),) = result_rows.agg(
        F.sum("delivered"), F.count("reason"), F.count_if("late")
    ).collect()
    return ExecutorDelivery(
        delivered_count or 0,
        failed_count,
        result_rows.filter("reason IS NOT NULL").drop("late", "delivered"),
        result_rows,
        retryable_count,
    )


class DeliveryStep:
    """What an executor does with its part."""

    def __init__(
        self, target: str, options: SinkOptions, writes: WritesSettings | None = None, attempts: int = MAX_ATTEMPTS
    ) -> None:
        self.target = target
        self.options = msgspec.json.encode(options)
        self.writes = (writes or WritesSettings()).model_dump_json(by_alias=True)
        self.attempts = attempts

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield RESULT_COLUMNS."""
        return to_record_batches(self._rows(map(proposal_of, rows_of(record_batches))), RESULT_COLUMNS)

    def _rows(self, proposals: Iterator[Proposal]) -> Iterator[Row]:
        delivered_count = 0
        try:
            sink = self._open_sink()
        except SinkError as error:
            for proposal in proposals:
                yield *failure_row(Failure(proposal, str(error))), True, None
        else:
            with sink:
                for delivery in deliver_in_batches(proposals, sink, self.attempts):
                    delivered_count += delivery.delivered_count
                    yield from ((*failure_row(failure), failure.retryable, None) for failure in delivery.failures)
        yield *([None] * 7), delivered_count

    def _open_sink(self) -> Sink:
        sink = open_sink(self.target, msgspec.json.decode(self.options, type=SinkOptions))
        return WriteFilterSink(sink, WritesSettings.model_validate_json(self.writes))


def failures_frame(spark: SparkSession, failures: Iterable[Failure]) -> DataFrame:
    """Return what was not delivered as a table (see FAILURE_COLUMNS)."""
    return spark.createDataFrame(list(map(failure_row, failures)), FAILURE_COLUMNS)


def failures_with_reason(proposals: DataFrame, reason: str) -> DataFrame:
    """Return proposals of which none was delivered, for one ``reason``, as a table (see FAILURE_COLUMNS)."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return proposals.select(*PROPOSAL_COLUMNS, F.lit(reason).alias("reason"))


def failure_row(failure: Failure) -> Row:
    """Return a row of FAILURE_COLUMNS."""
    proposal = failure.proposal
    value = orjson.dumps(proposal.value).decode()
    return proposal.entity_type, proposal.entity_urn, proposal.aspect_name, proposal.change_type, value, failure.reason
