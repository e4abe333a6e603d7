"""``dh-bridge translate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.console import write
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import (
    dead_option,
    events_argument,
    fail_option,
    profile_option,
    report_option,
    with_settings,
)
from dh_bridge.cli.path_conflicts import need_apart
from dh_bridge.cli.summary import Outcome, events_of
from dh_bridge.datahub.proposal import ndjson_line

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@profile_option
@report_option
@dead_option
@fail_option
@with_settings
@examples("dh-bridge translate examples/events --profile 1.4 > proposals.ndjson")
def translate(
    *, settings: Settings, events: tuple[str, ...], report: str | None, dead: str | None, fail_on: str
) -> None:
    """Write the proposals for EVENTS to stdout, one JSON object per line.

    EVENTS are files (JSON, NDJSON, each also gzipped), folders, or - for stdin.
    """
    need_apart(events, {"--report": report, "--dead-letters": dead})
    bridge = Bridge(settings)
    with Outcome(report=report, dead=dead, fail_on=fail_on) as outcome:
        for translation in bridge.stream(events_of(events, bridge), report=outcome.reports, piecewise=True):
            write(map(ndjson_line, translation.proposals))
            outcome.add(translation)
        outcome.name_version(settings)
        outcome.leave()
