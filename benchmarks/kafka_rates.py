"""Measure delivery by Kafka, side by side with acryl-datahub: ``make bench-kafka``, or with ``ARGS=--write``.

A real broker and a real schema registry are fetched and started as the tests do. ``--write`` puts the table into
benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import inputs
from results import HERE, Table, machine, markdown, put
from turns import compared, taken

sys.path.insert(0, str(HERE.parent / "tests"))
from realparts.kafka import Broker
from realparts.registry import OwnRegistry

HEAD = """## Delivery by Kafka

Written by `make bench-kafka ARGS=--write`. One Apache Kafka 4.3.1 (one node, one partition) and Apicurio Registry on the same
machine. The same proposals are serialised, sent and acknowledged, by both with `acks=all`, idempotent, lz4; acryl-datahub is
given its own objects, ready to send. *translation* makes the proposals, each event in a call of its own, and sends nothing. All
take turns on one core, a process each; the fastest pass counts, and beside it is the round in which ours did worst.

"""


ROUNDS = [("translation", "ours", "theirs", "ours")] * 5
NAMES = {"ours": "dh_bridge", "theirs": "acryl-datahub", "translation": "(translation)"}


def rates(folder: Path, count: int, broker: Broker, registry: str) -> Table:
    """Return the table of proposals a second into the broker."""
    table: Table = [("Kafka, proposals of", "by", "proposals/s", "us/proposal", "ours to it", "in the worst round")]
    for title, lines in (
        ("COMPLETE of 24 KB", inputs.big(0, count, fresh=False)),
        ("examples/events", inputs.examples()),
        ("small START", inputs.starts(0, count)),
    ):
        file = folder / "events.ndjson"
        inputs.write(file, lines)
        programs: dict[str, tuple[object, ...]] = {
            who: ("delivery_kafka.py", who, broker.bootstrap, registry, broker.topic("proposals"), file)
            for who in ("ours", "theirs")
        }
        found = taken({**programs, "translation": ("delivery_rest.py", "translation", "none", file)}, ROUNDS)
        table += compared(title, found, NAMES)
    return table


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="24 KB events, and small ones (default 300)")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        folder = Path(name)
        broker, registry = Broker(folder / "kafka"), OwnRegistry(folder / "registry")
        try:
            broker.start()
            registry.start()
            pages.append(markdown(rates(folder, options.count, broker, registry.url)))
        finally:
            broker.kill()
            registry.kill()
        print("\n" + pages[-1], end="")
    if options.write:
        put("kafka", HEAD, pages)


if __name__ == "__main__":
    main()
