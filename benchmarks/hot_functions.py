"""Show where the time of `make bench` is spent: ``make bench-profile``, or with ``ARGS=--write``.

Each row of `make bench` runs under Python's own profiler, which makes short functions look slower than they are. A table
shows the functions with the largest share of the time, without the functions that they call. A second table shows the time of the
two libraries that parse and serialise JSON, which is the least that any program in Python takes. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from pathlib import Path

import inputs
import msgspec
import orjson
from ours import measured, translations
from results import Table, fastest, freeze, machine, markdown, one_core, put

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import CachedProposal, ndjson_line

JOBS = 200
SHOWN_FUNCTIONS = 8
SOURCES = Path(__file__).resolve().parents[1] / "src" / "dh_bridge"

HEAD = """## Functions that take most of the time

Written by `make bench-profile ARGS=--write`. The first table has the share of each function in the time of a row of `make bench`, without
the functions that it calls, by Python's profiler. The second table has microseconds of CPU time per event without a profiler:

- *all*: parse, translate, check and serialise.
- *parse*: msgspec reads the JSON of the event, but no facet.
- *serialise*: orjson writes the proposals that are new; others are cached as bytes.
- *calls*: calls of functions, those of Python's built-in functions included.

The two libraries take a small part of the time. The rest is spread over {functions} functions, so no single change makes events twice as fast.

"""

Hottest = list[tuple[str, float]]


def hottest_functions(mode: str, warm_file: Path, file: Path) -> tuple[int, float, Hottest]:
    """Return the number of functions that ran, the calls per event, and the functions with the largest share of the time."""
    bridge = Bridge()
    measured(bridge, mode, str(warm_file))
    freeze()
    profiler = cProfile.Profile()
    result = profiler.runcall(measured, bridge, mode, str(file))
    entries = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # missing in typeshed
    own_seconds = {key: own for key, (_, _, own, _, _) in entries.items()}
    total_seconds = sum(own_seconds.values())
    hottest = sorted(own_seconds, key=own_seconds.__getitem__, reverse=True)[:SHOWN_FUNCTIONS]
    calls = sum(count for _, count, _, _, _ in entries.values())
    shares = [(_function_name(*key), own_seconds[key] / total_seconds) for key in hottest]
    return len(entries), calls / result["events"], shares


def lower_bounds(mode: str, warm_file: Path, file: Path) -> list[float]:
    """Return microseconds per event: of everything, of reading the JSON alone, of writing the JSON of new proposals alone."""
    bridge, other_bridge = Bridge(), Bridge()
    measured(bridge, mode, str(warm_file))
    measured(other_bridge, mode, str(warm_file))
    freeze()
    result = measured(bridge, mode, str(file))
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    events = file.read_bytes().splitlines()
    new_lines = [
        orjson.loads(ndjson_line(proposal))
        for translation in translations(other_bridge, mode, str(file))
        for proposal in translation.proposals
        if type(proposal) is not CachedProposal
    ]
    seconds = (
        result["seconds"],
        fastest(3, lambda: [decode(event) for event in events]),
        fastest(3, lambda: [orjson.dumps(line) for line in new_lines]),
    )
    return [1e6 * part / len(events) for part in seconds]


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
    bounds: Table = [("events, each alone", "all, µs", "parse, µs", "serialise, µs", "calls")]
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
            times = lower_bounds("alone", warm_file, file)
            function_count, calls, functions = hottest_functions("alone", warm_file, file)
            table += [(title, function, f"{100 * share:.1f} %") for function, share in functions]
            bounds.append((title, *[f"{time:.1f}" for time in times], f"{calls:,.0f}"))
    pages = [machine(), markdown(table), markdown(bounds)]
    print("\n\n".join(pages))
    if options.write:
        put("profile", HEAD.format(functions=function_count), pages)


if __name__ == "__main__":
    main()
