"""``dh-bridge identity``."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.console import echo, json_line, write, write_pairs
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, fail_on_option, json_option, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.identity.warnings import Sightings
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.settings.identity import IdentityMode

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@click.option(
    "--mode",
    type=click.Choice(get_args(IdentityMode)),
    help="Show the ids of this `identity.mode` instead of the one in the settings.",
)
@json_option
@fail_on_option
@with_settings
@examples(
    "dh-bridge identity examples/events",
    "dh-bridge identity examples/events --json",
    "dh-bridge identity examples/events --mode datahub-openlineage",
)
def identity(*, settings: Settings, events: tuple[str, ...], mode: str | None, as_json: bool, fail_on: str) -> None:
    """Show the flow, job and run of each event.

    The output also has names, parents, the rules that apply, and warnings about the event.
    """
    bridge, sightings = Bridge(settings if mode is None else with_mode(settings, mode)), Sightings()
    with CommandOutcome(fail_on=fail_on) as outcome:
        for item in read_items(events, bridge):
            if isinstance(item, DeadLetter):
                outcome.add_dead_letter(item)
            elif as_json:
                write([json_line(bridge.identity(item, sightings))])
            else:
                write_pairs(bridge.identity(item, sightings))
                echo()
        outcome.exit_command()


def with_mode(settings: Settings, mode: str) -> Settings:
    """Return the settings in another mode; how the mode is configured stays as it is."""
    return settings.model_copy(update={"identity": settings.identity.model_copy(update={"mode": (mode,)})})
