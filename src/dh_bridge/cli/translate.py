"""``dh-bridge translate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import (
    datahub_version_option,
    dead_letters_option,
    events_argument,
    fail_on_option,
    report_option,
    with_settings,
)
from dh_bridge.cli.path_conflicts import require_separate_files
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.terminal import write
from dh_bridge.datahub.proposal import ndjson_line

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@datahub_version_option
@report_option
@dead_letters_option
@fail_on_option
@with_settings
@examples("dh-bridge translate examples/events --datahub-version 1.4 > proposals.ndjson")
def translate(
    *, settings: Settings, events: tuple[str, ...], report: str | None, dead: str | None, fail_on: str
) -> None:
    """Write the proposals for EVENTS to stdout, one JSON object per line.

    EVENTS are files (JSON, NDJSON, each also packed with gzip or Zstandard), folders, or - for stdin.
    """
    require_separate_files(events, {"--report": report, "--dead-letters": dead})
    bridge = Bridge(settings)
    with CommandOutcome(report=report, dead_letters=dead, fail_on=fail_on) as outcome:
        for translation in bridge.stream(read_items(events, bridge), report=outcome.has_report, piecewise=True):
            write(map(ndjson_line, translation.proposals))
            outcome.add(translation)
        outcome.name_version(settings)
        outcome.exit_command()
