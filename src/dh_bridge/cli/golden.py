"""``dh-bridge golden``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, with_settings
from dh_bridge.cli.terminal import echo, say, style_text
from dh_bridge.testing.golden import cases, compare

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_COLOURS = {"-": "red", "+": "green", "!": "yellow"}


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--update", is_flag=True, help="Write the proposals that differ instead.")
@datahub_version_option
@with_settings
@examples(
    "mkdir -p golden && cp examples/events/spark.ndjson golden/spark.events.json && dh-bridge golden golden --update"
)
def golden(*, settings: Settings, directory: str, update: bool) -> None:
    """Compare the golden files of DIR with the proposals that their events give now.

    A case is NAME.events.json or NAME.events.ndjson (a JSON object, an array or NDJSON), and NAME.proposals.ndjson. Differences are
    shown field by field: - is the expected value, + the value now. The exit code is 1 if there are differences. In pytest, use
    dh_bridge.testing.assert_golden(DIR).
    """
    bridge = Bridge(settings)
    results = [compare(case, bridge, update=update) for case in cases(directory)]
    for result in results:
        status = "differs" if result.differences else "written" if result.is_written else "same"
        echo(f"{status:<7}  {result.case.events}")
        for line in result.differences:
            echo(style_text(f"  {line}", fg=_COLOURS.get(line.strip()[:1])))
    difference_count = sum(1 for result in results if result.differences)
    if difference_count:
        say(
            f"{difference_count} of {len(results)} cases differ"
            + ("" if update else "; --update writes the new proposals")
        )
        raise click.exceptions.Exit(EXIT_EVENTS)
