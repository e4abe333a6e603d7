"""Show where the time of `make bench` is spent: ``make bench-profile``, or with ``ARGS=--write``.

Each row of `make bench` runs under Python's own profiler, which makes short functions look slower than they are. The table
shows the functions with the largest share of the time, without the functions that they call. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from pathlib import Path

import inputs
from ours import measured
from results import Table, freeze, machine, markdown, one_core, put

from dh_bridge.bridge import Bridge

JOBS = 200
SHOWN_FUNCTIONS = 8
SOURCES = Path(__file__).resolve().parents[1] / "src" / "dh_bridge"

HEAD = """## Functions that take most of the time

Written by `make bench-profile ARGS=--write`: the share of each function in the time of a row of `make bench`, without the functions that it
calls, by Python's profiler. A proposal of a small event takes about 10 µs, spread over {functions} functions.

"""


def hottest_functions(mode: str, warm_file: Path, file: Path) -> tuple[int, list[tuple[str, float]]]:
    """Return the number of functions that ran, and those with the largest share of the time."""
    bridge = Bridge()
    measured(bridge, mode, str(warm_file))
    freeze()
    profiler = cProfile.Profile()
    profiler.runcall(measured, bridge, mode, str(file))
    entries = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # missing in typeshed
    own_seconds = {key: own for key, (_, _, own, _, _) in entries.items()}
    total_seconds = sum(own_seconds.values())
    hottest = sorted(own_seconds, key=own_seconds.__getitem__, reverse=True)[:SHOWN_FUNCTIONS]
    return len(entries), [(_function_name(*key), own_seconds[key] / total_seconds) for key in hottest]


def _function_name(file: str, _line: int, name: str) -> str:
    path = Path(file)
    return f"{path.relative_to(SOURCES)}: {name}" if path.is_relative_to(SOURCES) else name.strip("<>")


def main() -> None:
    """Profile, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="24 KB events per row (default 1000)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    options = parser.parse_args()
    one_core()
    table: Table = [("events, each alone", "function", "share")]
    function_count = 0
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        warm_file, file = Path(name, "warm.ndjson"), Path(name, "events.ndjson")
        rows = {
            "COMPLETE of 24 KB, fresh tables": (
                inputs.big(0, 100, fresh=True),
                inputs.big(100, options.count, fresh=True),
            ),
            f"small START, of {JOBS} jobs": (inputs.starts(0, 500, JOBS), inputs.starts(500, options.count * 10, JOBS)),
        }
        for title, (warm_lines, lines) in rows.items():
            inputs.write(warm_file, warm_lines)
            inputs.write(file, lines)
            function_count, functions = hottest_functions("alone", warm_file, file)
            table += [(title, function, f"{100 * share:.1f} %") for function, share in functions]
    pages = [machine(), markdown(table)]
    print("\n\n".join(pages))
    if options.write:
        put("profile", HEAD.format(functions=function_count), pages)


if __name__ == "__main__":
    main()
