"""Sources of ``dh-bridge spark``: which arguments can be combined, and their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dh_bridge.cli.options import split_pair
from dh_bridge.cli.terminal import say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check_source(arguments: dict[str, Any], *, is_stream: bool = False) -> None:
    """Raise a UsageError for no source or two sources, and for options without effect.

    ``is_stream``: the source is a stream, for which Spark's reader has options for files.
    """
    events, kafka, source_format = arguments["events"], arguments["kafka"], arguments["source_format"]
    if bool(events) is bool(kafka):
        raise click.UsageError("name either --events or --kafka")
    if kafka and not arguments["topic"]:
        raise click.UsageError("--kafka needs --topic")
    if is_stream and source_format and len(events) > 1:
        raise click.UsageError("a stream with --format reads one folder or table: start one stream for each")
    has_column = click.get_current_context().get_parameter_source("column") is not ParameterSource.DEFAULT
    for is_unused, flag, partner in (
        (arguments["topic"] and not kafka, "--topic", "--kafka"),
        (source_format and kafka, "--format", "--events"),
        (has_column and not source_format, "--column", "--format"),
        (arguments["pairs"] and not (kafka or source_format or is_stream), "--option", "--format or --kafka"),
    ):
        if is_unused:
            raise click.UsageError(f"{flag} goes with {partner} only")


def split_pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """Return the KEY=VALUE of a flag."""
    return dict(split_pair(text, flag) for text in texts)


def batch_events(session: SparkSession, arguments: dict[str, Any]) -> DataFrame:
    """Return the events of a batch."""
    from dh_bridge.spark.sources import read  # noqa: PLC0415 - Spark is loaded by the commands that need it
    from dh_bridge.spark.topics import kafka  # noqa: PLC0415 - as above

    options = split_pairs(arguments["pairs"], "--option")
    if arguments["kafka"]:
        return kafka(session, arguments["kafka"], arguments["topic"], options=options, since=arguments["since"])
    return read(
        session, arguments["events"], format=arguments["source_format"], column=arguments["column"], options=options
    )


def choose_partitions(session: SparkSession, arguments: dict[str, Any]) -> int | None:
    """Return the number of partitions of a batch: the option's, else a number computed from its files."""
    from dh_bridge.spark.sources import partitions_for  # noqa: PLC0415 - as above

    partitions: int | None = arguments["partitions"]
    return (
        partitions
        if partitions or arguments["kafka"] or arguments["source_format"]
        else partitions_for(session, arguments["events"])
    )


def stream_events(session: SparkSession, arguments: dict[str, Any]) -> DataFrame:
    """Return the events of a stream."""
    from dh_bridge.spark.sources import stream_files, stream_rows  # noqa: PLC0415 - as above
    from dh_bridge.spark.stores import exists_in_store  # noqa: PLC0415 - as above
    from dh_bridge.spark.topics import kafka  # noqa: PLC0415 - as above

    options = split_pairs(arguments["pairs"], "--option")
    if arguments["kafka"]:
        return kafka(session, arguments["kafka"], arguments["topic"], options=options, stream=True)
    if arguments["source_format"]:
        (name,) = arguments["events"]
        return stream_rows(
            session, name, format=arguments["source_format"], column=arguments["column"], options=options
        )
    rows = stream_files(session, arguments["events"], options=options)
    for name in arguments["events"]:
        if not exists_in_store(session, name):
            say(f"{name} matches no file yet")
    return rows
