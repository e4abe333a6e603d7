"""Targets on Spark: folders that the executors write, and every sink of :mod:`dh_bridge.sinks`.

``parquet:DIR`` and ``ndjson:DIR`` are folders of any file system that Spark reaches. The driver writes to a sink, one batch
after the other, or the executors do (:mod:`dh_bridge.spark.executors`). Delivery is at least once; the same proposals make the
same state, and a stream's batch that is repeated is in its folder once (:func:`write_batch`).
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from time import sleep
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.datahub.proposal import Payload, Proposal, ndjson_line
from dh_bridge.errors import SinkError
from dh_bridge.retry_buffer import Backoff, RetryBuffer
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.spark.rows import fetch_rows, rows_of, to_record_batches
from dh_bridge.spark.stores import escape_glob, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dh_bridge.settings.writes import WritesSettings
    from dh_bridge.sinks.base import Sink

FOLDER_SCHEMES = ("parquet", "ndjson")
PROPOSALS_PER_BATCH = 500
"""Proposals that are passed to a sink at once."""
MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 1.0
"""Seconds before the second attempt; twice as long before each further one."""
PROPOSAL_COLUMNS = ("entity_type", "entity_urn", "aspect_name", "change_type", "aspect")
_QUERY_ID_PROPERTY = "sql.streaming.queryId"
"""Spark's local property with the id of a stream, which stays the same as long as its checkpoint."""
_PART_PREFIX = "part-"
_decode = msgspec.json.Decoder().decode


def proposal_of(row: Any) -> Proposal:
    """Return the proposal of a row (a Row, or any sequence in the order of PROPOSALS)."""
    entity_type, urn, aspect_name, change_type, aspect = row[:5]
    return Proposal(entity_type, urn, change_type, aspect_name, Payload(_decode(aspect)))


def write_folder(proposals: DataFrame, target: str, *, mode: str = "append") -> None:
    """Write ``parquet:DIR`` or ``ndjson:DIR``; ``mode`` is Spark's: append, overwrite, errorifexists."""
    scheme, _, folder = target.partition(":")
    if scheme == "parquet":
        proposals.write.mode(mode).parquet(folder)
    else:
        proposals.select(*PROPOSAL_COLUMNS).mapInArrow(_to_lines, "value string").write.mode(mode).text(folder)


def write_batch(proposals: DataFrame, target: str, number: int) -> None:
    """Write a batch of a stream into ``parquet:DIR`` or ``ndjson:DIR``, and replace the files of an earlier try.

    Call it in the consumer of the stream. Its files are named ``part-STREAM-NUMBER-…``; they are written in a folder that
    readers skip, and moved from there. If Python's threads are not Spark's (``PYSPARK_PIN_THREAD=false``), the stream is
    unknown, and the batch is appended. A SinkError if a file cannot be moved.
    """
    spark = proposals.sparkSession
    stream = spark.sparkContext.getLocalProperty(_QUERY_ID_PROPERTY)
    if stream is None:
        write_folder(proposals, target)
        return
    scheme, _, folder = target.partition(":")
    store, _ = store_of(spark, folder)
    file_prefix, staging_folder = (
        f"{folder.rstrip('/')}/{_PART_PREFIX}{stream}-{number}-",
        f"{folder.rstrip('/')}/_{stream}-{number}",
    )
    write_folder(proposals, f"{scheme}:{staging_folder}", mode="overwrite")
    for stale_file in store.globStatus(store_of(spark, f"{escape_glob(file_prefix)}*")[1]) or ():
        store.delete(stale_file.getPath(), False)  # noqa: FBT003 - Java's
    staging_path = store_of(spark, staging_folder)[1]
    for file in store.listStatus(staging_path):
        name = file.getPath().getName()
        if not name.startswith(_PART_PREFIX):
            continue
        final_path = store_of(spark, file_prefix + name.removeprefix(_PART_PREFIX))[1]
        if not store.rename(file.getPath(), final_path):
            raise SinkError(
                f"cannot move the file to {final_path}", location=f"{staging_folder}/{name}", retryable=True
            )
    store.delete(staging_path, True)  # noqa: FBT003 - Java's


def _to_lines(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return to_record_batches(
        ((ndjson_line(proposal)[:-1].decode(),) for proposal in _to_proposals(record_batches)), "value string"
    )


def _to_proposals(record_batches: Iterable[pa.RecordBatch]) -> Iterator[Proposal]:
    return map(proposal_of, rows_of(record_batches))


def filter_writes(
    proposals: DataFrame, writes: WritesSettings, *, can_create: bool = True
) -> tuple[DataFrame, Counter[str]]:
    """Return the proposals that may be written, and the number of the others by the rule that drops them.

    ``can_create``: whether the target can write an aspect only where it is absent.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    left_out: Counter[str] = Counter()
    if not can_create:
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
            is_refused = (F.col("entity_type") == row.entity_type) & (F.col("aspect_name") == row.aspect_name)
            proposals = proposals.filter(~is_refused)
    return proposals, left_out


def deliver(proposals: DataFrame, sink: Sink, *, attempts: int = MAX_ATTEMPTS) -> Iterator[Delivery]:
    """Deliver from the driver, in the order of the rows, which it reads part by part; yield the result of each batch.

    Retryable failures are sent ``attempts`` times. If the target accepts nothing any more, the rest is not sent and is yielded
    as not delivered; ``retryable`` of such a failure is that of the target.
    """
    return deliver_in_batches(
        map(proposal_of, fetch_rows(proposals.select(*PROPOSAL_COLUMNS), prefetch=True)), sink, attempts
    )


def deliver_in_batches(proposals: Iterator[Proposal], sink: Sink, attempts: int) -> Iterator[Delivery]:
    """Pass proposals to a sink, batch after batch, and yield the result of each; as :func:`deliver`, in any process."""
    outage: SinkError | None = None
    while batch := list(islice(proposals, PROPOSALS_PER_BATCH)):
        if outage is None:
            delivery, outage = deliver_with_retries(sink, batch, attempts)
        else:
            delivery = Delivery(0, [Failure(proposal, str(outage), retryable=True) for proposal in batch])
        yield delivery


def deliver_with_retries(sink: Sink, batch: list[Proposal], attempts: int) -> tuple[Delivery, SinkError | None]:
    """Deliver a batch; retryable failures are sent ``attempts`` times.

    Return the error if the target accepts nothing at all.

    ``retryable`` failures are those that a later delivery may fix: also after the target is repaired.
    """
    buffer, backoff = RetryBuffer(batch), Backoff(FIRST_PAUSE_SECONDS)
    retryable_failures, refusals = list[Failure](), list[Failure]()
    delivered_count = 0
    outage: SinkError | None = None
    for attempt in range(attempts):
        if attempt:
            sleep(backoff.next())
        remaining = buffer.proposals
        try:
            outcome = buffer.send(sink)
        except SinkError as error:
            outage = error.with_traceback(None)  # which leads to the batch
            retryable_failures = [Failure(proposal, str(error), retryable=True) for proposal in remaining]
            if not error.retryable:
                break
            continue
        outage = None
        delivered_count += outcome.delivered_count
        refusals += outcome.permanent
        retryable_failures = outcome.retryable
        if not retryable_failures:
            break
    return Delivery(delivered_count, [*refusals, *retryable_failures]), outage
