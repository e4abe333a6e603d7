"""Where ``dh-bridge spark`` delivers: folders by Spark, Kafka from the executors, anything else from the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.cli.screen import say
from dh_bridge.delivery import need_ledger, open_destination

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dh_bridge.cli.outcome import Outcome
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Failure

_FOLDERS = ("parquet:", "ndjson:")
_SHOWN = 20


def delivery(
    target: str, settings: Settings, outcome: Outcome, folder: str | None, *, dry_run: bool = False
) -> tuple[Settings, Callable[[DataFrame], None]]:
    """Return the settings with the profile that the target wants, and what delivers proposals to it.

    ``folder`` is for those that the target does not take. A ``dry_run`` asks a server for its version and delivers nothing.
    """
    if dry_run:
        if not target.startswith(_FOLDERS):
            sink, settings, _, _ = open_destination(target, settings, dry_run=True)
            sink.close()
        return settings, lambda _proposals: None
    from dh_bridge.spark import executors, targets  # noqa: PLC0415 - Spark is loaded by the commands that need it

    if target.startswith(_FOLDERS):

        def into_folder(proposals: DataFrame) -> None:
            targets.write_folder(proposals, target)
            outcome.delivered += proposals.count()

        return settings, into_folder
    need_ledger(target, settings)
    sink, settings, options, _ = open_destination(target, settings)
    sink.close()

    def from_executors(proposals: DataFrame) -> None:
        done = executors.deliver_apart(proposals, target, options, writes=settings.writes)
        outcome.delivered += done.delivered
        outcome.refused += done.refused
        for row in done.undelivered.limit(_SHOWN).collect() if done.refused else ():
            say(f"not delivered: {row.entity_urn} {row.aspect_name}: {row.reason}")
        _keep(done.undelivered, folder if done.refused else None)
        done.close()

    def from_driver(proposals: DataFrame) -> None:
        refused: list[Failure] = []
        # opened for each batch: a stream's are worked on by a thread of Spark's, and a SQLite file belongs to one thread
        with open_destination(target, settings, run_id=options.run_id).sink as sink:
            for done in targets.deliver(proposals, sink):
                outcome.deliver(done)
                refused += done.failed if folder else ()
        if refused:
            _keep(executors.undelivered(proposals.sparkSession, refused), folder)

    return settings, from_executors if target.startswith("kafka:") else from_driver


def bury(outcome: Outcome, bad: DataFrame, folder: str | None) -> None:
    """Count the events that cannot be used, tell of the first ones, and keep all of them where ``folder`` says."""
    number = bad.count()
    outcome.dead += number
    for row in bad.limit(_SHOWN).collect() if number else ():
        say(f"{row.place}: {row.reason}")
    _keep(bad, folder if number else None)


def _keep(rows: DataFrame, folder: str | None) -> None:
    if folder is not None:
        rows.write.mode("append").parquet(folder)
