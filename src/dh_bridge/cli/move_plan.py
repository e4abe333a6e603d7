"""Entities that get another URN: their table, their summary, and the files for DataHub's own commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.cli.terminal import json_line
from dh_bridge.identity_diff import MovePlan, count_by_type, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAPPING_FILE, MANUAL_FILE, UNWRITTEN_FILE = "mapping.jsonl", "manual.jsonl", "unwritten.txt"


def plan_rows(plan: MovePlan) -> Iterator[dict[str, str]]:
    """Yield the rows of a plan."""
    for move in (*plan.moves, *plan.manual_moves):
        action = move.reason or "move"
        yield {"what": action, "entity": move.entity_type, "source": move.source, "target": move.target}
    for urn in plan.unwritten_urns:
        yield {"what": "unwritten", "entity": kind_of(urn), "source": urn, "target": ""}


def write_plan_files(plan: MovePlan, folder: Path) -> None:
    """Write the three files; a file without lines is not written, because ``datahub`` rejects empty files."""
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
        raise click.UsageError(f"cannot write to the folder {folder}: {error.strerror}") from error


def plan_summary(plan: MovePlan) -> str:
    """Return a sentence with the numbers of a plan."""
    parts = []
    for label, urns in (
        ("change their URN", [move.source for move in plan.moves]),
        ("need a decision", [move.source for move in plan.manual_moves]),
        ("become obsolete", plan.unwritten_urns),
    ):
        if urns:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in count_by_type(urns).items())
            parts.append(f"{len(urns):,} {label} ({kinds})")
    return "; ".join(parts) or "no URN changes"
