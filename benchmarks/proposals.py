"""Count what is sent for a day of events: one by one, in one call, and with the ledger.

    python benchmarks/proposals.py [--corpus FOLDER] [--jobs 200] [--runs 24] [--long 20000] [--write]

*one by one*: each event is translated alone and all of it is sent, as DataHub's own OpenLineage endpoint does; *stateless*: all
events in one call; *folded*: the ledger, in batches of --batch events. Each row ends in a catalogue of its own; the last column
tells whether it is that of the ledger. ``--corpus``: a folder of .json and .ndjson files, counted too. ``--long`` runs the
ledger over so many events of a longer time and tells of speed and memory after each tenth.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import inputs
import synthetic_day
from memory import held
from run import RESULTS, Table, machine, markdown

from dh_bridge.bridge import Bridge
from dh_bridge.catalog.dump import dump
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.events import Event
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal

HERE = Path(__file__).parent
BLOCK = re.compile(r"<!-- proposals -->.*?<!-- end -->\n", re.DOTALL)
PROFILES = ("0.15.0", "1.7")
"""The default, which writes what all servers take, and the newest, which writes the most."""


HEAD = """## What is sent

Written by `make bench-proposals ARGS="--corpus FOLDER --write"`. *one by one*: each event is translated alone and all of it is
sent, as DataHub's own OpenLineage endpoint does; *stateless*: all events in one call; *folded*: the ledger, in batches. Each row
ends in a catalogue of its own; the last column tells whether it is that of the ledger. The day is that of
`benchmarks/synthetic_day.py`: 200 jobs, each 24 runs of START and COMPLETE; the number is the profile.

What one by one lacks is what no single event knows: durations, the ends of runs in their properties, when an edge was first seen.
*Stateless* over a whole day is the floor: it sends everything once. Nine tenths of what is sent folded belong to single runs
(their own aspects, two events, operations); beyond the floor are the edges of jobs, which change with every batch.

"""


def ways(files: list[str], batch: int, profile: str) -> dict[str, Iterator[list[Proposal]]]:
    """Return the proposals of each way, batch by batch; the ledger keeps its own file in memory."""
    settings = Settings(profile=profile)

    def events() -> Iterable[Event]:
        return (one for one in read_events(files) if isinstance(one, Event))

    def alone() -> Iterator[list[Proposal]]:
        bridge = Bridge(settings)
        for one in events():
            yield bridge.translate(one).proposals

    def together() -> Iterator[list[Proposal]]:
        yield from (part.proposals for part in Bridge(settings).stream(events(), window=None))

    def folded() -> Iterator[list[Proposal]]:
        chosen = settings.model_copy(update={"ledger": settings.ledger.model_copy(update={"batch": batch})})
        with Catalog(":memory:") as file:
            for part, _ in Ledger(file, Options(chosen, stateful=True), CatalogSink(file)).stream(events()):
                yield part.proposals

    return {"one by one": alone(), "stateless, one call": together(), f"folded, {batch:,} a batch": folded()}


def counted(files: list[str], title: str, count: int, batch: int, profile: str) -> Table:
    """Return the rows of the table for some files of ``count`` events."""
    found = []
    for way, parts in ways(files, batch, profile).items():
        number = size = 0
        with Catalog(":memory:") as catalog:
            for proposals in parts:
                number += len(proposals)
                size += sum(len(ndjson_line(one)) for one in proposals)
                catalog.apply(proposals)
            found.append((way, number, size, list(dump(catalog))))
        print(title, way, number, flush=True)
    most, end = found[0][1], found[-1][3]
    return [
        (
            title,
            way,
            f"{number / count:.2f}",
            f"{size / count:,.0f}",
            f"{number / most:.1%}",
            compared(state, end),
        )
        for way, number, size, state in found
    ]


def compared(state: list[bytes], end: list[bytes]) -> str:
    """Return in how many lines a catalogue differs from that of the ledger; print which aspects those are of."""
    if state == end:
        return "the same"
    own, lacking = set(state) - set(end), set(end) - set(state)
    names = sorted({json.loads(line)["aspectName"] for line in own})
    print("differing aspects:", ", ".join(names) or "none", flush=True)
    return f"of {len(end):,} lines {len(own):,} differ, {len(lacking) - len(own):,} are not there"


def long(count: int, batch: int) -> None:
    """Run the ledger over ``count`` events into a catalogue on disk; a line of JSON for each tenth."""
    gc.set_threshold(100_000, 50, 50)  # as dh_bridge.cli.main
    settings = Settings(profile=PROFILES[-1], ledger={"batch": batch})
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
        file, events = Path(folder) / "ledger.db", Path(folder) / "events.ndjson"
        inputs.write(events, islice(synthetic_day.day(runs=count), count))
        gc.freeze()
        began, done, due = time.perf_counter(), 0, count // 10
        with Catalog(file) as catalog:
            for part, _ in Ledger(catalog, Options(settings, stateful=True), CatalogSink(catalog)).stream(
                read_events([str(events)])
            ):
                done += part.counts.events
                if done >= due:
                    due += count // 10
                    seconds = time.perf_counter() - began
                    size = sum(one.stat().st_size for one in Path(folder).glob("ledger.db*"))
                    said = {"events": done, "held": held(), "seconds": seconds, "disk": size / 1e6}
                    print(json.dumps(said), flush=True)
    print(json.dumps({"peak": most()}))


def most() -> float:
    """Return the most resident memory of this process in MiB; getrusage would count that of the parent before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def long_table(count: int, batch: int) -> Table:
    """Return the table of speed and memory of the ledger, measured in a process of its own."""
    table: Table = [(f"the ledger over {count:,} events", "MB held", "events/s so far", "MB on disk")]
    command = [sys.executable, str(HERE / "proposals.py"), "--child", str(count), "--batch", str(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            found = json.loads(line)
            if "peak" in found:
                table.append(("the most at any time", f"{found['peak']:.0f}", "", ""))
            else:
                rate = found["events"] / found["seconds"]
                table.append(
                    (f"after {found['events']:,}", f"{found['held']:.0f}", f"{rate:,.0f}", f"{found['disk']:,.0f}")
                )
            print(*table[-1], flush=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return table


def main() -> None:
    """Count, measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--long", type=int, default=20_000, help="events of the long run; 0: none")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        long(options.child, options.batch)
        return
    where = machine()
    table: Table = [("events", "sent", "proposals/event", "bytes/event", "of one by one", "catalogue")]
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
        file = Path(folder) / "day.ndjson"
        count = inputs.write(file, synthetic_day.day(options.jobs, options.runs))
        for profile in PROFILES:
            table += counted([str(file)], f"day of {count:,}, {profile}", count, options.batch, profile)
    if options.corpus:
        files = sorted(str(one) for kind in ("json", "ndjson") for one in options.corpus.rglob(f"*.{kind}"))
        count = sum(isinstance(one, Event) for one in read_events(files))
        table += counted(files, f"corpus of {count:,}, {PROFILES[-1]}", count, options.batch, PROFILES[-1])
    pages = [where, markdown(table)]
    print("\n" + pages[-1], flush=True)
    if options.long:
        pages.append(markdown(long_table(options.long, options.batch)))
    if options.write:
        block = f"<!-- proposals -->\n{HEAD}" + "\n\n".join(page.rstrip() for page in pages) + "\n<!-- end -->\n"
        text = RESULTS.read_text(encoding="utf-8")
        if BLOCK.search(text):
            text = BLOCK.sub(lambda _: block, text)
        else:  # before those of others: one of them takes all to the end of the page
            at = min(found if (found := text.find(mark)) >= 0 else len(text) for mark in ("<!-- ", "# On Spark\n"))
            text = "\n".join(part for part in (text[:at].rstrip() + "\n", block, text[at:]) if part)
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
