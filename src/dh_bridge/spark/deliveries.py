"""Delivery of a DataFrame of proposals to any target, with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.creates import drops_creates_silently
from dh_bridge.delivery import open_target, require_ledger
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.base import Failure, address_of, target_kind
from dh_bridge.spark.executors import SparkDelivery, deliver_from_executors, failures_frame
from dh_bridge.spark.output_order import sort_by_entity
from dh_bridge.spark.packed_proposals import packs_of
from dh_bridge.spark.targets import (
    FOLDER_SCHEMES,
    MAX_ATTEMPTS,
    deliver_from_driver,
    filter_writes,
    write_batch,
    write_folder,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

MAX_HELD_FAILURES = 10_000
"""Proposals in ``SparkDelivery.failures``, which the driver holds, if the driver delivers; all are counted."""


def deliver(
    proposals: DataFrame, target: str, settings: SettingsLike = None, *, attempts: int = MAX_ATTEMPTS
) -> SparkDelivery:
    """Deliver proposals in the order in which they were written, and return the counts.

    Args:
        proposals: A table of proposals: those of a translation, a folder of a stream, or failures of an earlier delivery.
        target: ``parquet:DIR``, ``ndjson:DIR``, or a target of ``dh-bridge emit``, for example ``catalog:FILE`` or
            ``rest:http://gms:8080``. The executors write folders and to Kafka, the driver writes to all others.
        settings: The settings: the server's version, its login, and ``writes``.
        attempts: How often retryable failures are sent.

    Returns:
        The counts and the failures. ``close()`` frees their space.

    Raises:
        SettingsError: A setting or the target is invalid.
        SinkError: The target cannot be opened.

    Example:
        ``deliver(session.read.parquet("proposals"), "catalog:shop.db").delivered_count``
    """
    return deliver_rows(proposals, target, settings_of(settings), attempts=attempts)


def deliver_rows(
    proposals: DataFrame,
    target: str,
    settings: Settings,
    *,
    batch: int | None = None,
    attempts: int = MAX_ATTEMPTS,
) -> SparkDelivery:
    """Deliver as :func:`deliver`; ``batch`` is the number of a stream's batch, whose rows are in order."""
    if target.partition(":")[0] in FOLDER_SCHEMES and address_of(target):
        allowed_proposals, filtered = filter_writes(proposals, settings.writes)
        if batch is None:
            count = write_folder(allowed_proposals, target)
        else:
            count = write_batch(allowed_proposals, target, batch)
        return SparkDelivery(count, 0, 0, filtered, failures_frame(proposals.sparkSession, ()))
    require_ledger(target, settings)
    if target_kind(target).is_parallel:
        return _from_executors(proposals, target, settings, attempts)
    return _from_driver(proposals, target, settings, attempts, is_batch=batch is not None)


def _from_executors(proposals: DataFrame, target: str, settings: Settings, attempts: int) -> SparkDelivery:
    delivery_target = open_target(target, settings)
    delivery_target.sink.close()
    settings = delivery_target.settings
    can_create = drops_creates_silently(settings.datahub_version)
    allowed_proposals, filtered = filter_writes(proposals, settings.writes, can_create=can_create)
    delivery = deliver_from_executors(
        allowed_proposals, target, delivery_target.options, writes=settings.writes, attempts=attempts
    )
    return delivery._replace(filtered=filtered)


def _from_driver(
    proposals: DataFrame, target: str, settings: Settings, attempts: int, *, is_batch: bool
) -> SparkDelivery:
    allowed_proposals, filtered = filter_writes(proposals, settings.writes)
    failures: list[Failure] = []
    delivered_count = failed_count = retryable_count = 0
    # a stream has the state of its runs, as a ledger has: it need not read the target to complete a run
    has_run_states = is_batch or _has_batches(proposals)
    is_in_order = is_batch or packs_of(allowed_proposals) is not None
    rows = allowed_proposals if is_in_order else sort_by_entity(allowed_proposals)
    with open_target(target, settings, ledger=has_run_states).sink as sink:
        for batch_delivery in deliver_from_driver(rows, sink, attempts=attempts):
            delivered_count += batch_delivery.delivered_count
            failed_count += len(batch_delivery.failures)
            retryable_count += sum(failure.retryable for failure in batch_delivery.failures)
            failures += batch_delivery.failures[: MAX_HELD_FAILURES - len(failures)]
    failed_rows = failures_frame(proposals.sparkSession, failures)
    return SparkDelivery(delivered_count, failed_count, retryable_count, filtered, failed_rows)


def _has_batches(proposals: DataFrame) -> bool:
    """Return whether the proposals are those of a stream."""
    return "batch" in proposals.columns and bool(proposals.filter("batch IS NOT NULL").take(1))
