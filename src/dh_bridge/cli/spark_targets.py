"""Where ``dh-bridge spark`` delivers: folders by Spark, Kafka from the executors, anything else from the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.cli.console import say
from dh_bridge.cli.spark_errors import delivering
from dh_bridge.datahub.creates import drops_creates_silently
from dh_bridge.delivery import need_ledger, open_destination
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.openlineage.events import told
from dh_bridge.sinks.base import Failure, SinkOptions, address, find_kind, local_path, target_kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dh_bridge.cli.summary import Outcome
    from dh_bridge.settings import Settings

_FOLDERS = ("parquet:", "ndjson:")
_SHOWN = 20
_HELD = 10_000
"""Failures that the driver holds before it writes them."""

#: takes proposals and, of a stream, the number of the batch; returns how many did not arrive that may get through later
Deliver = Callable[["DataFrame", "int | None"], int]


def need_known(target: str) -> None:
    """Refuse a target of an unknown kind before Spark is started, which takes its time."""
    if target in _FOLDERS:
        raise SettingsError(f"{target} needs a folder", where="--to", now=f"write --to {target}DIR")
    if not target.startswith(_FOLDERS):
        try:
            target_kind(target)
        except SettingsError as error:
            now = f"write parquet:DIR, ndjson:DIR, or {error.now}"
            raise SettingsError(error.what, where=error.where, now=now) from error


def written_path(target: str) -> str | None:
    """Return the folder or the file of proposals that a target writes, which Spark would read as events; else None."""
    if target.startswith(_FOLDERS):
        return address(target) or None
    kind = find_kind(target)
    return None if kind is None or kind.readable else local_path(target)


def delivery(
    target: str, settings: Settings, outcome: Outcome, folder: str | None, *, dry_run: bool = False
) -> tuple[Settings, Deliver]:
    """Return the settings with the profile that the target wants, and what delivers proposals to it.

    ``folder`` is for those that the target does not take. A ``dry_run`` asks a server for its version and delivers nothing.
    """
    options = SinkOptions()
    if not target.startswith(_FOLDERS):
        if not dry_run:
            need_ledger(target, settings)
        destination = open_destination(target, settings, dry_run=dry_run)
        destination.sink.close()
        settings, options = destination.settings, destination.options
    if dry_run:
        return settings, lambda _proposals, _batch: 0
    return settings, Target(target, settings, options, outcome, folder).deliver


class Target(NamedTuple):
    """A target, how it is opened, what counts the deliveries, and the folder of what does not arrive."""

    name: str
    settings: Settings
    options: SinkOptions
    outcome: Outcome
    folder: str | None

    def deliver(self, proposals: DataFrame, batch: int | None) -> int:
        """Deliver what ``writes`` lets be written, and count the rest."""
        from dh_bridge.spark import targets  # noqa: PLC0415 - Spark is loaded by the commands that need it

        kind = find_kind(self.name)
        parallel = kind is not None and kind.parallel
        creates = not parallel or drops_creates_silently(self.settings.profile)
        proposals, left_out = targets.permitted(proposals, self.settings.writes, creates=creates)
        self.outcome.counts.filtered.update(left_out)
        if self.name.startswith(_FOLDERS):
            with delivering(self.name):
                if batch is None:
                    targets.write_folder(proposals, self.name)
                else:
                    targets.write_batch(proposals, self.name, batch)
            self.outcome.delivered += proposals.count()
            return 0
        return (self._from_executors if parallel else self._from_driver)(proposals, batch)

    def _from_executors(self, proposals: DataFrame, batch: int | None) -> int:
        from dh_bridge.spark import executors  # noqa: PLC0415 - as above

        done = executors.deliver_apart(proposals, self.name, self.options, writes=self.settings.writes)
        self.outcome.delivered += done.delivered
        self.outcome.refused += done.refused
        if done.refused:
            _tell(done.undelivered, lambda row: f"not delivered: {row.entity_urn} {row.aspect_name}: {row.reason}")
        if done.refused and (batch is None or not done.late):
            _keep(done.undelivered, self.folder, batch)
        done.close()
        return done.late

    def _from_driver(self, proposals: DataFrame, batch: int | None) -> int:
        from dh_bridge.spark import executors, targets  # noqa: PLC0415 - as above

        late, refused = 0, list[Failure]()
        try:
            # opened for each batch: a stream's are worked on by a thread of Spark's, and a SQLite file belongs to one thread
            continues = batch is not None  # a stream knows the runs of its batches, as a ledger does
            destination = open_destination(self.name, self.settings, run_id=self.options.run_id, ledger=continues)
            with destination.sink as sink:
                for done in targets.deliver(proposals, sink):
                    self.outcome.deliver(done)
                    late += sum(one.retryable for one in done.failed)
                    refused += done.failed if self.folder else ()
                    if batch is None and len(refused) >= _HELD:
                        _keep(executors.undelivered(proposals.sparkSession, refused), self.folder, batch)
                        refused.clear()
        except SinkError as error:  # the place cannot be opened, or not be closed: none of all arrived
            if batch is None:
                _keep(executors.unsent(proposals, str(error)), self.folder, batch)
            raise
        if refused and (batch is None or not late):  # a batch that is to be repeated tells again
            _keep(executors.undelivered(proposals.sparkSession, refused), self.folder, batch)
        return late


class Batches:
    """What a stream does with each batch: it delivers it, tells of it, and notes that there was one."""

    def __init__(
        self, outcome: Outcome, settings: Settings, deliver: Deliver, folder: str | None, *, dry_run: bool
    ) -> None:
        self._outcome = outcome
        self._settings = settings
        self._deliver = deliver
        self._folder = folder
        self._dry_run = dry_run
        self._seen = False

    def take(self, proposals: DataFrame, bad: DataFrame, number: int) -> None:
        """Deliver a batch; a SinkError, so that it is repeated, when proposals are left that may get through later."""
        self._seen = True
        before = self._outcome.delivered
        late = self._deliver(proposals, number)
        if late:
            raise SinkError(
                f"{late:,} proposals were not delivered, and may get through later",
                where=f"batch {number}",
                now="start the stream again: it repeats the batch",
            )
        bury(self._outcome, bad, self._folder, number)
        arrived = self._outcome.delivered - before
        told = f"{proposals.count():,} proposals" if self._dry_run else f"{arrived:,} proposals delivered"
        say(f"batch {number}: {told}")

    def leave_out(self, rejected: DataFrame) -> None:
        """Tell of the proposals of a batch that their schema refuses."""
        leave_out(self._outcome, rejected)

    def end(self) -> None:
        """Say that there was nothing, and what ``writes`` left out."""
        if not self._seen:
            say("nothing is new: there was no batch")
        for rule, number in sorted(self._outcome.counts.filtered.items()):
            say(f"left out by {rule}: {number:,}")


def bury(outcome: Outcome, bad: DataFrame, folder: str | None, batch: int | None = None) -> None:
    """Count the events that cannot be used, tell of the first ones, and keep all of them where ``folder`` says."""
    number = bad.count()
    outcome.dead += number
    if number:
        _tell(bad, lambda row: told(row.place, row.reason))
        _keep(bad, folder, batch)


def leave_out(outcome: Outcome, rejected: DataFrame, number: int | None = None) -> None:
    """Count the proposals of ours that their schema refuses, where nobody knows their ``number``, and tell of the first ones."""
    number = rejected.count() if number is None else number
    outcome.rejected += number
    if number:
        _tell(rejected, lambda row: f"left out: {row.entity_urn}: {row.reason}")


def _tell(rows: DataFrame, line: Callable[[Any], str]) -> None:
    for row in rows.limit(_SHOWN).collect():
        say(line(row))


def _keep(rows: DataFrame, folder: str | None, batch: int | None) -> None:
    """Write rows into ``folder``; those of a batch of a stream apart, in place of what an earlier try of it left."""
    if folder is None:
        return
    if batch is None:
        rows.write.mode("append").parquet(folder)
    else:
        rows.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/batch={batch}")
