"""Measure a batch on Spark beside the plain loop of `dh-bridge emit` on one core, in the same run.

    python benchmarks/spark.py [--counts 10000,100000,1000000] [--cores 1,2] [--write]

``--write`` measures 10 k, 100 k and 1 M events: an hour on a quiet machine, and 25 GB of disk.

Each figure is of a program of its own that, with all its children, may use so many cores; the programs run one after the other.
The plain loop uses one core. Events are START and COMPLETE in turn, 6.5 KB on average; of four runs
three share their tables with others, as in a warehouse, one has tables of its own. Peak memory is that of the program and all its
children together (resident, shared pages counted once for each), sampled ten times a second.
Times are of the work alone: Spark's session has started, and a small batch has warmed it up; of 10,000 events, which take
seconds, the fastest of three. The plain loop discards its NDJSON; Spark writes a folder of Parquet. Goals: flat memory, each tenfold
within 15 % of ten times the time, two cores at least 1.3 times as fast as the plain loop at 100,000 events.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import big_event
import inputs
import psutil
from results import HERE, machine, markdown, put

from dh_bridge.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS = ("plain", "spark")
_SHORT, _SHORT_ROUNDS = 10_000, 3
_SIGNS = "\x00\x01\x02"


def events(count: int) -> Iterator[str]:
    """Yield ``count`` events: the START of a run, and the COMPLETE of one that began a hundred runs before."""
    start, complete = _form(inputs.SMALL, "START"), _form(inputs.MIDDLE, "COMPLETE")
    for number in range(-(-count // 2) + 1):
        yield start(number)
        yield big_event.renamed(complete(max(number - 100, 0)), number if number % 4 == 0 else number % 100)


def _form(shape: Namespace, kind: str) -> Callable[[int], str]:
    """Return what gives event ``number`` of big_event.py as text: three words are replaced in one that is made once."""

    def words(like: Namespace, number: int) -> tuple[str, str, str]:
        one = big_event.event(like, number)
        return one["run"]["runId"], one["eventTime"], one["job"]["name"]

    text = json.dumps(big_event.event(shape, 0) | {"eventType": kind}, separators=(",", ":"))
    for sign, word in zip(_SIGNS, words(shape, 0), strict=True):
        text = text.replace(word, sign)
    empty = Namespace(**{**vars(shape), "columns": 1, "lineage": 0})

    def made(number: int) -> str:
        found = text
        for sign, word in zip(_SIGNS, words(empty, number), strict=True):
            found = found.replace(sign, word)
        return found

    return made


def child(kind: str, file: Path, cores: int) -> tuple[float, float]:
    """Return (seconds, peak MB) of a program that translates ``file`` on ``cores`` cores."""
    command = [sys.executable, str(HERE / "spark.py"), "--child", kind, "--file", str(file), "--cores", str(cores)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = [0.0]
        watch = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
        watch.start()
        out, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return json.loads(out.splitlines()[-1])["seconds"], peak[0]


def _watch(pid: int, peak: list[float]) -> None:
    while True:
        try:
            top = psutil.Process(pid)
            every = [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        held = 0
        for one in every:
            with suppress(psutil.NoSuchProcess):
                held += 0 if _is_fork(one) else one.memory_info().rss
        peak[0] = max(peak[0], held / 1e6)
        time.sleep(0.1)


def _is_fork(process: psutil.Process) -> bool:
    """Whether a process is a copy of the JVM that is about to become a command: its pages are the JVM's.

    Its name is that of the thread that made it.
    """
    above = process.parent()
    return above is not None and all(Path(one.exe()).name == "java" for one in (process, above))


def plain(file: str, cores: int) -> float:  # noqa: ARG001 - as spark
    """Return the seconds of the plain loop, proposals written as NDJSON."""
    from dh_bridge.bridge import Bridge  # noqa: PLC0415 - a child loads what it measures
    from dh_bridge.datahub.proposal import ndjson_line  # noqa: PLC0415 - a child loads what it measures
    from dh_bridge.openlineage.read import read_events  # noqa: PLC0415 - a child loads what it measures

    began = time.perf_counter()
    with Path(os.devnull).open("wb") as nowhere:
        for translation in Bridge(Settings(datahub_version="1.7")).stream(read_events([file])):
            nowhere.writelines(map(ndjson_line, translation.proposals))
    return time.perf_counter() - began


def spark(file: str, cores: int) -> float:
    """Return the seconds of a batch on ``local[cores]``, written as Parquet."""
    from dh_bridge.spark import SparkTranslation, partitions_for, read, session, write_folder  # noqa: PLC0415 - a child loads what it measures

    conf = {"spark.driver.memory": "1g", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    conf["spark.local.dir"] = str(Path(file).with_suffix(".spark"))  # what is shuffled goes when the file goes
    running = session(master=f"local[{cores}]", conf=conf)
    settings = Settings(datahub_version="1.7")
    with tempfile.TemporaryDirectory() as folder:
        warm = SparkTranslation(read(running, str(inputs.EXAMPLES / "client.ndjson")), settings, partitions=cores)
        write_folder(warm.proposals, f"parquet:{folder}/warm")
        began = time.perf_counter()
        translation = SparkTranslation(read(running, file), settings, partitions=partitions_for(running, file))
        write_folder(translation.proposals, f"parquet:{folder}/out")
        seconds = time.perf_counter() - began
    running.stop()
    return seconds


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", help="default 10000,100000; with --write 1000000, too")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(options.cores)])
        work = {"plain": plain, "spark": spark}[options.child]
        print(json.dumps({"seconds": work(options.file, int(options.cores))}))
        return
    where = machine()
    print(where, flush=True)
    counts = list(
        map(int, (options.counts or ("10000,100000,1000000" if options.write else "10000,100000")).split(","))
    )
    cores = list(map(int, options.cores.split(",")))
    programs = [("plain", 1), *(("spark", number) for number in cores)]
    results: dict[int, dict[tuple[str, int], tuple[float, float]]] = {}
    heads = [cell for kind, number in programs for cell in (f"{_name(kind, number)}, events/s", "peak MB")]
    table = [("events", *heads, *(f"{_name('spark', number)} / plain loop" for number in cores), "time / tenth")]
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        for count in counts:
            file = Path(name) / f"{count}.ndjson"
            inputs.write(file, islice(events(count), count))
            results[count] = {}
            for kind, number in programs:
                rounds = _SHORT_ROUNDS if count <= _SHORT else 1
                results[count][kind, number] = min(child(kind, file, number) for _ in range(rounds))
                shutil.rmtree(file.with_suffix(".spark"), ignore_errors=True)
                seconds, peak = results[count][kind, number]
                print(f"{count:,}", _name(kind, number), f"{count / seconds:,.0f} events/s, {peak:.0f} MB", flush=True)
            file.unlink()
            table.append(_row(results, count, cores))
            print(*table[-1], flush=True)
    if options.write:
        put("spark", _head(), [where, markdown(table)])


def _name(kind: str, cores: int) -> str:
    return "plain loop" if kind == "plain" else f"Spark on {cores} core{'s' * (cores > 1)}"


def _row(
    results: dict[int, dict[tuple[str, int], tuple[float, float]]], count: int, cores: list[int]
) -> tuple[str, ...]:
    """Return a line of the table; the last cell is Spark's time on the most cores, beside that of a tenth of the events."""
    figures = [cell for seconds, peak in results[count].values() for cell in (f"{count / seconds:,.0f}", f"{peak:.0f}")]
    plain_seconds = results[count]["plain", 1][0]
    speedups = [f"{plain_seconds / results[count]['spark', number][0]:.2f}" for number in cores]
    most = ("spark", cores[-1])
    tenth = f"{results[count][most][0] / results[count // 10][most][0]:.1f}" if count // 10 in results else ""
    return f"{count:,}", *figures, *speedups, tenth


def _head() -> str:
    return f"## On Spark\n\nWritten by `make bench-spark`; each figure{(__doc__ or '').partition('Each figure')[2]}"


if __name__ == "__main__":
    main()
