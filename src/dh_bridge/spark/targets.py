"""Targets on Spark: folders that the executors write, and sinks that the driver writes to, one batch after the other.

``parquet:DIR`` and ``ndjson:DIR`` are folders of any file system that Spark reaches. A stream's batch that is repeated is in its
folder once (:func:`write_batch`). The executors can write to a sink, too (:mod:`dh_bridge.spark.executors`).
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
from dh_bridge.spark.folder_files import NO_SUCCESS_FILE, into_files, write_batch_files
from dh_bridge.spark.local_files import local_folder, write_local_parquet
from dh_bridge.spark.output_order import stream_id, with_order
from dh_bridge.spark.packed_proposals import PackRows, packs_of, proposal_stats
from dh_bridge.spark.rows import fetch_rows, rows_of, to_record_batches

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
_decode = msgspec.json.Decoder().decode


def proposal_of(row: Any) -> Proposal:
    """Return the proposal of a row (a Row, or any sequence in the order of PROPOSALS)."""
    entity_type, urn, aspect_name, change_type, aspect = row[:5]
    return Proposal(entity_type, urn, change_type, aspect_name, Payload(_decode(aspect)))


def write_folder(proposals: DataFrame, target: str) -> int:
    """Add proposals to a folder, in few files (see BYTES_PER_FILE).

    Args:
        proposals: The proposals; they are computed twice, unless they are cached, as those of a translation are.
        target: ``parquet:DIR`` or ``ndjson:DIR``. Parquet has all columns, and ORDER_COLUMNS; NDJSON has only the proposals.

    Returns:
        The number of proposals.
    """
    scheme, _, folder = target.partition(":")
    return _write_files(proposals, scheme, folder)


def write_batch(proposals: DataFrame, target: str, number: int) -> int:
    """Write a batch of a stream into a folder, and replace the files of an earlier attempt.

    Call it in the consumer of the stream. If Python's threads are not Spark's (``PYSPARK_PIN_THREAD=false``), the stream is
    unknown, and the batch is appended.

    Args:
        proposals: The proposals of the batch.
        target: ``parquet:DIR`` or ``ndjson:DIR``. The files are named ``part-STREAM-NUMBER-…``.
        number: The number of the batch.

    Returns:
        The number of proposals.

    Raises:
        SinkError: A file cannot be moved.
    """
    stream = stream_id(proposals.sparkSession)
    if stream is None:
        return write_folder(proposals, target)
    scheme, _, folder = target.partition(":")
    return write_batch_files(
        with_order(proposals, batch=number),
        folder,
        stream=stream,
        batch=number,
        write=lambda rows, staging_folder: _write_files(rows, scheme, staging_folder),
    )


def _write_files(proposals: DataFrame, scheme: str, folder: str) -> int:
    """Write proposals into a folder, and return their number."""
    path = local_folder(proposals.sparkSession, folder) if scheme == "parquet" else None
    packed = packs_of(proposals)
    if path is not None and packed is not None:
        return write_local_parquet(into_files(packed.packs.select("data"), packed.file_count()), path, PackRows(packed))
    stats = proposal_stats(proposals)
    rows = into_files(with_order(proposals), stats.file_count())
    if path is not None:
        write_local_parquet(rows, path)
    elif scheme == "parquet":
        rows.write.mode("append").options(**NO_SUCCESS_FILE).parquet(folder)
    else:
        lines = rows.select(*PROPOSAL_COLUMNS).mapInArrow(_to_lines, "value string")
        lines.write.mode("append").options(**NO_SUCCESS_FILE).text(folder)
    return stats.row_count


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


def deliver_from_driver(proposals: DataFrame, sink: Sink, *, attempts: int = MAX_ATTEMPTS) -> Iterator[Delivery]:
    """Deliver from the driver, in the order of the rows, which it reads part by part; yield the result of each batch.

    Retryable failures are sent ``attempts`` times. If the target accepts nothing any more, the rest is not sent and is yielded
    as not delivered; ``retryable`` of such a failure is that of the target.
    """
    packed = packs_of(proposals)
    if packed is not None:
        return deliver_in_batches(map(proposal_of, packed.rows()), sink, attempts)
    rows = fetch_rows(proposals.select(*PROPOSAL_COLUMNS), prefetch=True)
    return deliver_in_batches(map(proposal_of, rows), sink, attempts)


def deliver_in_batches(proposals: Iterator[Proposal], sink: Sink, attempts: int) -> Iterator[Delivery]:
    """Pass proposals to a sink, batch after batch, and yield the result of each; as :func:`deliver_from_driver`, in any process.

    Failures are in the order of the proposals.
    """
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
    position = {id(proposal): number for number, proposal in enumerate(batch)}
    failures = sorted([*refusals, *retryable_failures], key=lambda failure: position.get(id(failure.proposal), 0))
    return Delivery(delivered_count, failures), outage
