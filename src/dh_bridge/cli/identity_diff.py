"""``dh-bridge identity-diff``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.console import json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, fail_on_option, json_option
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.identity_diff import IdentityDiff, MovePlan, count_by_type, kind_of
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.settings.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator

MAPPING_FILE, MANUAL_FILE, UNWRITTEN_FILE = "mapping.jsonl", "apart.jsonl", "left.txt"

_settings_path = click.Path(exists=True, allow_dash=False)


@click.command("identity-diff")
@click.argument("old", type=_settings_path)
@click.argument("new", type=_settings_path)
@events_argument
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False),
    help=f"Write {MAPPING_FILE}, {MANUAL_FILE} and {UNWRITTEN_FILE} to this folder.",
)
@json_option
@fail_on_option
@examples(
    "echo 'naming: {env: TEST}' > new.yml && dh-bridge identity-diff /dev/null new.yml examples/events",
    "echo 'identity: {mode: datahub-openlineage}' > old.yml && dh-bridge identity-diff old.yml /dev/null examples/events --to moves",
)
def identity_diff(  # noqa: PLR0913 - one parameter per option
    *, old: str, new: str, events: tuple[str, ...], folder: str | None, as_json: bool, fail_on: str
) -> None:
    """List the entities of EVENTS whose URNs differ between the settings OLD and NEW.

    --to writes files for DataHub. Use them before you send events with the new settings. mapping.jsonl is for `datahub migrate
    urns-mapping --mapping-file`, which copies tags, owners and documentation. left.txt has the URNs that are no longer written, for
    `datahub delete --soft --urn-file`. apart.jsonl has pairs that need a decision, because one side has several URNs. Entities
    that EVENTS do not name are not included.
    """
    bridges = [Bridge(load(path).settings) for path in (old, new)]
    diff = IdentityDiff(bridges[0].options, bridges[1].options)
    with CommandOutcome(fail_on=fail_on) as outcome:
        for item in read_items(events, bridges[1]):
            if isinstance(item, DeadLetter):
                outcome.add_dead_letter(item)
            else:
                diff.see(item)
        plan = diff.plan()
        if as_json:
            write(map(json_line, _rows(plan)))
        elif plan != MovePlan([], [], []):
            write_table(("what", "entity", "from", "to"), [tuple(row.values()) for row in _rows(plan)])
        if folder is not None:
            _write_files(plan, Path(folder))
        say(_summary(plan))
        outcome.exit_command()


def _rows(plan: MovePlan) -> Iterator[dict[str, str]]:
    for move in (*plan.moves, *plan.manual_moves):
        action = move.reason or "move"
        yield {"what": action, "entity": move.entity_type, "source": move.source, "target": move.target}
    for urn in plan.unwritten_urns:
        yield {"what": "left", "entity": kind_of(urn), "source": urn, "target": ""}


def _write_files(plan: MovePlan, folder: Path) -> None:
    """Write the three files; a file without lines is not written, as ``datahub`` takes no empty ones."""
    lines = {
        MAPPING_FILE: [json_line({"source": move.source, "target": move.target}) for move in plan.moves],
        MANUAL_FILE: [
            json_line({"source": move.source, "target": move.target, "why": move.reason}) for move in plan.manual_moves
        ],
        UNWRITTEN_FILE: [f"{urn}\n".encode() for urn in plan.unwritten_urns],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in lines.items():
            (folder / name).unlink(missing_ok=True)
            if content:
                (folder / name).write_bytes(b"".join(content))
    except OSError as error:
        raise click.UsageError(f"--to {folder} cannot be written: {error.strerror}") from error


def _summary(plan: MovePlan) -> str:
    parts = []
    for label, urns in (
        ("move", [move.source for move in plan.moves]),
        ("need a decision", [move.source for move in plan.manual_moves]),
        ("are left behind", plan.unwritten_urns),
    ):
        if urns:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in count_by_type(urns).items())
            parts.append(f"{len(urns):,} {label} ({kinds})")
    return "; ".join(parts) or "nothing moves"
