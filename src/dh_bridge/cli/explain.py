"""``dh-bridge explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, fail_option, json_option, profile_option, with_settings
from dh_bridge.cli.outcome import Outcome, events_of
from dh_bridge.cli.screen import json_line, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.settings import Settings


@click.command()
@events_argument
@json_option
@click.option("--verdict", type=click.Choice(["mapped", "kept", "withheld"]), help="Only the lines of this verdict.")
@profile_option
@fail_option
@with_settings
@examples("dh-bridge explain examples/events --verdict withheld", "dh-bridge explain examples/events --json")
def explain(*, settings: Settings, events: tuple[str, ...], as_json: bool, verdict: str | None, fail_on: str) -> None:
    """Tell for every leaf of EVENTS what became of it.

    One line per leaf, each leaf exactly once. `mapped`: it stands in a field of DataHub. `kept`: in a custom property.
    `withheld`: nowhere, for the reason given.
    """
    text = json_line if as_json else _line
    bridge = Bridge(settings)
    with Outcome(fail_on=fail_on) as outcome:
        for translation in bridge.stream(events_of(events, bridge), report=True):
            outcome.add(translation)
            if translation.report is not None:
                lines = translation.report.lines()
                write(text(line) for line in lines if verdict in {None, line["verdict"]})
        outcome.leave()


def _line(row: Mapping[str, Any]) -> bytes:
    end = row["target"] or row["reason"] or ""
    return f"{row['event']}  {row['verdict']:<8}  {row['path']}  {end}\n".encode("utf-8", "backslashreplace")
