"""Measure ``dh-bridge serve`` of two versions side by side, in turns: what else keeps the machine busy hits both alike.

    python benchmarks/receiving_turns.py --before ../old/.venv/bin/python [--turns 15] [--senders 1 16 64] [--count 2000]

Both versions get the same events, from the same senders, into a ledger of their own; the metadata service behind them answers at once.
The order changes from turn to turn. Each row shows the medians of events per second, and the median of the ratios of the turns: a
ratio above 1 means that this version is faster. CPU time per event depends less on other work of the machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from itertools import islice
from pathlib import Path
from statistics import median

import inputs
from delivery import loopback
from receiving import bridge_process, measured
from results import PYTHON, Table, machine, markdown

WARM_UP_EVENTS = 100


def measure_turn(python: str, bodies: list[bytes], senders: int) -> tuple[float, float]:
    """Return the events per second that one version acknowledges, and the milliseconds of CPU that it takes for an event."""
    with (
        tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name,
        loopback() as url,
        bridge_process(python, Path(name), f"rest:{url}") as (place, process),
    ):
        measured(place, bodies[:WARM_UP_EVENTS], senders)
        begun = cpu_seconds(process)
        seconds, _ = measured(place, bodies[WARM_UP_EVENTS:], senders)
        used = cpu_seconds(process) - begun
    count = len(bodies) - WARM_UP_EVENTS
    return count / seconds, 1000 * used / count


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--before", required=True, metavar="PYTHON", help="the interpreter that has the earlier version"
    )
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--senders", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--count", type=int, default=2000, help="events of a turn (default 2000)")
    options = parser.parse_args()
    print(machine(), flush=True)
    bodies = [line.encode() for line in islice(inputs.runs(10**12), options.count)]
    table: Table = [
        ("senders", "events/s before", "now", "ratio, median", "lowest", "highest", "CPU ms/event before", "now")
    ]
    for senders in options.senders:
        turns: dict[str, list[tuple[float, float]]] = {options.before: [], PYTHON: []}
        for turn in range(options.turns):
            for python in list(turns)[:: 1 if turn % 2 else -1]:
                turns[python].append(measure_turn(python, bodies, senders))
        rates = [[rate for rate, _ in measured_turns] for measured_turns in turns.values()]
        ratios = sorted(now / before for before, now in zip(*rates, strict=True))
        cells = [f"{median(values):,.0f}" for values in rates]
        cells += [f"{ratio:.2f}" for ratio in (median(ratios), ratios[0], ratios[-1])]
        cells += [f"{median(cpu for _, cpu in measured_turns):.2f}" for measured_turns in turns.values()]
        table.append((str(senders), *cells))
        print(table[-1], flush=True)
    print("\n" + markdown(table), end="")


if __name__ == "__main__":
    main()
