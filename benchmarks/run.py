"""Measure dh_bridge, side by side with acryl-datahub: ``make bench``, or ``make bench ARGS="--memory 1G --turns 4 --write"``.

Every row is a process of its own on one core, so that its peak memory is its own. Nothing is asserted: a busy machine is no
failure, and ``--turns 4`` finds its quiet moments. ``--write`` puts the tables into benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import inputs
from results import PYTHON, Table, child, machine, markdown, put, told

ROUNDS = {"repeated": 5, "fresh": 1, "examples": 40, "again": 5, "starts": 5}  # fresh: a file for each pass
JOBS = 200  # as those of synthetic_day.py
SIZES = {"K": 2**10, "M": 2**20, "G": 2**30}


def prepared(folder: Path, count: int) -> dict[str, list[Path]]:
    """Write the inputs; return their files, the first of each for warming up."""
    files: dict[str, list[Path]] = {}

    def put(name: str, number: int, lines: Any) -> None:
        path = folder / f"{name}{number}.ndjson"
        inputs.write(path, lines)
        files.setdefault(name, []).append(path)

    put("repeated", 0, inputs.big(0, 100, fresh=False))
    put("repeated", 1, inputs.big(100, count, fresh=False))
    for number in range(4):  # each pass over fresh tables needs new ones
        put("fresh", number, inputs.big(number * count, count, fresh=True))
    put("examples", 0, inputs.examples())
    put("examples", 1, inputs.examples())
    put("again", 0, inputs.starts(0, 500, JOBS))
    put("again", 1, inputs.starts(500, count * 10, JOBS))
    put("starts", 0, inputs.starts(0, 500))
    put("starts", 1, inputs.starts(500, count * 10))
    return files


def speed(files: dict[str, list[Path]], folder: Path, turns: int) -> Table:
    """Return the table of events a second and of peak memory, of each row the fastest of ``turns``.

    The rows take turns, so that who shares the machine slows one as much as the other.
    """
    titles = {
        "repeated": "(a) 24 KB COMPLETE, the same tables",
        "fresh": "(a) 24 KB COMPLETE, --fresh tables",
        "examples": "(b) examples/events",
        "again": f"(c) small START, of {JOBS} jobs",
        "starts": "(c) small START, each of a new job",
    }
    few = folder / "few.ndjson"
    inputs.write(few, inputs.big(0, 100, fresh=False))
    rows = [
        (title, "dh_bridge", mode, files[name][1], ("ours.py", mode, ROUNDS[name], *files[name]))
        for name, title in titles.items()
        for mode in ("alone", "together")
    ]
    rows.append(("(a) the same proposals, values given", "acryl-datahub", "alone", few, ("with_sdk.py", "3", few)))
    passes = [[child(*command) for *_, command in rows] for _ in range(turns)]
    table: Table = [("events", "by", "each", "events/s", "proposals/event", "KB in/event", "peak MB")]
    for (title, by, mode, file, _), found in zip(rows, zip(*passes, strict=True), strict=True):
        table.append((title, by, *_row(max(found, key=_rate), mode, file)))
    return table


def _rate(found: dict[str, Any]) -> float:
    return found["events"] / found["seconds"]


def _row(found: dict[str, Any], mode: str, file: Path) -> tuple[str, ...]:
    events = found["events"]
    size = file.stat().st_size / events / 1000
    return mode, f"{_rate(found):,.0f}", f"{found['proposals'] / events:.1f}", f"{size:.1f}", f"{found['peak']:.0f}"


def starting() -> Table:
    """Return the table of start-up times: the median of several starts, that of Python itself for comparison."""
    tool = str(Path(PYTHON).with_name("dh-bridge"))
    commands = {
        "python -c pass": [PYTHON, "-c", "pass"],
        "python -c 'import dh_bridge'": [PYTHON, "-c", "import dh_bridge"],
        "python -c 'from dh_bridge import Bridge; Bridge()'": [PYTHON, "-c", "from dh_bridge import Bridge; Bridge()"],
        "dh-bridge --help": [tool, "--help"],
        "dh-bridge urn postgres://h:5432 shop.public.orders": [tool, "urn", "postgres://h:5432", "shop.public.orders"],
    }
    table: Table = [("start of", "ms")]
    for title, command in commands.items():
        times = []
        for _ in range(11):
            began = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times.append(time.perf_counter() - began)
        table.append((title, f"{statistics.median(times) * 1000:.0f}"))
    return table


def memory(size: str, window: str | None, folder: Path) -> Table:
    """Return the table of memory over a file of ``size``, made on the fly."""
    file = folder / "long.ndjson"
    count = inputs.write(file, inputs.runs(int(float(size[:-1]) * SIZES[size[-1]])))
    table: Table = [(f"{size}B of START and COMPLETE, {count:,} events", "MB held", "events/s so far")]
    for found in told("memory.py", file, count, *([window] if window else [])):
        if "peak" in found:
            table.append(("the most at any time", f"{found['peak']:.0f}", ""))
        else:
            table.append((f"after {found['events']:,}", f"{found['held']:.0f}", f"{_rate(found):,.0f}"))
    file.unlink()
    return table


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1500, help="24 KB events per pass (default 1500)")
    parser.add_argument(
        "--memory", default="100M", metavar="SIZE", help="size of the long file, as 100M or 1G; 0M: none"
    )
    parser.add_argument(
        "--turns",
        type=int,
        choices=range(1, 100),
        default=1,
        metavar="N",
        help="measure each row N times; the fastest counts",
    )
    parser.add_argument("--window", help="window of the long file in events (default: that of the settings)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        folder = Path(name)
        steps = [lambda: speed(prepared(folder, options.count), folder, options.turns), starting]
        if float(options.memory[:-1]):
            steps.append(lambda: memory(options.memory, options.window, folder))
        for step in steps:
            pages.append(markdown(step()))
            print("\n" + pages[-1], end="", flush=True)
    if options.write:
        put("speed", HEAD.format(turns=options.turns), pages)


HEAD = """## Speed and memory

Written by `make bench ARGS="--memory 1G --turns {turns} --write"`; one core, one process per row, of {turns} turns the
fastest. What is measured: read and parse, translate,
validate, serialise. *alone*: every event is a call of its own, as behind a web hook; *together*: a file is one call, as
`dh-bridge translate FILE`, where what runs share is written once per window. acryl-datahub is given the values of our
proposals, ready to use: it parses, names and folds nothing, and it validates nothing; it builds its objects and serialises
them, and the JSON is compared with ours before. (b) is the 164 captured events in their order.

The interpreter counts: one that a distribution built, with profiles and at link time optimised, does 11 % more fresh events than
one of the same version that pyenv compiled on this machine without (2,200 and 1,990 a second, the medians of six turns each).

"""


if __name__ == "__main__":
    main()
