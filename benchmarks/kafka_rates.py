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
from results import HERE, Table, child, machine, markdown, put

sys.path.insert(0, str(HERE.parent / "tests"))
from realparts.kafka import Broker
from realparts.registry import OwnRegistry

HEAD = """## Delivery by Kafka

Written by `make bench-kafka ARGS=--write`. One Apache Kafka 4.3.1 (one node, one partition) and Apicurio Registry on the same
machine; the writer has one core. The same proposals are serialised, sent and acknowledged, by both with `acks=all`, idempotent,
lz4; acryl-datahub is given its own objects, ready to send. *translation* is what the bridge makes of the same events, for
comparison: each event a call of its own.

"""


def rates(folder: Path, count: int, broker: Broker, registry: str) -> Table:
    """Return the table of proposals a second into the broker."""
    table: Table = [("Kafka, proposals of", "by", "proposals/s", "us/proposal", "to acryl-datahub")]
    for title, lines in (
        ("COMPLETE of 24 KB", inputs.big(0, count, fresh=False)),
        ("examples/events", inputs.examples()),
        ("small START", inputs.starts(0, count)),
    ):
        file = folder / "events.ndjson"
        inputs.write(file, lines)
        found = {}
        for who, rounds in (("ours", 7), ("theirs", 3)):
            topic = broker.topic("proposals")
            found[who] = child("delivery_kafka.py", who, broker.bootstrap, registry, topic, rounds, file)
        found["translation"] = child("ours.py", "alone", 3, file, file)
        each = {who: one["proposals"] / one["seconds"] for who, one in found.items()}
        for who, name in (("ours", "dh_bridge"), ("theirs", "acryl-datahub"), ("translation", "(translation)")):
            ratio = f"{each[who] / each['theirs']:.1f} x"
            table.append((title, name, f"{each[who]:,.0f}", f"{1e6 / each[who]:.1f}", ratio))
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
