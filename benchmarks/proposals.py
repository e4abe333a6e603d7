"""Count what is sent for a day of events: one by one, in one call, and with the ledger.

    python benchmarks/proposals.py [--corpus FOLDER] [--jobs 200] [--runs 24] [--write]

*one by one*: each event is translated alone and all of it is sent, as DataHub's own OpenLineage endpoint does; *stateless*: all
events in one call; *folded*: the ledger, in batches of --batch events. Each row ends in a catalogue of its own; the last column
tells whether it is that of the ledger. ``--corpus``: a folder of .json and .ndjson files, counted too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import inputs
import synthetic_day
from results import Table, machine, markdown, put

from dh_bridge.bridge import Bridge
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.events import Event
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.catalog import CatalogSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal

PROFILES = ("0.15.0", "1.7")
"""The default, which writes what all servers take, and the newest, which writes the most."""


HEAD = """## What is sent

Written by `make bench-proposals ARGS="--corpus FOLDER --write"`. *one by one*: each event is translated alone and all of it is
sent, as DataHub's own OpenLineage endpoint does; *stateless*: all events in one call; *folded*: the ledger, in batches. Each row
ends in a catalogue of its own; the last column shows whether it equals that of the ledger. The day is that of
`benchmarks/synthetic_day.py`: 200 jobs, each 24 runs of START and COMPLETE; the number is the profile.

What one by one lacks is what no single event knows: durations, the ends of runs in their properties, when an edge was first seen.

The goal is a fifth of one by one. *Stateless* over a whole day is the floor, as it sends everything once; beyond it are the edges of
jobs, whose last use changes with every batch, and runs whose START and COMPLETE lie in two batches. With 1.7 the goal is out of
reach: one by one sends 44.1 proposals for a run of this day, and 9.25 of them say what is of that run alone, each once:
properties, relationships, inputs, outputs, two run events, an operation for each of 1.25 outputs, and, as that version knows
them, platform and subtype. That is 21.0 % before the first job or table; nothing in it follows from the rest.
"""


def ways(files: list[str], batch: int, profile: str) -> dict[str, Iterator[list[Proposal]]]:
    """Return the proposals of each way, batch by batch; the ledger keeps its own file in memory."""
    settings = Settings(datahub_version=profile)

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
            for part, _ in Ledger(file, Options(chosen, is_stateful=True), CatalogSink(file)).stream(events()):
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
            found.append((way, number, size, list(dump_catalog(catalog))))
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


def main() -> None:
    """Count, measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    options = parser.parse_args()
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
    if options.write:
        put("proposals", HEAD, pages)


if __name__ == "__main__":
    main()
