"""How benchmarks measure, and where they tell: programs of their own, tables, the page benchmarks/RESULTS.md."""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dh_bridge.cache import relax_garbage_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HERE = Path(__file__).resolve().parent
PAGE = HERE / "RESULTS.md"
PYTHON = sys.executable
PACKAGES = ("dh-bridge", "msgspec", "orjson", "pydantic", "acryl-datahub")

Table = list[tuple[str, ...]]

# -- inside of the program that is measured ---------------------------------------------------------------------------


def one_core() -> None:
    """Stay on one core, where the system lets us choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def freeze() -> None:
    """Leave what has been made so far out of garbage collection, and collect as dh_bridge.cli.main does."""
    relax_garbage_collection()
    gc.collect()
    gc.freeze()


def fastest(rounds: int, work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of ``rounds`` passes, after one that only warms up."""
    work()
    freeze()
    passes = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        passes.append(time.process_time() - began)
    return min(passes)


def held() -> float:
    """Return the resident memory of this process in MiB; where /proc is missing, the most that it ever was."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return peak()


def peak() -> float:
    """Return the most resident memory of this process in MiB; getrusage would count that of the parent before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- programs of their own --------------------------------------------------------------------------------------------


def child(script: str, *arguments: object) -> dict[str, Any]:
    """Run one measurement in a process of its own; return what it prints last."""
    *_, found = told(script, *arguments)
    return found


def told(script: str, *arguments: object) -> Iterator[dict[str, Any]]:
    """Run a measurement in a process of its own; yield each line of JSON that it prints, when it does."""
    command = [PYTHON, str(HERE / script), *map(str, arguments)]
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile("w+") as errors:
        quiet = os.environ | {"HOME": home, "DATAHUB_TELEMETRY_ENABLED": "false"}  # what acryl-datahub heeds
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=quiet) as process:
            yield from map(json.loads, process.stdout or ())
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} failed\n{errors.read()}")


# -- the page ---------------------------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """Return a table that people can read as it stands; numbers stand to the right."""
    columns = []
    for cells in zip(*table, strict=True):
        width = max(map(len, cells))
        number = cells[1][:1].isdigit()
        head, *rows = [cell.rjust(width) if number else cell.ljust(width) for cell in cells]
        columns.append([head, "-" * (width - 1) + ":" if number else "-" * width, *rows])
    return "".join(f"| {' | '.join(row)} |\n" for row in zip(*columns, strict=True))


def machine() -> str:
    """Return where and when, and the versions that count."""
    versions = [f"{package} {version(package)}" for package in PACKAGES]
    when = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    where = f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    where += f", {os.getloadavg()[0]:.1f} busy before" if hasattr(os, "getloadavg") else ""
    python = f"Python {platform.python_version()} of {sys.base_prefix}"
    return f"{when}; {where}; {python}; {', '.join(versions)}."


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def put(name: str, head: str, pages: Sequence[str]) -> None:
    """Write the block ``name`` of the page, below what others have written if it is new; ``head`` comes first."""
    parts = "\n\n".join(part.strip() for part in (head, *pages))
    block = f"<!-- {name} -->\n{parts}\n<!-- end -->\n"
    text = PAGE.read_text(encoding="utf-8")
    old = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->\n", re.DOTALL)
    text = old.sub(lambda _: block, text) if old.search(text) else f"{text.rstrip()}\n\n{block}"
    PAGE.write_text(text, encoding="utf-8")
