"""``dh-bridge emit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import (
    dead_option,
    events_argument,
    fail_option,
    profile_option,
    report_option,
    with_settings,
)
from dh_bridge.cli.outcome import Outcome, events_of
from dh_bridge.cli.screen import say
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@click.option("--to", "target", required=True, metavar="TARGET", help="catalog:FILE or file:PATH.")
@click.option(
    "--format", "file_format", type=click.Choice(["ndjson", "json"]), help="Format of a file whose ending tells none."
)
@profile_option
@report_option
@dead_option
@fail_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db", "dh-bridge emit examples/events --to file:proposals.json"
)
def emit(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    events: tuple[str, ...],
    target: str,
    file_format: str | None,
    report: str | None,
    dead: str | None,
    fail_on: str,
) -> None:
    """Translate EVENTS and deliver the proposals to a catalogue or a file.

    A catalogue is one SQLite file that lineage, get and runs look into. A .ndjson file holds what translate writes, a .json
    file what DataHub's own `datahub ingest` reads with its file source. The summary goes to stderr.
    """
    bridge = Bridge(settings)
    with Outcome(report=report, dead=dead, fail_on=fail_on) as outcome:
        waiting = 0
        try:
            with open_sink(target, SinkOptions(file_format=file_format)) as sink:
                for translation in bridge.stream(events_of(events, bridge), report=outcome.reports):
                    outcome.add(translation)
                    waiting = len(translation.proposals)
                    outcome.deliver(sink.emit(translation.proposals))
                    waiting = 0
        except SinkError as error:
            outcome.break_off(error, waiting)
        for line in outcome.summary():
            say(line)
        outcome.warn_of_profile(bridge)
        outcome.leave()
