"""``dh-bridge list``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from dh_bridge.catalog.check_results import find_checks
from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.listing import ENTITY_TYPES
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.store import Catalog
from dh_bridge.catalog.summary import summarize
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import (
    file_argument,
    is_ledger,
    limit_option,
    open_contents,
    page_option,
    say_hidden,
    shell_quote,
)
from dh_bridge.cli.options import json_option, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.terminal import json_line, say, write, write_table
from dh_bridge.cli.times import short_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.catalog.paging import Page
    from dh_bridge.catalog.runs import RunRow
    from dh_bridge.cli.lookup import Contents
    from dh_bridge.settings import Settings


@click.command("list")
@file_argument
@click.argument("kind", metavar="[KIND]", required=False, type=click.Choice(list(ENTITY_TYPES)))
@limit_option
@page_option
@json_option
@with_settings
@examples(
    "dh-bridge list out/demo.db",
    "dh-bridge list out/demo.db datasets",
    "dh-bridge list out/demo.db checks --limit 0",
)
def list_(  # noqa: PLR0913 - one parameter per option
    *, settings: Settings, file: str, kind: str | None, limit: int | None, page: str | None, as_json: bool
) -> None:
    """List the datasets, jobs, flows, runs or checks of a catalogue or ledger, or count them.

    FILE is a catalogue or a ledger. KIND is datasets, jobs, flows, runs or checks. URNs are quoted for the shell. `runs` and
    `assertions` have filters; `search` looks for a text.

    Without KIND, the output has the number of entities, aspects, points in time, relationships and lineage edges. Of a ledger, only
    entities are counted. All of FILE is read for it: some seconds for a million runs.
    """
    if show_server_help(file, settings, entity="" if kind is None else ENTITY_TYPES[kind]):
        return
    if kind is None:
        _write_counts(_count(file, settings), as_json=as_json)
        return
    with open_contents(file, settings) as contents:
        if kind == "runs":
            rows = _run_rows(*contents.list_runs(None, RunFilter(), limit=limit, page=page))
        elif kind == "checks":
            rows = _check_rows(contents.load_checks(), f"{settings.properties.prefix}.name", limit, page)
        else:
            urns = contents.list_urns([ENTITY_TYPES[kind]], limit=limit, page=page)
            rows = urns.with_items(entity_rows(contents, urns.items))
        write_rows(rows.items, as_json=as_json)
    if not rows.items and rows.next_page is None:
        say(f"{file} has no {kind}." if page is None else f"{file} has no more {kind}.")
    say_hidden(rows, kind)


def _count(file: str, settings: Settings) -> dict[str, Any]:
    """Return the number of each thing that a file has: name -> number, or name -> type -> number."""
    with Catalog(file, readonly=True) as catalog:
        if not is_ledger(catalog):
            counts: dict[str, Any] = msgspec.to_builtins(summarize(catalog))
            return counts
    with open_contents(file, settings) as contents:
        return {"entities": contents.count_types()}


def _write_counts(counts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        write([json_line(counts)])
        return
    rows = [
        (name, inner, amount)
        for name, count in counts.items()
        for inner, amount in (count.items() if isinstance(count, dict) else [("", count)])
    ]
    write_table(("what", "of", "number"), rows)


def entity_rows(contents: Contents, urns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the name, the type and the state of entities."""
    catalog = contents.load(urns)
    return [
        {
            "name": display_name(catalog, urn),
            "type": urn.split(":", 3)[2],
            "removed": bool((catalog.aspect(urn, "status") or {}).get("removed")),
            "urn": urn,
        }
        for urn in urns
    ]


def write_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Write rows as JSON lines, or as a table with quoted URNs and without empty columns."""
    if as_json:
        write(map(json_line, rows))
    elif rows:
        columns = [name for name in rows[0] if any(row[name] not in (None, "", False) for row in rows)]
        write_table(columns, [[_cell(name, row[name]) for name in columns] for row in rows])


def _cell(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return name if value else ""
    return shell_quote(value) if name == "urn" else value


def _run_rows(catalog: Catalog, runs: Page[RunRow]) -> Page[dict[str, Any]]:
    rows = [
        {
            "name": run.name,
            "status": run.status,
            "started": short_time(run.started),
            "job": None if run.job is None else display_name(catalog, run.job),
            "urn": run.urn,
        }
        for run in runs.items
    ]
    return runs.with_items(rows)


def _check_rows(catalog: Catalog, name_key: str, limit: int | None, page: str | None) -> Page[dict[str, Any]]:
    checks = find_checks(catalog, name_key=name_key, limit=limit, page=page)
    rows = []
    for check in checks.items:
        row = msgspec.to_builtins(check)
        dataset = None if check.dataset is None else display_name(catalog, check.dataset)
        rows.append(
            {
                "check": row.pop("check"),
                "dataset": dataset,
                **{key: row[key] for key in row if key not in {"urn", "dataset"}},
                "urn": check.urn,
            }
        )
    return checks.with_items(rows)
