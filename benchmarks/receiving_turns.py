"""Measure ``dh-bridge serve`` of two versions side by side, in turns: what else keeps the machine busy hits both alike.

    python benchmarks/receiving_turns.py --before ../old/.venv/bin/python [--turns 15] [--senders 1 16 64] [--count 2000]

Both versions get the same events, from the same senders, into a ledger of their own; the metadata service behind them answers at once.
The order changes from turn to turn. Each row shows the medians of events per second, and the median of the ratios of the turns: a
ratio above 1 means that this version is faster.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import islice
from pathlib import Path
from statistics import median

import inputs
from delivery import loopback
from receiving import bridge, measured
from results import PYTHON, Table, machine, markdown


def events_per_second(python: str, bodies: list[bytes], senders: int) -> float:
    """Return the events per second that one version acknowledges."""
    with (
        tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name,
        loopback() as url,
        bridge(Path(name), f"rest:{url}", python=python) as place,
    ):
        seconds, _ = measured(place, bodies, senders)
    return len(bodies) / seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="PYTHON", help="the interpreter that has the earlier version")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--senders", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--count", type=int, default=2000, help="events of a turn (default 2000)")
    options = parser.parse_args()
    print(machine(), flush=True)
    bodies = [line.encode() for line in islice(inputs.runs(10**12), options.count)]
    table: Table = [("senders", "events/s before", "events/s now", "ratio, median", "lowest", "highest")]
    for senders in options.senders:
        rates: dict[str, list[float]] = {options.before: [], PYTHON: []}
        for turn in range(options.turns):
            for python in list(rates)[:: 1 if turn % 2 else -1]:
                rates[python].append(events_per_second(python, bodies, senders))
        before, now = rates[options.before], rates[PYTHON]
        ratios = sorted(new / old for old, new in zip(before, now, strict=True))
        cells = [f"{median(before):,.0f}", f"{median(now):,.0f}"]
        cells += [f"{ratio:.2f}" for ratio in (median(ratios), ratios[0], ratios[-1])]
        table.append((str(senders), *cells))
        print(table[-1], flush=True)
    print("\n" + markdown(table), end="")


if __name__ == "__main__":
    main()
