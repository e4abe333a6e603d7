"""The time of look-ups in ledgers of 3,000 and 30,000 jobs; ``make bench-ledger-queries``.

    python benchmarks/ledger_queries.py [--jobs 3000 30000] [--write]

Each job has a run that reads a hot table and a table of its own, and writes the next one. Each query is the first page of a command with its
default limit, in processor time, the best of three.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from queries import LIMIT, TREE_LIMIT, milliseconds
from results import machine, markdown, put

from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.lineage import lineage_tree
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.ledger import Ledger, NullSink
from dh_bridge.ledger.contents import LedgerContents
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = Settings(datahub_version="1.7")
BATCH = 1_000
DEPTH = 20
HEAD = """### Queries on a ledger

Written by `make bench-ledger-queries ARGS=--write`. Milliseconds of processor time for the first page of each command, with its default
limit; the best of three. Each job reads a hot table and a table of its own, and writes the next one. A ledger has no aspects: it renders
what an answer needs."""


def event(number: int) -> bytes:
    """Return the event of a job."""
    hot, own, following = (
        {"namespace": "postgres://warehouse:5432", "name": f"shop.public.table_{table}"}
        for table in (0, number, number + 1)
    )
    return json.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": f"2026-11-20T{number % 24:02}:00:00Z",
            "producer": "https://example.com/benchmark",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": f"01a1f6ae-0000-7000-8000-{number:012}"},
            "job": {"namespace": "shop", "name": f"job_{number}"},
            "inputs": [hot, own],
            "outputs": [following],
        }
    ).encode()


def write_ledger(path: Path, job_count: int) -> None:
    """Process the events of all jobs."""
    with Database(path) as file:
        ledger = Ledger(file, Options(SETTINGS, is_stateful=True), NullSink())
        for start in range(1, job_count + 1, BATCH):
            numbers = range(start, min(start + BATCH, job_count + 1))
            ledger.process_and_deliver([item for number in numbers for item in events_of(event(number), "events")])


def dataset_urn(number: int) -> str:
    """Return the URN of a table."""
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.table_{number},PROD)"


def queries(contents: LedgerContents, job_count: int) -> dict[str, Callable[[], object]]:
    """Return the queries by the command that asks them."""
    hot, table = dataset_urn(0), dataset_urn(job_count // 2)

    def tree(urn: str, depth: int = DEPTH) -> object:
        catalog = contents.load_lineage(urn, "both", depth=depth, limit=TREE_LIMIT)
        return lineage_tree(catalog, urn, depth=depth, limit=TREE_LIMIT)

    return {
        "runs": lambda: contents.list_runs(None, RunFilter(), limit=LIMIT),
        "runs TABLE": lambda: contents.list_runs(table, RunFilter(), limit=LIMIT),
        "runs HOT_TABLE": lambda: contents.list_runs(hot, RunFilter(), limit=LIMIT),
        "list datasets": lambda: contents.load(contents.list_urns(["dataset"], limit=LIMIT).items),
        "search TABLE": lambda: contents.search_urns(f"table_{job_count // 2}", limit=LIMIT),
        "get TABLE": lambda: find_entity(contents.load([table]), table, limit=LIMIT),
        "lineage TABLE": lambda: tree(table),
        "lineage HOT_TABLE --depth 2": lambda: tree(hot, 2),
        "lineage": lambda: contents.lineage_edges(limit=TREE_LIMIT),
    }


def times(job_count: int) -> dict[str, float]:
    """Return the milliseconds of each query on a new ledger."""
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
        path = Path(folder) / "ledger.db"
        write_ledger(path, job_count)
        with Database(path) as file:
            contents = LedgerContents(file, Options(SETTINGS, is_stateful=True))
            return {name: milliseconds(query) for name, query in queries(contents, job_count).items()}


def main() -> None:
    """Write the ledgers, ask the queries, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[3_000, 30_000])
    parser.add_argument("--write", action="store_true", help="Update benchmarks/RESULTS.md.")
    options = parser.parse_args()
    columns = [times(job_count) for job_count in options.jobs]
    table = [("first page of", *(f"{job_count:,} jobs" for job_count in options.jobs))]
    table += [(name, *(f"{column[name]:,.1f}" for column in columns)) for name in columns[0]]
    print(markdown(table))
    if options.write:
        put("ledger queries", HEAD, [markdown(table), machine()])


if __name__ == "__main__":
    main()
