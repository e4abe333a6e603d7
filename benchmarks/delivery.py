"""Measure delivery, side by side with acryl-datahub: ``make bench-delivery``, or with ``ARGS=--write``.

The server is a process of its own on another core, answers at once and keeps nothing. ``--write`` puts the table into
benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import inputs
from results import HERE, PYTHON, Table, machine, markdown, put
from turns import compared, taken

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """## Delivery

Written by `make bench-delivery ARGS=--write`. The same proposals are serialised and sent to a server that answers at once and
keeps nothing, a process of its own; acryl-datahub is given its own objects, ready to send. *translation* makes the proposals,
each event in a call of its own, and sends nothing. All take turns on one core, a process each; the fastest pass counts, and
beside it is the round in which ours did worst: our slowest pass there to their fastest.

"""


@contextmanager
def loopback() -> Iterator[str]:
    """Start the server that answers at once; its address."""
    command = [PYTHON, str(HERE / "loopback.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None or server.stdin is None:
            sys.exit("no pipes")
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.stdin.close()


#: Who takes turns in each round; one by one takes so long that once is enough.
ROUNDS = [("translation", "ours", "batch", "ours")] * 3 + [("ours", "single", "ours")]
NAMES = {
    "ours": "dh_bridge, 200 a request",
    "batch": "acryl-datahub, 200 a request",
    "single": "acryl-datahub, one by one",
    "translation": "(translation)",
}


def rest(folder: Path, count: int) -> Table:
    """Return the table of proposals a second by REST."""
    table: Table = [("REST, proposals of", "by", "proposals/s", "us/proposal", "ours to it", "in the worst round")]
    for title, lines in (
        ("COMPLETE of 24 KB", inputs.big(0, count, fresh=False)),
        ("examples/events", inputs.examples()),
        ("small START", inputs.starts(0, count)),
    ):
        file = folder / "events.ndjson"
        inputs.write(file, lines)
        with loopback() as url:
            found = taken({who: ("delivery_rest.py", who, url, file) for who in NAMES}, ROUNDS)
        table += compared(title, found, NAMES)
    return table


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="24 KB events, and small ones (default 100)")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        pages.append(markdown(rest(Path(name), options.count)))
        print("\n" + pages[-1], end="")
    if options.write:
        put("delivery", HEAD, pages)


if __name__ == "__main__":
    main()
