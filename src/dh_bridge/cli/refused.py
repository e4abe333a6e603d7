"""``dh-bridge refused``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import with_settings
from dh_bridge.cli.screen import json_line, say, write
from dh_bridge.delivery import plain
from dh_bridge.settings.kafka import registry_url

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@click.argument("source", metavar="kafka:BROKERS")
@click.option("--run-id", metavar="ID", help="Only what this run wrote.")
@click.option("--everyone", is_flag=True, help="Also what others than the setting pipeline_name wrote.")
@click.option("--group", metavar="NAME", help="Go on where this group of readers stopped, and remember where we stop.")
@with_settings
@examples("dh-bridge refused kafka:localhost:9092 > refused.ndjson")
def refused(*, settings: Settings, source: str, run_id: str | None, everyone: bool, group: str | None) -> None:
    """Write the proposals that DataHub took from Kafka and refused, one JSON object per line.

    Kafka takes what it is given; DataHub says later, in the topic kafka.failed_topic, what it could not write. Each line has the
    server's error, the run, and the proposal as it was sent. Exit code 1 when there is any.
    """
    from dh_bridge.sinks.kafka.refusals import Refusals  # noqa: PLC0415 - an optional extra

    scheme, colon, place = source.partition(":")
    if scheme != "kafka" or not colon:
        raise click.UsageError("only Kafka refuses later: write kafka:BROKERS")
    area = registry_url(plain(settings.kafka), os.environ)
    found = others = 0
    with Refusals(place, area, group=group) as refusals:
        for row in refusals.rows():
            ours = everyone or row.get("pipelineName") in (settings.pipeline_name, None)
            if not ours or run_id not in (None, row.get("runId")):
                others += 1
                continue
            found += 1
            write([json_line(row)])
    say(f"{found:,} refused" + (f", {others:,} of others left out" if others else ""))
    if found:
        raise click.exceptions.Exit(EXIT_EVENTS)
