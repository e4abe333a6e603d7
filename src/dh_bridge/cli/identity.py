"""``dh-bridge identity``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, fail_option, json_option, with_settings
from dh_bridge.cli.outcome import Outcome, events_of
from dh_bridge.cli.screen import json_line, write, write_pairs
from dh_bridge.openlineage.events import DeadLetter

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@json_option
@fail_option
@with_settings
@examples("dh-bridge identity examples/events", "dh-bridge identity examples/events --json")
def identity(*, settings: Settings, events: tuple[str, ...], as_json: bool, fail_on: str) -> None:
    """Show the flow, job and run that each of EVENTS becomes.

    With the names, the parents, and the rules that made it so.
    """
    bridge = Bridge(settings)
    with Outcome(fail_on=fail_on) as outcome:
        for item in events_of(events, bridge):
            if isinstance(item, DeadLetter):
                outcome.bury(item)
            elif as_json:
                write([json_line(bridge.identity(item))])
            else:
                write_pairs(bridge.identity(item))
                click.echo()
        outcome.leave()
