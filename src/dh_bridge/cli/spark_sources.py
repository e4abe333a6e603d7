"""Where ``dh-bridge spark`` takes events from: what may be named together, and the readers that it calls for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dh_bridge.cli.console import say
from dh_bridge.cli.options import pair

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check(said: dict[str, Any], *, followed: bool = False) -> None:
    """Refuse a source that is none or two, and options that would do nothing.

    ``followed``: by a stream, where Spark's reader has options for files.
    """
    events, kafka, table = said["events"], said["kafka"], said["source_format"]
    if bool(events) is bool(kafka):
        raise click.UsageError("name either --events or --kafka")
    if kafka and not said["topic"]:
        raise click.UsageError("--kafka needs --topic")
    if followed and len(events) > 1:
        raise click.UsageError("a stream follows one folder")
    column = click.get_current_context().get_parameter_source("column") is not ParameterSource.DEFAULT
    for idle, flag, partner in (
        (said["topic"] and not kafka, "--topic", "--kafka"),
        (table and kafka, "--format", "--events"),
        (column and not table, "--column", "--format"),
        (said["pairs"] and not (kafka or table or followed), "--option", "--format or --kafka"),
    ):
        if idle:
            raise click.UsageError(f"{flag} goes with {partner} only")


def pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """Return the KEY=VALUE of a flag."""
    return dict(pair(text, flag) for text in texts)


def batch_events(session: SparkSession, said: dict[str, Any]) -> DataFrame:
    """Return the events of a batch."""
    from dh_bridge.spark.sources import read  # noqa: PLC0415 - Spark is loaded by the commands that need it
    from dh_bridge.spark.topics import kafka  # noqa: PLC0415 - as above

    options = pairs(said["pairs"], "--option")
    if said["kafka"]:
        return kafka(session, said["kafka"], said["topic"], options=options, since=said["since"])
    return read(session, said["events"], format=said["source_format"], column=said["column"], options=options)


def parts_wanted(session: SparkSession, said: dict[str, Any]) -> int | None:
    """Return into how many parts a batch is shuffled, where somebody says or its files tell."""
    from dh_bridge.spark.sources import parts_for  # noqa: PLC0415 - as above

    told: int | None = said["partitions"]
    return told if told or said["kafka"] or said["source_format"] else parts_for(session, said["events"])


def stream_events(session: SparkSession, said: dict[str, Any]) -> DataFrame:
    """Return the events of a stream."""
    from dh_bridge.spark.sources import stream_files, stream_rows  # noqa: PLC0415 - as above
    from dh_bridge.spark.stores import matches  # noqa: PLC0415 - as above
    from dh_bridge.spark.topics import kafka  # noqa: PLC0415 - as above

    options = pairs(said["pairs"], "--option")
    if said["kafka"]:
        return kafka(session, said["kafka"], said["topic"], options=options, stream=True)
    (name,) = said["events"]
    if said["source_format"]:
        return stream_rows(session, name, format=said["source_format"], column=said["column"], options=options)
    rows = stream_files(session, name, options=options)
    if not matches(session, name):
        say(f"{name} stands for nothing so far")
    return rows
