"""Delivery from the executors: Kafka by default, REST on request (many at once can take a server down).

Each part of the proposals is delivered by one executor, in order, an entity always from the same one. What may get through
later is sent again, with a pause that grows; what does not get through, or is refused, becomes a row of a table with its reason.
That table holds proposals: delivered again by the same function, once the cause is mended. Delivered + rows = all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from dh_bridge.delivery import Guarded
from dh_bridge.errors import SinkError
from dh_bridge.settings.writes import WritesSettings
from dh_bridge.sinks.base import Failure, Sink, SinkOptions, open_sink
from dh_bridge.spark.rows import Row, batches, rows_of
from dh_bridge.spark.targets import ATTEMPTS, COLUMNS, handed, proposal_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.datahub.proposal import Proposal

UNDELIVERED = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, reason string"
)
"""Columns of what was not delivered: those of a proposal, and why."""
TOLD = f"{UNDELIVERED}, late boolean, delivered long"
"""Columns of what executors tell: rows of UNDELIVERED and whether they may get through later, and one with the number of the
others, without a reason."""


class Delivered(NamedTuple):
    """How many proposals arrived, and those that did not (see UNDELIVERED); ``close`` gives the executors' disks back.

    ``late``: how many of those that did not may get through later.
    """

    delivered: int
    refused: int
    undelivered: DataFrame
    held: DataFrame
    late: int

    def close(self) -> None:
        """Forget what the executors told."""
        self.held.unpersist()


def deliver_apart(  # noqa: PLR0913 - what a delivery needs
    proposals: DataFrame,
    target: str,
    options: SinkOptions,
    *,
    writes: WritesSettings | None = None,
    most: int | None = None,
    attempts: int = ATTEMPTS,
) -> Delivered:
    """Deliver from the executors, at most ``most`` at once, and return what came of it; an entity comes from one of them."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    rows = proposals.select(*COLUMNS)
    spread = rows.repartition(most, "entity_urn") if most else rows.repartition("entity_urn")
    # kept, as whatever is asked of it twice would be sent twice
    told = spread.mapInArrow(Deliver(target, options, writes, attempts), TOLD).persist(StorageLevel.DISK_ONLY)
    ((delivered, refused, late),) = told.agg(F.sum("delivered"), F.count("reason"), F.count_if("late")).collect()
    return Delivered(delivered or 0, refused, told.filter("reason IS NOT NULL").drop("late", "delivered"), told, late)


class Deliver:
    """What an executor does with its part."""

    def __init__(
        self, target: str, options: SinkOptions, writes: WritesSettings | None = None, attempts: int = ATTEMPTS
    ) -> None:
        self.target = target
        self.options = msgspec.json.encode(options)
        self.writes = (writes or WritesSettings()).model_dump_json(by_alias=True)
        self.attempts = attempts

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield TOLD."""
        return batches(self._rows(map(proposal_of, rows_of(found))), TOLD)

    def _rows(self, proposals: Iterator[Proposal]) -> Iterator[Row]:
        delivered = 0
        try:
            sink = self._opened()
        except SinkError as error:
            for proposal in proposals:
                yield *row(Failure(proposal, str(error))), True, None
        else:
            with sink:
                for done in handed(proposals, sink, self.attempts):
                    delivered += done.delivered
                    yield from ((*row(failure), failure.retryable, None) for failure in done.failed)
        yield *([None] * 7), delivered

    def _opened(self) -> Sink:
        sink = open_sink(self.target, msgspec.json.decode(self.options, type=SinkOptions))
        return Guarded(sink, WritesSettings.model_validate_json(self.writes))


def undelivered(spark: SparkSession, failures: Iterable[Failure]) -> DataFrame:
    """Return what was not delivered as a table (see UNDELIVERED)."""
    return spark.createDataFrame(list(map(row, failures)), UNDELIVERED)


def unsent(proposals: DataFrame, reason: str) -> DataFrame:
    """Return proposals of which none was delivered, for one ``reason``, as a table (see UNDELIVERED)."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return proposals.select(*COLUMNS, F.lit(reason).alias("reason"))


def row(failure: Failure) -> Row:
    """Return a row of UNDELIVERED."""
    proposal = failure.proposal
    value = orjson.dumps(proposal.value).decode()
    return proposal.entity_type, proposal.entity_urn, proposal.aspect_name, proposal.change_type, value, failure.reason
