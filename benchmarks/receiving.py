"""Measure ``dh-bridge serve``: ``make bench-serve``, or with ``ARGS=--write``.

The bridge is a process of its own, and so is the metadata service that it delivers to, which answers at once. This process sends,
each sender over a connection of its own that stays open, an event a request, the next one when the last is answered. ``--write``
puts the table into benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import http.client
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import inputs
from delivery import loopback
from results import PYTHON, Table, machine, markdown, put

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """## Events over HTTP

Written by `make bench-serve ARGS=--write`. START and COMPLETE of runs with tables of their own, an event a request, from some
senders at a time, to `dh-bridge serve` with a ledger; the metadata service behind it answers at once. *together*: what comes while
a transaction is written is folded in the next one; *one by one*: each event in its own (`ledger.batch: 1`). Times are those that
a sender waits: its events are on the disk then. Senders, bridge and service share two cores.
"""
#: senders at a time; how events are folded
ROWS = [(1, "one by one"), (1, "together"), (16, "one by one"), (16, "together"), (64, "together")]


@contextmanager
def bridge(folder: Path, target: str, *options: str) -> Iterator[str]:
    """Run ``dh-bridge serve``; its host and port."""
    with bridge_process(PYTHON, folder, target, *options) as (place, _):
        yield place


@contextmanager
def bridge_process(python: str, folder: Path, target: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run ``dh-bridge serve`` of the package that ``python`` has; its host and port, and the number of its process."""
    command = [python, "-m", "dh_bridge", "serve", "--to", target, "--ledger", str(folder / "runs.db")]
    command += ["--listen", "127.0.0.1:0", "--set", "receiver.threads=64", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            if found := re.search(r"taking events at http://([^/]+)", line):
                yield found[1], process.pid
                process.send_signal(signal.SIGTERM)
                process.communicate()
                return
        sys.exit("dh-bridge serve did not start")


def send(place: str, bodies: list[bytes], waited: list[float]) -> None:
    """Send the bodies one after the other, and note how long each took."""
    connection = http.client.HTTPConnection(place)
    for body in bodies:
        began = time.perf_counter()
        connection.request("POST", "/api/v1/lineage", body)
        answer = connection.getresponse()
        answer.read()
        waited.append(time.perf_counter() - began)
        if answer.status != http.client.OK:
            sys.exit(f"{answer.status} {answer.reason}")
    connection.close()


def measured(place: str, bodies: list[bytes], senders: int) -> tuple[float, list[float]]:
    """Return the seconds that all took, and how long each was waited for, sorted."""
    waited: list[float] = []
    threads = [Thread(target=send, args=(place, bodies[at::senders], waited)) for at in range(senders)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(waited) != len(bodies):
        sys.exit("a sender broke off")
    return time.perf_counter() - began, sorted(waited)


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="events of a row (default 2000)")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    bodies = [line.encode() for line in islice(inputs.runs(10**12), options.count)]
    table: Table = [("senders", "events/s", "folded", "KB/event", "waited, ms: half", "99 of 100", "longest")]
    for senders, how in ROWS:
        with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name, loopback() as url:
            own = ("--set", "ledger.batch=1") if how == "one by one" else ()
            with bridge(Path(name), f"rest:{url}", *own) as place:
                seconds, waited = measured(place, bodies, senders)
        size = sum(map(len, bodies)) / len(bodies) / 1000
        times = [waited[int(len(waited) * part)] * 1000 for part in (0.5, 0.99)]
        times.append(waited[-1] * 1000)
        table.append(
            (str(senders), f"{len(bodies) / seconds:,.0f}", how, f"{size:.1f}", *[f"{one:,.1f}" for one in times])
        )
        print(table[-1], flush=True)
    pages.append(markdown(table))
    print("\n" + pages[-1], end="")
    if options.write:
        put("serve", HEAD, pages)


if __name__ == "__main__":
    main()
