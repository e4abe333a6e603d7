"""``dh-bridge learn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from dh_bridge.bridge import Bridge
from dh_bridge.cli.console import json_line, write
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, fail_on_option, json_option, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.learning import Learner
from dh_bridge.openlineage.events import DeadLetter

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@json_option
@fail_on_option
@with_settings
@examples("dh-bridge learn examples/events", "dh-bridge learn examples/events > proposed.yml")
def learn(*, settings: Settings, events: tuple[str, ...], as_json: bool, fail_on: str) -> None:
    """Suggest settings for EVENTS, as YAML with the evidence.

    It finds servers under several names, two servers that are one, tables without a schema, names with dots and dates, dbt's two
    names, run ids of two installations, project numbers and unknown systems. Copy the correct parts into dh_bridge.yml.
    `identity --compare` shows which URNs they change.
    """
    bridge = Bridge(settings)
    learner = Learner(settings)
    with CommandOutcome(fail_on=fail_on) as outcome:
        for item in read_items(events, bridge):
            if isinstance(item, DeadLetter):
                outcome.add_dead_letter(item)
            else:
                learner.see(item)
        if as_json:
            write(map(json_line, (asdict(finding) for finding in learner.findings())))
        else:
            write([learner.to_yaml().encode()])  # as settings are read, whatever the terminal's code page
        outcome.exit_command()
