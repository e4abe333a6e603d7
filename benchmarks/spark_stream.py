"""Measure the seconds of the small batches of a stream on Spark.

    python benchmarks/spark_stream.py [--batches 40] [--events 23] [--write]

One file with the events of a batch is put into a landing folder, and the next one when the batch is done: each batch has one file.
Each target has a program of its own, with a Spark on two cores. The first batch starts the workers; every twentieth merges
the state. Times are those of the stream's own metrics, from the first step of a batch to the last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from results import child, machine, markdown, put
from spark import events

from dh_bridge import spark as bridge
from dh_bridge.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGETS = ("parquet:", "catalog:")
_POLL_SECONDS = 0.02


def batch_seconds(target: str, batch_count: int, event_count: int) -> list[float]:
    """Return the seconds of each batch of a stream into ``target``, a kind of target and a colon."""
    session = bridge.session(master="local[2]", conf={"spark.driver.memory": "1g", "spark.log.level": "ERROR"})
    lines = events(batch_count * event_count)
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        folder = Path(name)
        landing, metrics = folder / "landing", folder / "metrics.ndjson"
        landing.mkdir()
        stream = bridge.stream(
            bridge.stream_files(session, [str(landing)]),
            checkpoint=str(folder / "checkpoint"),
            settings=Settings(datahub_version="1.7"),
        )
        query = stream.to(f"{target}{folder / 'out'}").metrics(str(metrics)).every("0 seconds").start()
        for number in range(batch_count):
            _land(landing / f"{number}.ndjson", islice(lines, event_count))
            _wait(lambda done=number: _lines(metrics) > done)
        query.stop()
        return [json.loads(line)["seconds"] for line in metrics.read_text(encoding="utf-8").splitlines()]


def _land(file: Path, lines: Iterator[str]) -> None:
    draft = file.with_name(f".{file.name}")
    draft.write_text("\n".join(lines), encoding="utf-8")
    draft.rename(file)


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def _wait(is_done: Callable[[], bool]) -> None:
    while not is_done():
        time.sleep(_POLL_SECONDS)


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--events", type=int, default=23)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    parser.add_argument("--target", choices=TARGETS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.target:
        print(json.dumps({"seconds": batch_seconds(options.target, options.batches, options.events)}))
        return
    where = machine()
    print(where, flush=True)
    table = [("target", "batches", "events each", "first, s", "median, s", "longest of the others, s")]
    for target in TARGETS:
        arguments = ("--target", target, "--batches", options.batches, "--events", options.events)
        first, *others = child("spark_stream.py", *arguments)["seconds"]
        table.append(
            (
                target,
                str(options.batches),
                str(options.events),
                f"{first:.1f}",
                f"{statistics.median(others):.1f}",
                f"{max(others):.1f}",
            )
        )
        print(*table[-1], flush=True)
    if options.write:
        put("spark-stream", _head(), [where, markdown(table)])


def _head() -> str:
    return f"## Small batches of a stream on Spark\n\nWritten by `make bench-spark-stream`. One file{(__doc__ or '').partition('One file')[2]}"


if __name__ == "__main__":
    main()
