"""What is measured: files of events, written once per run into a folder of their own."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import big_event

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "events"
BIG = Namespace(inputs=2, outputs=1, columns=40, lineage=20, fan_in=2)
SMALL = Namespace(inputs=1, outputs=1, columns=0, lineage=0, fan_in=1)
MIDDLE = Namespace(inputs=2, outputs=1, columns=10, lineage=5, fan_in=2)


def big(start: int, count: int, *, fresh: bool) -> Iterator[str]:
    """Yield COMPLETE events of 24 KB (see big_event.py); ``fresh`` gives each its own tables and columns."""
    for number in range(start, start + count):
        yield _line(BIG, number, fresh=fresh)


def starts(start: int, count: int, jobs: int | None = None) -> Iterator[str]:
    """Yield START events of half a kilobyte: a run, its job, one input, one output, no facets.

    Of as many ``jobs``, which run again and again; None gives each event a job of its own.
    """
    for number in range(start, start + count):
        event = big_event.event(SMALL, number) | {"eventType": "START"}
        if jobs is not None:
            event["job"]["name"] = big_event.event(SMALL, number % jobs)["job"]["name"]
        for part in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
            for bag in ("facets", "inputFacets", "outputFacets"):
                part.pop(bag, None)
        yield json.dumps(event, separators=(",", ":"))


def examples() -> Iterator[str]:
    """Yield the events of examples/events in their order."""
    for file in sorted(EXAMPLES.glob("*.ndjson")):
        yield from file.read_text(encoding="utf-8").splitlines()


def runs(size: int) -> Iterator[str]:
    """Yield START and COMPLETE of run after run, each with its own tables, until ``size`` bytes are reached."""
    number = written = 0
    waiting: list[str] = []
    while written < size:
        start = json.dumps(big_event.event(SMALL, number) | {"eventType": "START"}, separators=(",", ":"))
        waiting.append(_line(MIDDLE, number, fresh=True))
        lines = [start]
        if len(waiting) > 100:  # a run goes on while a hundred others start
            lines.append(waiting.pop(0))
        for line in lines:
            written += len(line) + 1
            yield line
        number += 1


def write(path: Path, lines: Iterator[str]) -> int:
    """Write ``lines`` to ``path``; return how many there were."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
    return count


def _line(shape: Namespace, number: int, *, fresh: bool) -> str:
    line = json.dumps(big_event.event(shape, number), separators=(",", ":"))
    return big_event.renamed(line, number) if fresh else line
