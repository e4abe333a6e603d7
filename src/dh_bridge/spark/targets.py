"""Where proposals go from Spark: folders that the executors write, and every sink of :mod:`dh_bridge.sinks`.

``parquet:DIR`` and ``ndjson:DIR`` are folders of any file system that Spark reaches. A sink gets its proposals from the
driver, one batch after the other, or from the executors (:mod:`dh_bridge.spark.executors`). Delivery is at least once; the
same proposals make the same state, and a stream's batch that is repeated is in its folder once (:func:`write_batch`).
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.datahub.proposal import Payload, Proposal, ndjson_line
from dh_bridge.errors import SinkError
from dh_bridge.retry_buffer import Backoff, RetryBuffer
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.spark.rows import batches, fetched, rows_of
from dh_bridge.spark.stores import escaped, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dh_bridge.settings.writes import WritesSettings
    from dh_bridge.sinks.base import Sink

FOLDERS = ("parquet", "ndjson")
BATCH = 500
"""Proposals that are handed to a sink at once."""
ATTEMPTS = 4
PAUSE = 1.0
"""Seconds before the second attempt; twice as long before each further one."""
COLUMNS = ("entity_type", "entity_urn", "aspect_name", "change_type", "aspect")
_QUERY = "sql.streaming.queryId"
"""Spark's local property with the id of a stream, which stays the same as long as its checkpoint."""
_PART = "part-"
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


def write_batch(proposals: DataFrame, target: str, number: int) -> None:
    """Write a batch of a stream into ``parquet:DIR`` or ``ndjson:DIR``, in place of what an earlier try of it left there.

    To be called by the stream's taker. Its files are named ``part-STREAM-NUMBER-…``; they are written in a folder that readers
    pass over, and moved from there. Where Python's threads are not Spark's (``PYSPARK_PIN_THREAD=false``) the stream is not
    known, and the batch is appended. A SinkError when a file cannot be moved.
    """
    spark = proposals.sparkSession
    stream = spark.sparkContext.getLocalProperty(_QUERY)
    if stream is None:
        write_folder(proposals, target)
        return
    scheme, _, place = target.partition(":")
    store, _ = store_of(spark, place)
    own, aside = f"{place.rstrip('/')}/{_PART}{stream}-{number}-", f"{place.rstrip('/')}/_{stream}-{number}"
    write_folder(proposals, f"{scheme}:{aside}", mode="overwrite")
    for old in store.globStatus(store_of(spark, f"{escaped(own)}*")[1]) or ():
        store.delete(old.getPath(), False)  # noqa: FBT003 - Java's
    written = store_of(spark, aside)[1]
    for file in store.listStatus(written):
        name = file.getPath().getName()
        if not name.startswith(_PART):
            continue
        new = store_of(spark, own + name.removeprefix(_PART))[1]
        if not store.rename(file.getPath(), new):
            raise SinkError(f"cannot be moved to {new}", where=f"{aside}/{name}", retryable=True)
    store.delete(written, True)  # noqa: FBT003 - Java's


def _lines(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches(((ndjson_line(one)[:-1].decode(),) for one in _proposals(found)), "value string")


def _proposals(found: Iterable[pa.RecordBatch]) -> Iterator[Proposal]:
    return map(proposal_of, rows_of(found))


def permitted(proposals: DataFrame, writes: WritesSettings, *, creates: bool = True) -> tuple[DataFrame, Counter[str]]:
    """Return the proposals that may be written, and how many others there are, by the rule that leaves them out.

    ``creates``: whether the target can write an aspect only where it is absent.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    left_out: Counter[str] = Counter()
    if not creates:
        is_create = F.col("change_type") == "CREATE"
        if number := proposals.filter(is_create).count():
            left_out[LEFT_OUT] = number
            proposals = proposals.filter(~is_create)
    if not (writes.entities or writes.aspects):
        return proposals, left_out
    for row in proposals.groupBy("entity_type", "aspect_name").count().collect():
        rule = writes.refusal(row.entity_type, row.aspect_name)
        if rule is not None:
            left_out[rule] += row["count"]
            mine = (F.col("entity_type") == row.entity_type) & (F.col("aspect_name") == row.aspect_name)
            proposals = proposals.filter(~mine)
    return proposals, left_out


def deliver(proposals: DataFrame, sink: Sink, *, attempts: int = ATTEMPTS) -> Iterator[Delivery]:
    """Deliver from the driver, in the order of the rows, which it fetches part by part; yield what became of each batch.

    What may get through later is sent ``attempts`` times. A place that takes nothing any more is not asked for the rest, which
    is told as not delivered; ``retryable`` of a failure then says that it is the place's.
    """
    return handed(map(proposal_of, fetched(proposals.select(*COLUMNS), ahead=True)), sink, attempts)


def handed(proposals: Iterator[Proposal], sink: Sink, attempts: int) -> Iterator[Delivery]:
    """Hand proposals to a sink, batch after batch, and yield what became of each; as :func:`deliver`, anywhere."""
    broken: SinkError | None = None
    while batch := list(islice(proposals, BATCH)):
        if broken is None:
            done, broken = sent(sink, batch, attempts)
        else:
            done = Delivery(0, [Failure(one, str(broken), retryable=True) for one in batch])
        yield done


def sent(sink: Sink, batch: list[Proposal], attempts: int) -> tuple[Delivery, SinkError | None]:
    """Deliver a batch; what may get through later is tried ``attempts`` times. The error of a place that takes nothing at all.

    Failures that are ``retryable`` are those that another delivery may mend: also once the place is mended.
    """
    buffer, backoff = RetryBuffer(batch), Backoff(PAUSE)
    late, refused = list[Failure](), list[Failure]()
    delivered = 0
    broken: SinkError | None = None
    for attempt in range(attempts):
        if attempt:
            time.sleep(backoff.next())
        left = buffer.proposals
        try:
            done = buffer.send(sink)
        except SinkError as error:
            broken = error.with_traceback(None)  # which leads to the batch
            late = [Failure(proposal, str(error), retryable=True) for proposal in left]
            if not error.retryable:
                break
            continue
        broken = None
        delivered += done.delivered
        refused += done.permanent
        late = done.retryable
        if not late:
            break
    return Delivery(delivered, [*refused, *late]), broken
