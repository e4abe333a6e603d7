"""Measure what large events cost the other senders of ``dh-bridge serve``: ``make bench-serve``, or with ``ARGS=--write``.

The server writes into a catalogue. One sender repeats a large event; sixteen others send ten small events a second each.
``--write`` puts the table into benchmarks/RESULTS.md. ``make bench-log ARGS="--senders 1 16 64"`` measures how many events it accepts.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import inputs
from results import PYTHON, Table, machine, markdown, put

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """## Large events over HTTP

Written by `make bench-serve ARGS=--write`. One sender repeats a large event, the next one when the last is answered. 16 other senders send
ten small events a second each. All go to one `dh-bridge serve` that writes into a catalogue. The times are those that the other senders
wait for the answer: their events are on the disk then. Senders and server share two cores.
"""
OTHERS, PAUSE_SECONDS = 16, 0.1


def large_events() -> dict[str, dict[str, Any]]:
    """Return the large events by what is large in them, none first."""
    columns = [{"name": f"column_{n}", "type": "string", "description": "d" * 150} for n in range(42_000)]
    fields = [{"name": f"c{n}", "type": "string"} for n in range(3)]
    checks = [{"assertion": "not_null", "success": True, "column": f"c{n}"} for n in range(30_000)]
    source = [{"namespace": "postgres://db:5432", "name": "d.s.t", "field": f"c{n}"} for n in range(20)]
    pairs = {f"c{n}": {"inputFields": source} for n in range(1_200)}
    return {
        "none": {},
        "SQL of 10 MB": {"job": {"sql": {"query": "SELECT 1 -- " + "x" * 10_000_000}}},
        "42,000 columns with descriptions": {"outputs": [table("wide", facets={"schema": {"fields": columns}})]},
        "9,990 inputs with schemas": {
            "inputs": [table(f"t{n}", facets={"schema": {"fields": fields}}) for n in range(9_990)]
        },
        "30,000 assertions": {"inputs": [table("t", inputFacets={"dataQualityAssertions": {"assertions": checks}})]},
        "column lineage of 24,000 pairs": {"outputs": [table("t", facets={"columnLineage": {"fields": pairs}})]},
        "180 names of 55 KB": {"inputs": [table(f"{n}".ljust(55_000, "x")) for n in range(180)]},
    }


def table(name: str, **facets: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset of an event."""
    return {"namespace": "postgres://db:5432", "name": f"d.s.{name}", **facets}


def large_body(parts: dict[str, Any], number: int) -> bytes:
    """Return a COMPLETE of a run of its own with the large parts."""
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-20T01:00:00Z",
        "run": {"runId": f"01a1f6ae-0000-7000-8000-{number:012}"},
        "job": {"namespace": "shop", "name": "large", "facets": parts.get("job", {})},
        "inputs": parts.get("inputs", []),
        "outputs": parts.get("outputs", []),
    }
    return json.dumps(event).encode()


@contextmanager
def bridge(folder: Path, target: str, *options: str) -> Iterator[str]:
    """Run ``dh-bridge serve``; its host and port."""
    with bridge_process(PYTHON, folder, target, *options) as (place, _):
        yield place


@contextmanager
def bridge_process(python: str, folder: Path, target: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run ``dh-bridge serve`` of the package that ``python`` has; its host and port, and the number of its process."""
    command = [python, "-m", "dh_bridge", "serve", "--to", target]
    if not target.startswith("catalog:"):  # it has its own
        command += ["--ledger", str(folder / "runs.db")]
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


def send_paced(place: str, bodies: Iterator[bytes], ended: threading.Event, waited: list[float]) -> None:
    """Send small events until the end, and note how long each took."""
    while not ended.wait(PAUSE_SECONDS):
        send(place, [next(bodies)], waited)


def large_row(label: str, parts: dict[str, Any], seconds: float) -> tuple[str, ...]:
    """Return the row of a large event."""
    waited: list[float] = []
    answers: list[str] = []
    ended = threading.Event()
    size = len(large_body(parts, 0))
    with (
        tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name,
        bridge(Path(name), f"catalog:{name}/shop.db") as place,
    ):
        others = [
            Thread(target=send_paced, args=(place, map(str.encode, inputs.starts(n * 10**6, 10**6)), ended, waited))
            for n in range(OTHERS)
        ]
        for thread in others:
            thread.start()
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            if parts:
                answers.append(answer_to(place, large_body(parts, len(answers))))
            else:
                time.sleep(1)
        ended.set()
        for thread in others:
            thread.join()
    waited.sort()
    times = [f"{waited[int(len(waited) * 0.99)] * 1000:,.0f}", f"{waited[-1] * 1000:,.0f}"]
    return label, f"{size / 1e6:.1f}" if parts else "", answers[0] if answers else "", f"{len(waited):,}", *times


def answer_to(place: str, body: bytes) -> str:
    """Return the answer to a large event, and when it came."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection(place)
    connection.request("POST", "/api/v1/lineage", body)
    status = connection.getresponse().status
    connection.close()
    return f"{status} after {time.perf_counter() - began:.1f} s"


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="seconds of a row (default 15)")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    rows: Table = [("large event", "MB", "first answer", "others' events", "others wait, ms: 99 of 100", "longest")]
    for label, parts in large_events().items():
        rows.append(large_row(label, parts, options.seconds))
        print(rows[-1], flush=True)
    pages.append(markdown(rows))
    print("\n" + pages[-1], end="")
    if options.write:
        put("serve", HEAD, pages)


if __name__ == "__main__":
    main()
