"""The ledger over a long story: events a second, memory, size of its file; ``make bench-ledger``.

    python benchmarks/ledger.py [--events 1000000] [--runs 100000] [--to catalog] [--batch 5000] [--write]

The jobs of `synthetic_day.py` run hour after hour; each run has --events / --runs events, RUNNING between START and COMPLETE.
A program of its own reads, parses and folds them into a ledger on disk, ``--to catalog`` into its own catalogue, ``--to file``
through its outbox into a file. A row tells of each tenth by itself: events a second of processor time, for the machine may be
busy with other things; resident memory; the size of the ledger on disk. To make the events costs nothing of that time.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import inputs
import synthetic_day
from results import Table, freeze, held, machine, markdown, peak, put, told

from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.sinks.catalog import CatalogSink

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = 200
AT_ONCE = 10_000
"""Events that are made and written to a file before they are read, so that memory holds what the ledger holds."""

HEAD = """## The ledger

Written by `make bench-ledger ARGS=--write`; profile 1.7, one process. The jobs of `benchmarks/synthetic_day.py` run hour after
hour; RUNNING between START and COMPLETE shows that a run is alive. Each row is of its own part. Speed is of processor time, from
bytes to the committed transaction. The file grows by what the ledger remembers of runs until `ledger.retention_days` and
`ledger.max_runs` evicts them, and by the catalogue, which keeps all."""


def tenths(events: int, runs: int, to: str, batch: int) -> None:
    """Tell the ledger ``events`` events of ``runs`` runs; print a line of JSON after each tenth, and one at the end."""
    settings = Settings(datahub_version="1.7", ledger={"batch": batch})
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
        place, part = Path(folder) / "ledger.db", Path(folder) / "part.ndjson"
        lines = synthetic_day.day(JOBS, -(-runs // JOBS), events // runs)
        with Catalog(place) as file:
            sink = CatalogSink(file) if to == "catalog" else open_sink(f"file:{folder}/out.ndjson", SinkOptions())
            ledger = Ledger(file, Options(settings, is_stateful=True), sink)
            freeze()
            for tenth in range(1, 11):
                busy, before = 0.0, time.perf_counter()
                for count in _parts(events // 10):
                    inputs.write(part, islice(lines, count))
                    busy += _seconds(ledger, part)
                size = sum(one.stat().st_size for one in Path(folder).glob("ledger.db*"))
                rate, wall = events // 10 / busy, time.perf_counter() - before
                found = {
                    "events": tenth * (events // 10),
                    "rate": rate,
                    "wall": wall,
                    "held": held(),
                    "disk": size / 1e6,
                }
                print(json.dumps(found), flush=True)
    print(json.dumps({"peak": peak()}))


def _parts(count: int) -> Iterator[int]:
    """Yield how many events to make next, until there are ``count``."""
    for done in range(0, count, AT_ONCE):
        yield min(AT_ONCE, count - done)


def _seconds(ledger: Ledger, file: Path) -> float:
    """Return the seconds of processor time in which the ledger takes the events of a file."""
    began = time.process_time()
    for translation, delivery in ledger.stream(read_events([str(file)])):
        assert not translation.rejected, translation.rejected[0]  # noqa: S101 - a measurement of errors is none
        assert not translation.dead, translation.dead[0]  # noqa: S101 - as above
        assert not delivery.failures, delivery.failures[0]  # noqa: S101 - as above
    return time.process_time() - began


def table(events: int, runs: int, to: str, batch: int) -> Table:
    """Return the table of all tenths, each printed as soon as it is known."""
    title = f"{events:,} events of {runs:,} runs in batches of {batch:,}, to {to}:"
    found: Table = [(title, "events/s", "MB held", "MB on disk")]
    for one in told("ledger.py", "--child", "--events", events, "--runs", runs, "--to", to, "--batch", batch):
        if "peak" in one:
            found.append(("the most at any time", "", f"{one['peak']:.0f}", ""))
        else:
            row = f"{one['rate']:,.0f}", f"{one['held']:.0f}", f"{one['disk']:,.0f}"
            found.append((f"the tenth up to {one['events']:,}", *row))
        print(*found[-1], flush=True)
    return found


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--to", choices=["catalog", "file"], default="catalog")
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = options.events, options.runs, options.to, options.batch
    if options.child:
        tenths(*chosen)
        return
    pages = [machine(), markdown(table(*chosen))]
    print("\n" + "\n".join(pages))
    if options.write:
        put("ledger", HEAD, pages)


if __name__ == "__main__":
    main()
