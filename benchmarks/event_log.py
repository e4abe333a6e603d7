"""Measure the event log: ``make bench-log``, or with ``ARGS=--write``.

Events are appended to the log, and beside it inserted into an SQLite table, one row each. Then a ledger merges the same events
without a log, with one, and from one, and a replay merges them again. Last, ``dh-bridge serve`` takes small events from 16 senders.
Processor time counts, since other programs may use the machine. ``--write`` puts the tables into
benchmarks/RESULTS.md.

``--growth 10000 100000`` measures instead how the costs grow with the number of events, and ``--senders 1 16 64`` what ``serve``
accepts from so many senders, beside an empty server.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import inputs
from delivery import loopback
from receiving import bridge_process, measured
from results import PYTHON, Table, freeze, machine, markdown, put

from dh_bridge.event_log import EventLog, LoggedEvent
from dh_bridge.ledger import Ledger, NullSink
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import Options
from dh_bridge.replay import compare_replay
from dh_bridge.settings import Settings
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """## The event log

Written by `make bench-log ARGS=--write`. START and COMPLETE of runs with tables of their own. Microseconds of processor time for
each event; bytes of disk for each event, beside the bytes of its JSON. *append*: one write and one sync to disk for each batch;
*SQLite* is a table with one row for each event, WAL and `synchronous = FULL`. *merge*: into a ledger with batches of 1,000 events.
*serve*: from request to delivery, all processes of the bridge together.
"""
GROWTH_HEAD = """### Growth of the event log

Written by `make bench-log ARGS="--growth 10000 100000 1000000 --write"`. START events of 0.5 KB, of 200 jobs, a run each. *append*: 1,000 a
batch; *fold*: from the log into a ledger; *replay*: `--dry-run`. Microseconds of processor time for each event.
"""
SENDERS_HEAD = """### Senders of the event log

Written by `make bench-log ARGS="--senders 1 16 64 --write"`. Events accepted per second by `dh-bridge serve` with an event log, an
event a request, beside a server that answers at once and does nothing. Senders and servers share the machine.
"""
BATCHES = (1, 100, 5000)
GROWTH_JOBS, GROWTH_BATCH = 200, 1_000
SETTINGS = Settings(datahub_version="1.7", ledger={"batch": 1000})
MAX_BYTES = 10 << 30
SENDERS = 16
ROUNDS = 2


def cost(work: Callable[[], object], events: int) -> tuple[float, float]:
    """Return the microseconds of processor time, and of the clock, for each event."""
    freeze()
    wall, busy = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - busy) / events * 1e6, (time.perf_counter() - wall) / events * 1e6


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def append_rows(lines: list[bytes], table: Table) -> None:
    """Append to the log, and insert into a table, with each size of a batch."""
    events = [LoggedEvent(time.time_ns() // 1_000, "request 1", "run", line) for line in lines]
    for batch in BATCHES:
        part = events[: min(len(events), batch * 400)]
        for name, work in (("log", append_to_log), ("SQLite", insert_into_sqlite)):
            with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
                busy, wall = cost(partial(work, Path(folder), part, batch), len(part))
                size = size_of(Path(folder)) / len(part)
            json_size = sum(len(event.event) for event in part) / len(part)
            table.append(
                (
                    f"append: {name}, {batch:,} a batch",
                    f"{busy:,.0f}",
                    f"{1e6 / wall:,.0f}",
                    f"{size:,.0f} of {json_size:,.0f}",
                )
            )
            print(table[-1], flush=True)


def append_to_log(folder: Path, events: list[LoggedEvent], batch: int) -> None:
    """Append events in batches."""
    with EventLog(folder / "log", max_bytes=MAX_BYTES) as log:
        for start in range(0, len(events), batch):
            log.append(events[start : start + batch])


def insert_into_sqlite(folder: Path, events: list[LoggedEvent], batch: int) -> None:
    """Insert events in batches, each a transaction."""
    connection = sqlite3.connect(folder / "log.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE event (id INTEGER PRIMARY KEY, received INTEGER, location TEXT, run TEXT, event BLOB)"
    )
    for start in range(0, len(events), batch):
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO event (received, location, run, event) VALUES (?, ?, ?, ?)",
            ((event.received, event.location, event.run_key, event.event) for event in events[start : start + batch]),
        )
        connection.execute("COMMIT")
    connection.close()


def merge_rows(lines: list[bytes], table: Table) -> None:
    """Merge the events into ledgers: without a log, with one, from one; and replay them."""
    json_size = sum(map(len, lines)) / len(lines)
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        folder = Path(name)
        merge(folder / "warm.db", lines[:1000], has_log=False)
        plain, logged = [], []
        for number in range(ROUNDS):  # in turns: what else keeps the machine busy hits both alike
            plain.append(cost(partial(merge, folder / f"plain{number}.db", lines, has_log=False), len(lines)))
            logged.append(cost(partial(merge, folder / f"logged{number}.db", lines, has_log=True), len(lines)))
        for label, costs, path in (("without a log", plain, "plain0.db"), ("and append", logged, "logged0.db")):
            log_size = size_of(log_folder(folder / path))
            size = ((folder / path).stat().st_size + log_size) / len(lines)
            add_row(table, f"merge {label}", *min(costs), f"{size:,.0f} of {json_size:,.0f}")
        path = folder / "followed.db"
        log_folder(folder / "logged0.db").rename(log_folder(path))
        add_row(table, "merge from the log", *cost(partial(merge, path, [], has_log=True), len(lines)), "")
        add_row(table, "replay --dry-run", *cost(partial(compare_replay, path, SETTINGS), len(lines)), "")


def merge(path: Path, lines: list[bytes], *, has_log: bool) -> None:
    """Parse events and merge them into a ledger, in batches; without events, those of its log."""
    batch = SETTINGS.ledger.batch
    log = EventLog(log_folder(path), max_bytes=MAX_BYTES) if has_log else None
    with Database(path) as file:
        ledger = Ledger(file, Options(SETTINGS, is_stateful=True), NullSink(), event_log=log)
        for _ in ledger.fold_log():
            ledger.relay.deliver()
        for start in range(0, len(lines), batch):
            items = [item for line in lines[start : start + batch] for item in events_of(line, "events")]
            ledger.process_and_deliver(items)
    if log is not None:
        log.close()


def add_row(table: Table, label: str, busy: float, wall: float, size: str) -> None:
    """Add a row, and print it."""
    table.append((label, f"{busy:,.0f}", f"{1e6 / wall:,.0f}", size))
    print(table[-1], flush=True)


def growth_rows(counts: list[int], table: Table) -> None:
    """Append, fold and replay logs of several lengths."""
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
            path = Path(name) / "ledger.db"
            append = cost(partial(append_generated, log_folder(path), count), count)
            fold = cost(partial(merge, path, [], has_log=True), count)
            replay = cost(partial(compare_replay, path, SETTINGS), count)
            sizes = (size_of(log_folder(path)) / count, path.stat().st_size / count)
        times = [f"{busy:,.0f}" for busy, _ in (append, fold, replay)]
        table.append((f"{count:,}", *times, *[f"{size:,.0f}" for size in sizes]))
        print(table[-1], flush=True)


def append_generated(folder: Path, count: int) -> None:
    """Append small events that are made meanwhile."""
    with EventLog(folder, max_bytes=MAX_BYTES) as log:
        lines = inputs.starts(0, count, GROWTH_JOBS)
        while batch := [
            LoggedEvent(time.time_ns() // 1_000, "request 1", "run", line.encode())
            for line in islice(lines, GROWTH_BATCH)
        ]:
            log.append(batch)


def sender_rows(senders: list[int], count: int, table: Table) -> None:
    """Send events to an empty server, and to ``dh-bridge serve``."""
    for label, source in (("0.5 KB", inputs.starts(0, count)), ("6.6 KB", inputs.runs(10**12))):
        lines = [line.encode() for line in islice(source, count)]
        for number in senders:
            with loopback() as url:
                empty_seconds, _ = measured(url.removeprefix("http://"), lines, number)
            with (
                tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name,
                loopback() as url,
                bridge_process(PYTHON, Path(name), f"rest:{url}") as (place, _),
            ):
                seconds, waited = measured(place, lines, number)
            waits = [f"{waited[int(len(waited) * part)] * 1000:,.1f}" for part in (0.5, 0.99)]
            rates = [f"{len(lines) / each:,.0f}" for each in (empty_seconds, seconds)]
            table.append((label, f"{number}", *rates, *waits))
            print(table[-1], flush=True)


def serve_rows(lines: list[bytes], table: Table) -> None:
    """Send small events to ``dh-bridge serve``, until all are delivered."""
    with (
        tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name, loopback() as url,
        bridge_process(PYTHON, Path(name), f"rest:{url}") as (place, process),
    ):  # fmt: skip
        before = processor_seconds(process)
        seconds, waited = measured(place, lines, SENDERS)
        wait_until_delivered(place, len(lines))
        busy = (processor_seconds(process) - before) / len(lines) * 1e6
    half, most = (waited[int(len(waited) * part)] * 1000 for part in (0.5, 0.99))
    waits = f"{half:,.0f} ms half, {most:,.0f} ms 99 of 100"
    table.append(("serve", f"{busy:,.0f}", f"{len(lines) / seconds:,.0f}", waits))
    print(table[-1], flush=True)


def processor_seconds(process: int) -> float:
    """Return the processor time of a process and of its children that run."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    seconds = 0.0
    for number in (str(process), *children):
        fields = Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def wait_until_delivered(place: str, events: int) -> None:
    """Wait until all events are in the ledger, and nothing waits for delivery."""
    import http.client  # noqa: PLC0415 - only here

    while True:
        connection = http.client.HTTPConnection(place)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        if int(numbers["dh_bridge_events_total"]) >= events and not int(numbers["dh_bridge_waiting"]):
            return
        time.sleep(0.2)


def compare(options: argparse.Namespace, page: str) -> None:
    """Measure the growth, or numbers of senders, as the options ask."""
    if options.growth:
        growth: Table = [("events", "append, µs", "fold, µs", "replay, µs", "log, bytes/event", "ledger, bytes/event")]
        growth_rows(options.growth, growth)
        if options.write:
            put("log growth", GROWTH_HEAD, [page, markdown(growth)])
    if options.senders:
        senders: Table = [
            ("event", "senders", "empty server, events/s", "serve, events/s", "waited, ms: half", "99 of 100")
        ]
        sender_rows(options.senders, options.count, senders)
        if options.write:
            put("log senders", SENDERS_HEAD, [page, markdown(senders)])


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4000, help="events of a row (default 4000)")
    parser.add_argument("--growth", type=int, nargs="+", metavar="EVENTS", help="lengths of logs to compare")
    parser.add_argument("--senders", type=int, nargs="+", help="numbers of senders to compare")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/RESULTS.md")
    options = parser.parse_args()
    pages = [machine()]
    print(pages[0], flush=True)
    if options.growth or options.senders:
        compare(options, pages[0])
        return
    lines = [line.encode() for line in islice(inputs.runs(10**12), options.count)]
    table: Table = [("what", "CPU µs/event", "events/s", "disk, bytes/event")]
    append_rows(lines, table)
    merge_rows(lines, table)
    pages.append(markdown(table))
    small = [line.encode() for line in islice(inputs.starts(0, options.count), options.count)]
    serve: Table = [("what", "CPU µs/event", "accepted/s", "a sender waits")]
    serve_rows(small, serve)
    pages.append(markdown(serve))
    print("\n" + "\n".join(pages[1:]), end="")
    if options.write:
        put("log", HEAD, pages)


if __name__ == "__main__":
    main()
