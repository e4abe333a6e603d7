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
from results import HERE, PYTHON, Table, child, machine, markdown, put

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """## Delivery

Written by `make bench-delivery ARGS=--write`; one core, one process per row. The same proposals are serialised and sent to a
server that answers at once and keeps nothing, a process of its own; acryl-datahub is given its own objects, ready to send.

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


def rest(folder: Path, count: int) -> Table:
    """Return the table of proposals a second by REST."""
    table: Table = [("REST, proposals of", "by", "proposals/s", "us/proposal", "to acryl-datahub's batches")]
    for title, lines in (
        ("COMPLETE of 24 KB", inputs.big(0, count, fresh=False)),
        ("examples/events", inputs.examples()),
    ):
        file = folder / "events.ndjson"
        inputs.write(file, lines)
        found = {}
        for who, rounds in (("ours", 7), ("batch", 3), ("single", 1)):
            with loopback() as url:
                found[who] = child("delivery_rest.py", who, url, rounds, file)
        rates = {who: one["proposals"] / one["seconds"] for who, one in found.items()}
        for who, name in (
            ("ours", "dh_bridge, 200 a request"),
            ("batch", "acryl-datahub, 200 a request"),
            ("single", "acryl-datahub, one by one"),
        ):
            ratio = f"{rates[who] / rates['batch']:.1f} x"
            table.append((title, name, f"{rates[who]:,.0f}", f"{1e6 / rates[who]:.1f}", ratio))
    return table


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="24 KB events (default 300)")
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
