"""``dh-bridge spark``: batch, stream."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, fail_on_option, with_settings
from dh_bridge.cli.path_conflicts import require_separate_folders
from dh_bridge.cli.spark_errors import with_short_errors
from dh_bridge.cli.spark_sources import batch_events, check_source, choose_partitions, split_pairs, stream_events
from dh_bridge.cli.spark_targets import (
    StreamBatchHandler,
    output_path,
    prepare_delivery,
    report_dead_letters,
    report_rejections,
    require_known_target,
)
from dh_bridge.cli.summary import CommandOutcome, assumed_version
from dh_bridge.cli.terminal import say
from dh_bridge.errors import SinkError
from dh_bridge.session import Translation
from dh_bridge.sinks.base import find_kind
from dh_bridge.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from dh_bridge.settings import Settings


@click.group()
@examples("dh-bridge spark batch --events examples/events --to parquet:proposals")
def spark() -> None:
    """Translate archives and streams of events on Spark."""


def _source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--events", multiple=True, metavar="PATH", help="File, folder or, with --format table, name."),
        click.option("--format", "source_format", metavar="NAME", help="Format of --events: delta, parquet, table …"),
        click.option("--column", default="value", show_default=True, help="The column that holds the events."),
        click.option("--kafka", metavar="BROKERS", help="Read a topic instead."),
        click.option("--topic", metavar="NAME", help="The topic to read."),
        click.option("--option", "pairs", multiple=True, metavar="KEY=VALUE", help="Option of Spark's reader."),
        click.option("--to", "target", required=True, metavar="TARGET", help="parquet:DIR, ndjson:DIR, or as emit."),
        click.option("--bad-records", metavar="DIR", help="Folder for the events that cannot be used."),
        click.option("--undelivered", metavar="DIR", help="Folder for the proposals that the target rejects."),
        click.option("--master", metavar="URL", help="Spark master, such as local[4] (default: this machine)."),
        click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="One setting of Spark."),
        click.option(
            "--partitions",
            type=click.IntRange(1),
            metavar="N",
            help="Parts (default: three for each core; a batch of local files: of 32 MB each, if that is more).",
        ),
    ):
        command = option(command)
    return command


@spark.command()
@_source_options
@click.option("--from", "since", metavar="TIME", help="Only events from this time on, such as 2026-01-31T00:00:00Z.")
@click.option("--until", metavar="TIME", help="Only events before this time.")
@click.option("--dry-run", is_flag=True, help="Translate and count, but deliver nothing.")
@datahub_version_option
@fail_on_option
@with_settings
@with_short_errors
@examples("dh-bridge spark batch --events examples/events --to catalog:shop.db")
def batch(*, settings: Settings, target: str, dry_run: bool, fail_on: str, **arguments: Any) -> None:
    """Translate all events of --events or --kafka, and end."""
    from dh_bridge.spark.translation import SparkTranslation  # noqa: PLC0415 - Spark is loaded by the commands that need it

    check_source(arguments)
    require_known_target(target)
    require_separate_folders(arguments["events"], _output_folders(arguments, target))
    session = _open_session(arguments)
    events = batch_events(session, arguments)
    with CommandOutcome(fail_on=fail_on) as outcome:
        settings, deliver = prepare_delivery(target, settings, outcome, arguments["undelivered"], dry_run=dry_run)
        time_range, partitions = (arguments["since"], arguments["until"]), choose_partitions(session, arguments)
        translation = SparkTranslation(events, settings, partitions=partitions, between=time_range)
        counts = translation.counts()
        outcome.add(Translation([], [], [], counts, None))
        report_rejections(outcome, translation.rejected, counts.rejected)
        report_dead_letters(outcome, translation.bad_records, arguments["bad_records"])
        try:
            deliver(translation.proposals, None)
        except SinkError as error:
            outcome.abort(error)
        translation.close()
        for line in outcome.summary():
            say(line)
        outcome.name_version(settings)
        outcome.exit_command()


@spark.command()
@_source_options
@click.option(
    "--checkpoint", required=True, metavar="DIR", help="Folder for offsets and state, from which the stream continues."
)
@click.option(
    "--every",
    metavar="TIME",
    help="Time between batches, such as '10 seconds' (default: process what exists, then end).",
)
@click.option(
    "--retain",
    type=click.FloatRange(0, min_open=True),
    metavar="DAYS",
    help="Evict runs this long after their last event (default: never; the checkpoint then grows without limit).",
)
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Start although the checkpoint is for another DataHub version, source, target, or other settings.",
)
@click.option("--metrics", metavar="FILE", help="Append a JSON line with the metrics of each batch to a file.")
@click.option(
    "--dry-run", is_flag=True, help="Translate and count existing events, on a copy of the checkpoint; deliver nothing."
)
@datahub_version_option
@fail_on_option
@with_settings
@with_short_errors
@examples("dh-bridge spark stream --events examples/events --checkpoint state --to catalog:shop.db")
def stream(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    target: str,
    checkpoint: str,
    every: str | None,
    retain: float | None,
    accept_changes: bool,
    metrics: str | None,
    dry_run: bool,
    fail_on: str,
    **arguments: Any,
) -> None:
    """Follow a landing folder or a topic. After each batch, the target has the metadata of all events so far."""
    from dh_bridge.spark.batch_metrics import MetricsFile  # noqa: PLC0415 - as above
    from dh_bridge.spark.streaming import start_stream  # noqa: PLC0415 - as above

    kind = find_kind(target)
    if kind is not None and kind.atomic_on_close:
        raise click.UsageError("a stream cannot write one JSON array: end the file in .ndjson, or write ndjson:DIR")
    check_source(arguments, is_stream=True)
    require_known_target(target)
    require_separate_folders(arguments["events"], _output_folders(arguments, target) | {"--checkpoint": checkpoint})
    session = _open_session(arguments)
    events = stream_events(session, arguments)
    with (
        CommandOutcome(fail_on=fail_on) as outcome,
        open_checkpoint(session, checkpoint, is_copy=dry_run) as checkpoint_folder,
    ):
        settings, deliver = prepare_delivery(target, settings, outcome, arguments["undelivered"], dry_run=dry_run)
        if settings.datahub_version is None:
            say(assumed_version())
        batches = StreamBatchHandler(
            outcome, settings, deliver, None if dry_run else arguments["bad_records"], dry_run=dry_run
        )
        query = start_stream(
            events,
            batches.deliver,
            checkpoint=checkpoint_folder,
            settings=settings,
            partitions=arguments["partitions"],
            interval=None if dry_run else every,
            retention_days=retain,
            on_rejected=batches.report_rejections,
            target=None if dry_run else target,
            accept_changes=accept_changes,
            on_metrics=None if metrics is None or dry_run else MetricsFile(metrics).write,
        )
        query.awaitTermination()
        batches.report_end()
        outcome.exit_command()


def _output_folders(arguments: dict[str, Any], target: str) -> dict[str, str | None]:
    """Return the folders that a command writes."""
    return {
        "--to": output_path(target),
        "--bad-records": arguments["bad_records"],
        "--undelivered": arguments["undelivered"],
    }


@contextmanager
def open_checkpoint(session: SparkSession, folder_name: str, *, is_copy: bool) -> Iterator[str]:
    """Yield the checkpoint of a stream, or a copy that goes afterwards."""
    from dh_bridge.spark.hadoop import store_of  # noqa: PLC0415 - as above

    if not is_copy:
        yield folder_name
        return
    uri = store_of(session, folder_name)[1].toUri()  # on a cluster a mere name may be one of HDFS
    if uri.getScheme() != "file":
        raise click.UsageError("a dry run copies the checkpoint, so it has to be a folder of this machine")
    with scratch_folder("trial") as folder:
        if Path(uri.getPath()).is_dir():
            shutil.copytree(uri.getPath(), folder, dirs_exist_ok=True)
        yield f"file:///{folder.as_posix().lstrip('/')}"  # as_uri() would write %20, which Hadoop takes for a name


def _open_session(arguments: dict[str, Any]) -> SparkSession:
    from dh_bridge.spark.session import session  # noqa: PLC0415 - as above

    return session(master=arguments["master"], conf=split_pairs(arguments["confs"], "--conf"))
