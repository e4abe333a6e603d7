"""Where proposals go from Spark: folders that the executors write, and every sink of :mod:`dh_bridge.sinks`.

``parquet:DIR`` and ``ndjson:DIR`` are folders of any file system that Spark reaches. A sink gets its proposals from the
driver, one batch after the other, or from the executors: Kafka by default, REST on request (executors can take a server
down). Delivery is at least once; the same proposals make the same state.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from dh_bridge.datahub.proposal import Payload, Proposal, ndjson_line
from dh_bridge.sinks.base import Delivery, Failure, Sink, SinkOptions, open_sink
from dh_bridge.spark.rows import Row, batches, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

FOLDERS = ("parquet", "ndjson")
REFUSED = "entity_urn string, aspect_name string, change_type string, aspect string, reason string, delivered long"
"""Columns of what executors tell: a row for each proposal that was refused, and one with the number of the others."""
_BATCH = 500
_COLUMNS = ("entity_type", "entity_urn", "aspect_name", "change_type", "aspect")
_decode = msgspec.json.Decoder().decode


def proposal_of(row: Any) -> Proposal:
    """Return the proposal of a row (a Row, or any sequence in the order of PROPOSALS)."""
    entity_type, urn, name, change, aspect = row[:5]
    return Proposal(entity_type, urn, change, name, Payload(_decode(aspect)))


def write_folder(proposals: DataFrame, target: str, *, mode: str = "append") -> None:
    """Write ``parquet:DIR`` or ``ndjson:DIR``; ``mode`` is Spark's: append, overwrite, errorifexists."""
    scheme, _, place = target.partition(":")
    if scheme == "parquet":
        proposals.write.mode(mode).parquet(place)
    else:
        proposals.select(*_COLUMNS).mapInArrow(_lines, "value string").write.mode(mode).text(place)


def _lines(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches(((ndjson_line(one)[:-1].decode(),) for one in _proposals(found)), "value string")


def _proposals(found: Iterable[pa.RecordBatch]) -> Iterator[Proposal]:
    return map(proposal_of, rows_of(found))


def deliver(proposals: DataFrame, sink: Sink) -> Iterator[Delivery]:
    """Deliver from the driver, in the order of the rows, which it fetches part by part; yield what became of each batch."""
    rows = proposals.select(*_COLUMNS).toLocalIterator(prefetchPartitions=True)
    found = map(proposal_of, rows)
    while batch := list(islice(found, _BATCH)):
        yield sink.emit(batch)


class Deliver:
    """What an executor does with its part: opens the target, delivers in order, tells of refusals."""

    def __init__(self, target: str, options: SinkOptions) -> None:
        self.target = target
        self.options = msgspec.json.encode(options)

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield REFUSED."""
        return batches(self._rows(found), REFUSED)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        delivered = 0
        proposals = _proposals(found)
        with open_sink(self.target, msgspec.json.decode(self.options, type=SinkOptions)) as sink:
            while batch := list(islice(proposals, _BATCH)):
                done = sink.emit(batch)
                delivered += done.delivered
                for failure in done.failed:
                    yield _refusal(failure)
        yield None, None, None, None, None, delivered


def _refusal(failure: Failure) -> Row:
    proposal = failure.proposal
    value = orjson.dumps(proposal.value).decode()
    return proposal.entity_urn, proposal.aspect_name, proposal.change_type, value, failure.reason, 0


def deliver_apart(proposals: DataFrame, target: str, options: SinkOptions, *, most: int | None = None) -> DataFrame:
    """Return what delivery from the executors comes to (see REFUSED): at most ``most`` at once, an entity from one of them.

    Nothing is sent before the DataFrame is asked for; persist it, or it is sent again.
    """
    rows = proposals.select(*_COLUMNS)
    spread = rows.repartition(most, "entity_urn") if most else rows.repartition("entity_urn")
    return spread.mapInArrow(Deliver(target, options), REFUSED)
