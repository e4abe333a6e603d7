"""Targets of ``dh-bridge spark``: Spark writes folders, the executors write to Kafka, the driver to all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.cli.spark_errors import as_sink_errors
from dh_bridge.cli.terminal import say
from dh_bridge.datahub.creates import drops_creates_silently
from dh_bridge.delivery import open_target, require_ledger
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.openlineage.events import located_reason
from dh_bridge.sinks.base import Failure, SinkOptions, address_of, find_kind, local_path, target_kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dh_bridge.cli.summary import CommandOutcome
    from dh_bridge.settings import Settings
    from dh_bridge.spark.batch_metrics import DeliveryCounts

_FOLDER_PREFIXES = ("parquet:", "ndjson:")
_MAX_SHOWN_ROWS = 20
_MAX_HELD_FAILURES = 10_000
"""Failures that the driver holds before it writes them."""

#: takes proposals and, of a stream, the number of the batch; returns how many did not arrive that may get through later
DeliverFunction = Callable[["DataFrame", "int | None"], int]


def require_known_target(target: str) -> None:
    """Refuse a target of an unknown kind before Spark is started, which takes its time."""
    if target in _FOLDER_PREFIXES:
        raise SettingsError(f"{target} needs a folder", location="--to", remedy=f"write --to {target}DIR")
    if not target.startswith(_FOLDER_PREFIXES):
        try:
            target_kind(target)
        except SettingsError as error:
            remedy = f"write parquet:DIR, ndjson:DIR, or {error.remedy}"
            raise SettingsError(error.problem, location=error.location, remedy=remedy) from error


def output_path(target: str) -> str | None:
    """Return the folder or the file of proposals that a target writes, which Spark would read as events; else None."""
    if target.startswith(_FOLDER_PREFIXES):
        return address_of(target) or None
    kind = find_kind(target)
    return None if kind is None or kind.is_readable else local_path(target)


def prepare_delivery(
    target: str, settings: Settings, outcome: CommandOutcome, folder: str | None, *, dry_run: bool = False
) -> tuple[Settings, DeliverFunction]:
    """Return the settings with the version of the target, and the function that delivers proposals to it.

    ``folder`` is for proposals that the target rejects. A ``dry_run`` asks a server for its version and delivers nothing.
    """
    options = SinkOptions()
    if not target.startswith(_FOLDER_PREFIXES):
        if not dry_run:
            require_ledger(target, settings)
        delivery_target = open_target(target, settings, dry_run=dry_run)
        delivery_target.sink.close()
        settings, options = delivery_target.settings, delivery_target.options
    if dry_run:
        return settings, lambda _proposals, _batch: 0
    return settings, SparkTarget(target, settings, options, outcome, folder).deliver


class SparkTarget(NamedTuple):
    """A target, how it is opened, what counts the deliveries, and the folder of what does not arrive."""

    name: str
    settings: Settings
    options: SinkOptions
    outcome: CommandOutcome
    folder: str | None

    def deliver(self, proposals: DataFrame, batch: int | None) -> int:
        """Deliver what ``writes`` lets be written, and count the rest."""
        from dh_bridge.spark import targets  # noqa: PLC0415 - Spark is loaded by the commands that need it

        kind = find_kind(self.name)
        parallel = kind is not None and kind.is_parallel
        can_create = not parallel or drops_creates_silently(self.settings.datahub_version)
        proposals, left_out = targets.filter_writes(proposals, self.settings.writes, can_create=can_create)
        self.outcome.counts.filtered.update(left_out)
        if self.name.startswith(_FOLDER_PREFIXES):
            with as_sink_errors(self.name):
                if batch is None:
                    self.outcome.delivered_count += targets.write_folder(proposals, self.name)
                else:
                    self.outcome.delivered_count += targets.write_batch(proposals, self.name, batch)
            return 0
        return (self._from_executors if parallel else self._from_driver)(proposals, batch)

    def _from_executors(self, proposals: DataFrame, batch: int | None) -> int:
        from dh_bridge.spark import executors  # noqa: PLC0415 - as above

        delivery_result = executors.deliver_from_executors(
            proposals, self.name, self.options, writes=self.settings.writes
        )
        self.outcome.delivered_count += delivery_result.delivered_count
        self.outcome.refused_count += delivery_result.failed_count
        if delivery_result.failed_count:
            _print_rows(
                delivery_result.failures, lambda row: f"not delivered: {row.entity_urn} {row.aspect_name}: {row.reason}"
            )
        if delivery_result.failed_count and (batch is None or not delivery_result.retryable_count):
            _write_undelivered(delivery_result.failures, self.folder, batch)
        delivery_result.close()
        return delivery_result.retryable_count

    def _from_driver(self, proposals: DataFrame, batch: int | None) -> int:
        from dh_bridge.spark import executors, targets  # noqa: PLC0415 - as above

        retryable_count, failures = 0, list[Failure]()
        try:
            # opened for each batch: a stream's are worked on by a thread of Spark's, and a SQLite file belongs to one thread
            is_stream = batch is not None  # a stream has the state of its runs, as a ledger does
            delivery_target = open_target(self.name, self.settings, run_id=self.options.run_id, ledger=is_stream)
            with delivery_target.sink as sink:
                for batch_delivery in targets.deliver_from_driver(proposals, sink):
                    self.outcome.add_delivery(batch_delivery)
                    retryable_count += sum(failure.retryable for failure in batch_delivery.failures)
                    failures += batch_delivery.failures if self.folder else ()
                    if batch is None and len(failures) >= _MAX_HELD_FAILURES:
                        _write_undelivered(
                            executors.failures_frame(proposals.sparkSession, failures), self.folder, batch
                        )
                        failures.clear()
        except SinkError as error:  # the target cannot be opened or closed: no proposal arrived
            if batch is None:
                _write_undelivered(executors.failures_with_reason(proposals, str(error)), self.folder, batch)
            raise
        if failures and (batch is None or not retryable_count):  # a repeated batch reports its failures again
            _write_undelivered(executors.failures_frame(proposals.sparkSession, failures), self.folder, batch)
        return retryable_count


class StreamBatchHandler:
    """Handles the batches of a stream: delivers a batch, reports its result, and notes that there was one."""

    def __init__(
        self,
        outcome: CommandOutcome,
        settings: Settings,
        deliver: DeliverFunction,
        folder: str | None,
        *,
        dry_run: bool,
    ) -> None:
        self._outcome = outcome
        self._settings = settings
        self._deliver = deliver
        self._folder = folder
        self._dry_run = dry_run
        self._has_batches = False

    def deliver(self, proposals: DataFrame, dead_letters: DataFrame, number: int) -> DeliveryCounts:
        """Deliver a batch; a SinkError, so that it is repeated, when proposals are left that may get through later."""
        from dh_bridge.spark.batch_metrics import DeliveryCounts  # noqa: PLC0415 - Spark is loaded by the commands that need it

        self._has_batches = True
        delivered_before, refused_before = self._outcome.delivered_count, self._outcome.refused_count
        retryable_count = self._deliver(proposals, number)
        if retryable_count:
            raise SinkError(
                f"{retryable_count:,} proposals were not delivered, and may get through later",
                location=f"batch {number}",
                remedy="start the stream again: it repeats the batch",
            )
        report_dead_letters(self._outcome, dead_letters, self._folder, number)
        delivered_count = self._outcome.delivered_count - delivered_before
        text = f"{proposals.count():,} proposals" if self._dry_run else f"{delivered_count:,} proposals delivered"
        say(f"batch {number}: {text}")
        return DeliveryCounts(delivered_count, self._outcome.refused_count - refused_before)

    def report_rejections(self, rejected: DataFrame) -> None:
        """Report the proposals of a batch that do not match their schema."""
        report_rejections(self._outcome, rejected)

    def report_end(self) -> None:
        """Report that there were no batches, and what the setting ``writes`` excluded."""
        if not self._has_batches:
            say("nothing is new: there was no batch")
        for rule, number in sorted(self._outcome.counts.filtered.items()):
            say(f"left out by {rule}: {number:,}")


def report_dead_letters(
    outcome: CommandOutcome, dead_letters: DataFrame, folder: str | None, batch: int | None = None
) -> None:
    """Count the events that cannot be used, print the first ones, and write all of them to ``folder``, if it is set."""
    if dead_letters.isEmpty():
        return
    outcome.dead_count += dead_letters.count()
    _print_rows(dead_letters, lambda row: located_reason(row.location, row.reason))
    _write_rows(dead_letters, folder, batch)


def report_rejections(outcome: CommandOutcome, rejected: DataFrame, number: int | None = None) -> None:
    """Count the proposals that do not match their schema, unless ``number`` is known, and print the first ones."""
    number = rejected.count() if number is None else number
    outcome.rejected_count += number
    if number:
        _print_rows(rejected, lambda row: f"left out: {row.entity_urn}: {row.reason}")


def _print_rows(rows: DataFrame, line: Callable[[Any], str]) -> None:
    for row in rows.limit(_MAX_SHOWN_ROWS).collect():
        say(line(row))


def _write_undelivered(failures: DataFrame, folder: str | None, batch: int | None) -> None:
    """Append failures to ``folder``; the files of a stream's batch replace those of an earlier attempt."""
    from dh_bridge.spark import targets  # noqa: PLC0415 - Spark is loaded by the commands that need it

    if folder is None:
        return
    if batch is None:
        targets.write_folder(failures, f"parquet:{folder}")
    else:
        targets.write_batch(failures, f"parquet:{folder}", batch)


def _write_rows(rows: DataFrame, folder: str | None, batch: int | None) -> None:
    """Write rows into ``folder``; the rows of a stream's batch replace those of an earlier attempt."""
    if folder is None:
        return
    if batch is None:
        rows.write.mode("append").parquet(folder)
    else:
        rows.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/batch={batch}")
