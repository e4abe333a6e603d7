"""``dh-bridge runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import file_argument, limit_option, open_contents, page_option, resolve_urn, say_hidden
from dh_bridge.cli.options import json_option, utf_8, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.terminal import json_line, say, write, write_table
from dh_bridge.cli.times import short_time, since_option

if TYPE_CHECKING:
    from dh_bridge.catalog.runs import RunRow
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.settings import Settings

_MAX_ERROR_LENGTH = 80
_TIERS = (["dataJob", "dataFlow"], ["dataset"], ["dataProcessInstance"])


@click.command()
@file_argument
@click.argument("urn", metavar="[URN]", type=utf_8, required=False)
@click.option("--failed", is_flag=True, help="Only runs whose result is FAILURE.")
@since_option
@click.option(
    "--job", metavar="NAME", type=utf_8, help="Only runs of jobs and flows with this text in the name or URN."
)
@click.option(
    "--producer",
    metavar="NAME",
    type=utf_8,
    help="Only runs of this orchestrator, such as airflow, or with this text in the producer's URI.",
)
@limit_option
@page_option
@json_option
@with_settings
@examples(
    "dh-bridge runs out/demo.db --failed",
    "dh-bridge runs out/demo.db --failed --since 520w",
    "dh-bridge runs out/demo.db --job shop_nightly --since 2026-11-21",
    "dh-bridge runs out/demo.db mart.daily_revenue --json",
)
def runs(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    file: str,
    urn: str | None,
    failed: bool,
    since: int | None,
    job: str | None,
    producer: str | None,
    limit: int | None,
    page: str | None,
    as_json: bool,
) -> None:
    """Show runs: all of them, or those of a job, flow or dataset.

    FILE is a catalogue or a ledger. URN is the URN of a job, flow, dataset or run, or a part of it that is unique, such as a name.
    The latest runs come first: those that ended last, or started last if they have not ended. `--since` compares the same times. With `--json`, each run also
    has its children, inputs, outputs and upstream runs.
    """
    if show_server_help(file, settings, urn=urn or job or "", tab="Runs"):
        return
    run_filter = RunFilter(
        failed=failed,
        since=since,
        job=job,
        producer=producer,
        producer_key=f"{settings.properties.prefix}.producer",
    )
    with open_contents(file, settings) as contents:
        entity = None if urn is None else resolve_urn(contents, file, urn, _TIERS)
        catalog, listed = contents.list_runs(entity, run_filter, limit=limit, page=page)
        if as_json:
            write(json_line(msgspec.to_builtins(row)) for row in listed.items)
        elif listed.items:
            _write_rows(catalog, listed.items, has_roles=entity is not None)
    if not listed.items and listed.next_page is None:
        say(f"No runs of {entity} in {file} match." if entity is not None else f"No runs in {file} match.")
    say_hidden(listed, "runs")


def _write_rows(catalog: Catalog, rows: list[RunRow], *, has_roles: bool) -> None:
    """Write the table; a column without values is left out."""
    cells = [_cells(catalog, row, has_roles=has_roles) for row in rows]
    columns = [name for name in cells[0] if any(row[name] not in (None, "") for row in cells)]
    write_table(columns, [[row[name] for name in columns] for row in cells])


def _cells(catalog: Catalog, row: RunRow, *, has_roles: bool) -> dict[str, object]:
    return {
        "name": row.name,
        "status": row.status,
        **({"role": ", ".join(row.role)} if has_roles else {"job": _name(catalog, row.job)}),
        "try": row.attempt,
        "started (UTC)": short_time(row.started),
        "duration": None if row.duration is None else f"{row.duration / 1000:,.1f} s",
        "parent": _name(catalog, row.parent),
        "in": len(row.inputs),
        "out": len(row.outputs),
        "link": row.link,
        "error": _shorten(row.error),
    }


def _name(catalog: Catalog, urn: str | None) -> str | None:
    return None if urn is None else display_name(catalog, urn)


def _shorten(text: str | None) -> str | None:
    line = None if text is None else text.strip().partition("\n")[0]
    return line if line is None or len(line) <= _MAX_ERROR_LENGTH else f"{line[: _MAX_ERROR_LENGTH - 1]}…"
