"""Delivery from the executors: Kafka by default, REST on request (many executors at once can overload a server).

One executor delivers each part of the proposals in order; all proposals of an entity are in one part. Retryable failures are
sent again after growing pauses; those that fail again or are rejected become rows of a table with the reason. That table has
proposals: the same function can deliver them again later. Delivered + rows = all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from dh_bridge.delivery import WriteFilterSink
from dh_bridge.errors import SinkError
from dh_bridge.settings.writes import WritesSettings
from dh_bridge.sinks.base import Failure, Sink, SinkOptions, open_sink
from dh_bridge.spark.output_order import ORDER_COLUMNS, ORDER_NAMES, sort_by_entity, with_order
from dh_bridge.spark.rows import Row, rows_of, to_record_batches
from dh_bridge.spark.targets import MAX_ATTEMPTS, PROPOSAL_COLUMNS, deliver_in_batches, proposal_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.datahub.proposal import Proposal

_FAILURE_COLUMNS = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, reason string"
)
FAILURE_COLUMNS = f"{_FAILURE_COLUMNS}, {ORDER_COLUMNS}"
"""Columns of failed proposals: those of a proposal, the reason, and those that order the rows (see ORDER_COLUMNS)."""
RESULT_COLUMNS = f"{_FAILURE_COLUMNS}, late boolean, delivered long"
"""Columns of an executor's results.

Failed proposals with the reason and whether they are retryable, and one row with the number of delivered proposals, without a
reason.
"""


class SparkDelivery(NamedTuple):
    """The result of a delivery.

    Attributes:
        delivered_count: the number of delivered proposals.
        failed_count: the number of proposals that were not delivered.
        retryable_count: the number of those that may be delivered later, for example when the server is up again.
        filtered: the number of proposals that were dropped, by the rule that drops them, for example ``writes.aspects``.
        failures: the proposals that were not delivered, with the reason (see FAILURE_COLUMNS).
    """

    delivered_count: int
    failed_count: int
    retryable_count: int
    filtered: Mapping[str, int]
    failures: DataFrame
    cached_rows: DataFrame | None = None

    def close(self) -> None:
        """Free the executors' disks; ``failures`` cannot be used afterwards."""
        if self.cached_rows is not None:
            self.cached_rows.unpersist()


def deliver_from_executors(  # noqa: PLR0913 - the options of a delivery
    proposals: DataFrame,
    target: str,
    options: SinkOptions,
    *,
    writes: WritesSettings | None = None,
    max_partitions: int | None = None,
    attempts: int = MAX_ATTEMPTS,
) -> SparkDelivery:
    """Deliver from the executors, at most ``max_partitions`` at once, and return the result.

    One executor delivers all proposals of an entity, in the order in which they were written (see ORDER_COLUMNS).
    """
    from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    partitioned_rows = sort_by_entity(proposals, max_partitions).select(*PROPOSAL_COLUMNS)
    # stored, because a second evaluation would send everything again
    step = DeliveryStep(target, options, writes, attempts)
    result_rows = with_order(partitioned_rows.mapInArrow(step, RESULT_COLUMNS)).persist(StorageLevel.DISK_ONLY)
    ((delivered_count, failed_count, retryable_count),) = result_rows.agg(
        F.sum("delivered"), F.count("reason"), F.count_if("late")
    ).collect()
    failures = result_rows.filter("reason IS NOT NULL").drop("late", "delivered")
    return SparkDelivery(delivered_count or 0, failed_count, retryable_count, {}, failures, result_rows)


class DeliveryStep:
    """The task of an executor for one part."""

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
    """Return the failed proposals as a table (see FAILURE_COLUMNS)."""
    return with_order(spark.createDataFrame(list(map(failure_row, failures)), _FAILURE_COLUMNS))


def failures_with_reason(proposals: DataFrame, reason: str) -> DataFrame:
    """Return proposals of which none was delivered, for one ``reason``, as a table (see FAILURE_COLUMNS)."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return with_order(proposals).select(*PROPOSAL_COLUMNS, F.lit(reason).alias("reason"), *ORDER_NAMES)


def failure_row(failure: Failure) -> Row:
    """Return the columns of a failed proposal, without those that order the rows."""
    proposal = failure.proposal
    value = orjson.dumps(proposal.value).decode()
    return proposal.entity_type, proposal.entity_urn, proposal.aspect_name, proposal.change_type, value, failure.reason
