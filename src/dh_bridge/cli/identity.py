"""``dh-bridge identity``: ids of flows, jobs and runs, and which of them a change of settings moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.move_plan import (
    MANUAL_FILE,
    MAPPING_FILE,
    UNWRITTEN_FILE,
    plan_rows,
    plan_summary,
    write_plan_files,
)
from dh_bridge.cli.options import events_argument, fail_on_option, json_option, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.terminal import echo, json_line, say, write, write_pairs, write_table
from dh_bridge.identity.warnings import Sightings
from dh_bridge.identity_diff import IdentityDiff, MovePlan
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.settings.identity import IdentityMode
from dh_bridge.settings.loading import load

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@click.option(
    "--mode",
    type=click.Choice(get_args(IdentityMode)),
    help="Show the ids of this `identity.mode` instead of the one in the settings.",
)
@click.option(
    "--compare",
    "old",
    metavar="OLD",
    type=click.Path(exists=True, allow_dash=False),
    help="Show only what differs from the ids of another settings file.",
)
@click.option(
    "--to",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help=f"With --compare: write {MAPPING_FILE}, {MANUAL_FILE} and {UNWRITTEN_FILE} to this folder.",
)
@json_option
@fail_on_option
@with_settings
@examples(
    "dh-bridge identity examples/events",
    "dh-bridge identity examples/events --mode datahub-openlineage --json",
    "dh-bridge identity examples/events --compare /dev/null --set naming.env=TEST",
    "echo 'identity: {mode: datahub-openlineage}' > old.yml && dh-bridge identity examples/events --compare old.yml --to moves",
)
def identity(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    events: tuple[str, ...],
    mode: str | None,
    old: str | None,
    folder: str | None,
    as_json: bool,
    fail_on: str,
) -> None:
    """Show the flow, job and run of each event.

    The output also has names, parents, the rules that apply, and warnings about the event.

    With --compare, the output lists the entities whose URNs change: datasets and assertions, too. OLD is the settings file that
    you used before; the new settings are those of -c, --set and --mode. Entities that EVENTS do not name are not included.

    --to writes files for DataHub. Use them before you send events with the new settings. mapping.jsonl is for `datahub migrate
    urns-mapping --mapping-file`, which copies tags, owners and documentation. unwritten.txt has the URNs that are no longer
    written, for `datahub delete --soft --urn-file`. manual.jsonl has pairs that need a decision, because one side has several URNs.
    """
    if folder is not None and old is None:
        raise click.UsageError("--to needs --compare OLD")
    bridge = Bridge(settings if mode is None else with_mode(settings, mode))
    if old is not None:
        _compare(load(old).settings, bridge, events, folder=folder, as_json=as_json, fail_on=fail_on)
        return
    sightings = Sightings()
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
    """Return the settings in another mode; the configuration of the mode is not changed."""
    return settings.model_copy(update={"identity": settings.identity.model_copy(update={"mode": (mode,)})})


def _compare(  # noqa: PLR0913 - as the command
    old: Settings, bridge: Bridge, events: tuple[str, ...], *, folder: str | None, as_json: bool, fail_on: str
) -> None:
    """Show which entities have other URNs with the settings of ``bridge`` than with ``old``."""
    diff = IdentityDiff(Bridge(old).options, bridge.options)
    with CommandOutcome(fail_on=fail_on) as outcome:
        for item in read_items(events, bridge):
            if isinstance(item, DeadLetter):
                outcome.add_dead_letter(item)
            else:
                diff.see(item)
        plan = diff.plan()
        if as_json:
            write(map(json_line, plan_rows(plan)))
        elif plan != MovePlan([], [], []):
            write_table(("what", "entity", "from", "to"), [tuple(row.values()) for row in plan_rows(plan)])
        if folder is not None:
            write_plan_files(plan, Path(folder))
        say(plan_summary(plan))
        outcome.exit_command()
