"""Where proposals go from Spark: folders that the executors write, and every sink of :mod:`dh_bridge.sinks`.

``parquet:DIR`` and ``ndjson:DIR`` are folders of any file system that Spark reaches. A sink gets its proposals from the
driver, one batch after the other, or from the executors (:mod:`dh_bridge.spark.executors`). Delivery is at least once; the
same proposals make the same state.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.proposal import Payload, Proposal, ndjson_line
from dh_bridge.spark.rows import batches, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dh_bridge.sinks.base import Delivery, Sink

FOLDERS = ("parquet", "ndjson")
BATCH = 500
"""Proposals that are handed to a sink at once."""
COLUMNS = ("entity_type", "entity_urn", "aspect_name", "change_type", "aspect")
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
        proposals.select(*COLUMNS).mapInArrow(_lines, "value string").write.mode(mode).text(place)


def _lines(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches(((ndjson_line(one)[:-1].decode(),) for one in _proposals(found)), "value string")


def _proposals(found: Iterable[pa.RecordBatch]) -> Iterator[Proposal]:
    return map(proposal_of, rows_of(found))


def deliver(proposals: DataFrame, sink: Sink) -> Iterator[Delivery]:
    """Deliver from the driver, in the order of the rows, which it fetches part by part; yield what became of each batch."""
    rows = proposals.select(*COLUMNS).toLocalIterator(prefetchPartitions=True)
    found = map(proposal_of, rows)
    while batch := list(islice(found, BATCH)):
        yield sink.emit(batch)
