"""The time of each query on catalogues of 10,000, 100,000 and a million runs; ``make bench-queries``.

    python benchmarks/queries.py [--folder FOLDER] [--runs 10000 100000 1000000] [--write]

`large_catalogue.py` writes the catalogues; those in FOLDER are used again. There is a dataset for every ten runs. Each query is the
first page of a command with its default limit, in processor time, the best of three; the process has read the file before.
The last row is a whole command, `dh-bridge runs FILE`, with the start of Python.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from large_catalogue import FIRST_TIME, RUN_DISTANCE, Shop, write_catalogue
from results import machine, markdown, put

from dh_bridge.catalog.check_results import find_checks, find_results
from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.lineage import lineage_tree, list_neighbours
from dh_bridge.catalog.listing import list_urns, search_urns
from dh_bridge.catalog.paging import DEFAULT_PAGE_SIZE, encode_key
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.runs import list_runs
from dh_bridge.catalog.store import Catalog

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS_PER_DATASET = 10
LIMIT, TREE_LIMIT = DEFAULT_PAGE_SIZE, 200
HEAD = """## Queries

Written by `make bench-queries ARGS=--write`. Milliseconds of processor time for the first page of each command, with its default
limit; the best of three. There is a dataset for every ten runs. The hot table is read by all jobs and runs."""


def queries(catalog: Catalog, shop: Shop) -> dict[str, Callable[[], object]]:
    """Return the queries by the command that asks them."""
    hot, job = shop.dataset_urn(0), shop.job_urn(0)
    last_time = FIRST_TIME + shop.run_count * RUN_DISTANCE
    day = last_time - 86_400_000
    return {
        "runs": lambda: list_runs(catalog, limit=LIMIT),
        "runs, page in the middle": lambda: _middle_page(catalog, shop),
        "runs --failed --since 1d": lambda: list_runs(catalog, None, RunFilter(failed=True, since=day), limit=LIMIT),
        "runs --job load_order_0": lambda: list_runs(catalog, None, RunFilter(job="load_order_0"), limit=LIMIT),
        "runs --job load": lambda: list_runs(catalog, None, RunFilter(job="load"), limit=LIMIT),
        "runs --producer dbt (none)": lambda: list_runs(catalog, None, RunFilter(producer="dbt"), limit=LIMIT),
        "runs HOT_TABLE": lambda: list_runs(catalog, hot, limit=LIMIT),
        "runs HOT_TABLE --failed": lambda: list_runs(catalog, hot, RunFilter(failed=True), limit=LIMIT),
        "runs HOT_JOB": lambda: list_runs(catalog, job, limit=LIMIT),
        "list datasets": lambda: list_urns(catalog.connection, ["dataset"], limit=LIMIT),
        "list checks": lambda: find_checks(catalog, limit=LIMIT),
        "search email": lambda: search_urns(catalog.connection, "email", limit=LIMIT),
        "search shop7.payment": lambda: search_urns(catalog.connection, "shop7.payment", limit=LIMIT),
        "search zz (nothing)": lambda: search_urns(catalog.connection, "zz", limit=LIMIT),
        "get HOT_TABLE": lambda: find_entity(catalog, hot, limit=LIMIT),
        "get HOT_JOB": lambda: find_entity(catalog, job, limit=LIMIT),
        "lineage HOT_TABLE --depth 2": lambda: lineage_tree(catalog, hot, depth=2, limit=TREE_LIMIT),
        "lineage HOT_TABLE --columns": lambda: lineage_tree(catalog, hot, columns=True, limit=TREE_LIMIT),
        "neighbours of HOT_TABLE": lambda: list_neighbours(catalog, hot, "down", limit=LIMIT),
        "lineage": lambda: lineage_edges(catalog, limit=TREE_LIMIT),
        "assertions": lambda: find_results(catalog, limit=LIMIT),
        "assertions --failed": lambda: find_results(catalog, failed=True, limit=LIMIT),
        "assertions HOT_TABLE": lambda: find_results(catalog, hot, limit=LIMIT),
    }


def _middle_page(catalog: Catalog, shop: Shop) -> object:
    before = FIRST_TIME + shop.run_count // 2 * RUN_DISTANCE
    return list_runs(catalog, limit=LIMIT, page=encode_key((before, 0)))


def milliseconds(query: Callable[[], object]) -> float:
    """Return the processor time of a query, the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        query()
        times.append(time.process_time() - start)
    return min(times) * 1000


def command_milliseconds(path: Path) -> float:
    """Return the processor time of `dh-bridge runs`, with the start of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dh_bridge", "runs", path], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    """Write the catalogues that are missing, ask the queries, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--write", action="store_true", help="Update benchmarks/RESULTS.md.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as temporary_folder:
        columns = [_times(options.folder or Path(temporary_folder), run_count) for run_count in options.runs]
    table = [("first page of", *(f"{run_count:,} runs" for run_count in options.runs))]
    table += [(name, *(f"{column[name]:,.1f}" for column in columns)) for name in columns[0]]
    print(markdown(table))
    if options.write:
        put("queries", HEAD, [markdown(table), machine()])


def _times(folder: Path, run_count: int) -> dict[str, float]:
    path = folder / f"runs_{run_count}.db"
    dataset_count = run_count // RUNS_PER_DATASET
    shop = Shop(run_count, dataset_count) if path.exists() else write_catalogue(path, run_count, dataset_count)
    with Catalog(path, readonly=True) as catalog:
        times = {name: milliseconds(query) for name, query in queries(catalog, shop).items()}
    return times | {"`dh-bridge runs`, with the start of Python": command_milliseconds(path)}


if __name__ == "__main__":
    main()
