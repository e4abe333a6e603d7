"""Measure a batch on Spark beside the plain loop of `dh-bridge emit` on one core, in the same run.

    python benchmarks/spark.py [--counts 10000,100000,1000000] [--cores 1,2] [--write]

``--write`` measures 10 k, 100 k and 1 M events: an hour on a quiet machine, and 25 GB of disk.

Each figure is of a program of its own that, with all its children, may use so many cores; those of one core run at the same time,
each on a core of its own. The plain loop uses one core. Events are START and COMPLETE in turn, 6.5 KB on average; of four runs
three share their tables with others, as in a warehouse, one has tables of its own. Peak memory is that of the program and all its
children together (resident, shared pages counted once for each), sampled ten times a second.
Times are of the work alone: Spark's session has started, and a small batch has warmed it up; of 10,000 events, which take
seconds, the fastest of five. Goals: flat memory, each tenfold within 15 % of ten times the time, two cores
1.7 times as fast as one.
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
from concurrent.futures import ThreadPoolExecutor
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
_SHORT, _SHORT_ROUNDS = 10_000, 5
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


def measured(file: Path, count: int, cores: int) -> dict[tuple[str, int, int], tuple[float, float]]:
    """Return (seconds, peak MB) of Spark, and on one core of the plain loop, too: both run at once, on cores of their own."""
    apart = cores == 1 and len(os.sched_getaffinity(0)) > 1
    kinds = KINDS if cores == 1 else ("spark",)
    with ThreadPoolExecutor(2 if apart else 1) as both:
        done = {kind: both.submit(child, kind, file, cores, int(apart and kind == "spark")) for kind in kinds}
        return {(kind, count, cores): one.result() for kind, one in done.items()}


def child(kind: str, file: Path, cores: int, first: int) -> tuple[float, float]:
    """Return (seconds, peak MB) of a program that translates ``file`` on ``cores`` cores from the ``first`` on."""
    command = [sys.executable, str(HERE / "spark.py"), "--child", kind, "--file", str(file), "--cores", str(cores)]
    with subprocess.Popen([*command, "--first", str(first)], stdout=subprocess.PIPE, text=True) as process:
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
        found = SparkTranslation(read(running, file), settings, partitions=partitions_for(running, file))
        write_folder(found.proposals, f"parquet:{folder}/out")
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
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        mine = sorted(os.sched_getaffinity(0))[options.first : options.first + int(options.cores)]
        os.sched_setaffinity(0, set(mine))
        work = {"plain": plain, "spark": spark}[options.child]
        print(json.dumps({"seconds": work(options.file, int(options.cores))}))
        return
    where = machine()
    print(where, flush=True)
    counts = list(
        map(int, (options.counts or ("10000,100000,1000000" if options.write else "10000,100000")).split(","))
    )
    found: dict[tuple[str, int, int], tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as name:
        for count in counts:
            file = Path(name) / f"{count}.ndjson"
            inputs.write(file, islice(events(count), count))
            for cores in map(int, options.cores.split(",")):
                passes = [measured(file, count, cores) for _ in range(_SHORT_ROUNDS if count <= _SHORT else 1)]
                found |= {one: min(each[one] for each in passes) for one in passes[0]}
                shutil.rmtree(file.with_suffix(".spark"), ignore_errors=True)
                print(*_row(found, count, cores), flush=True)
            file.unlink()
    table = [HEADS, *(_row(found, count, cores) for kind, count, cores in found if kind == "spark")]
    if options.write:
        put("spark", _head(), [where, markdown(table)])


HEADS = (
    *("events", "cores", "Spark, events/s", "peak MB", "plain loop, events/s", "peak MB"),
    *("time / time of a tenth", "speed / speed on one core"),
)


def _row(found: dict[tuple[str, int, int], tuple[float, float]], count: int, cores: int) -> tuple[str, ...]:
    loop, held = found.get(("plain", count, 1), (0.0, 0.0))
    seconds, most = found["spark", count, cores]
    tenth, alone = found.get(("spark", count // 10, cores)), found.get(("spark", count, 1))
    return (
        *(f"{count:,}", str(cores), f"{count / seconds:,.0f}", f"{most:.0f}"),
        *((f"{count / loop:,.0f}", f"{held:.0f}") if loop and cores == 1 else ("", "")),
        f"{seconds / tenth[0]:.1f}" if tenth else "",
        f"{alone[0] / seconds:.2f}" if alone and cores > 1 else "",
    )


def _head() -> str:
    return f"## On Spark\n\nWritten by `make bench-spark`; each figure{(__doc__ or '').partition('Each figure')[2]}"


if __name__ == "__main__":
    main()
