"""``dh-bridge assertions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from dh_bridge.catalog.check_results import CheckResult, find_results
from dh_bridge.catalog.entity import display_name
from dh_bridge.cli.examples import examples
from dh_bridge.cli.list_ import write_rows
from dh_bridge.cli.lookup import file_argument, limit_option, open_contents, page_option, resolve_urn, say_hidden
from dh_bridge.cli.options import json_option, utf_8, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.terminal import say
from dh_bridge.cli.times import short_time, since_option

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.settings import Settings


@click.command()
@file_argument
@click.argument("dataset", metavar="[DATASET]", type=utf_8, required=False)
@click.option("--failed", is_flag=True, help="Only the results FAILURE and ERROR.")
@since_option
@limit_option
@page_option
@json_option
@with_settings
@examples(
    "dh-bridge assertions out/demo.db staging.orders",
    "dh-bridge assertions out/demo.db --failed --since 2026-11-21",
)
def assertions(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    file: str,
    dataset: str | None,
    failed: bool,
    since: int | None,
    limit: int | None,
    page: str | None,
    as_json: bool,
) -> None:
    """Show the results of the data quality checks of a dataset, or of all datasets.

    FILE is a catalogue or a ledger. DATASET is the URN of a dataset or check, or a part of it that is unique, such as a name. The
    latest results come first.
    """
    if show_server_help(file, settings, urn=dataset or "", tab="Quality", entity="dataset"):
        return
    with open_contents(file, settings) as contents:
        urn = None if dataset is None else resolve_urn(contents, file, dataset, (["dataset"], ["assertion"]))
        catalog = contents.load_checks(since=since)
        name_key = f"{settings.properties.prefix}.name"
        results = find_results(catalog, urn, since=since, failed=failed, name_key=name_key, limit=limit, page=page)
        rows = [msgspec.to_builtins(result) if as_json else _row(catalog, result, urn) for result in results.items]
        write_rows(rows, as_json=as_json)
    if not results.items and results.next_page is None:
        say(
            f"No results of checks in {file} match."
            if urn is None
            else f"No results of checks of {urn} in {file} match."
        )
    say_hidden(results, "results")


def _row(catalog: Catalog, result: CheckResult, urn: str | None) -> dict[str, object]:
    return {
        "time (UTC)": short_time(result.time),
        "result": result.result,
        **({} if urn == result.dataset else {"dataset": display_name(catalog, result.dataset)}),
        "check": result.check,
        "column": result.column,
        "actual": result.actual,
        "expected": result.expected,
        "run": result.run_id,
    }
