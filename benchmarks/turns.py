"""Measurements that take turns, a pass each: what else keeps the machine busy hits all of them alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from results import HERE, PYTHON, Table, freeze

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# -- inside of the program that is measured ---------------------------------------------------------------------------


def turns(proposals: int, work: Callable[[], object]) -> None:
    """Warm up, tell how many ``proposals`` a pass has, then do one for each line of standard input and tell its seconds."""
    work()
    freeze()
    print(json.dumps(proposals), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(json.dumps(time.perf_counter() - began), flush=True)


# -- outside ----------------------------------------------------------------------------------------------------------


class Pace(NamedTuple):
    """How many proposals a pass has, and the seconds of the passes of each round."""

    proposals: int
    rounds: list[list[float]]

    @property
    def each(self) -> float:
        """Seconds for a proposal in the fastest pass."""
        return min(min(passes) for passes in self.rounds if passes) / self.proposals

    def faster_than(self, other: Pace) -> float:
        """Return how many times as fast this is in the round that is worst for it; rounds that only one took part in do not count."""
        slow = [
            min(theirs) / other.proposals / (max(ours) / self.proposals)
            for ours, theirs in zip(self.rounds, other.rounds, strict=True)
            if ours and theirs
        ]
        return min(slow)


class _Program:
    """A measurement in a process of its own that waits for its turn."""

    def __init__(self, files: ExitStack, arguments: Sequence[object]) -> None:
        home = files.enter_context(tempfile.TemporaryDirectory())
        quiet = os.environ | {"HOME": home, "DATAHUB_TELEMETRY_ENABLED": "false"}  # what acryl-datahub heeds
        self._errors = files.enter_context(tempfile.TemporaryFile("w+"))  # noqa: SIM115 - the stack closes it
        script, *rest = map(str, arguments)
        self._process = files.enter_context(
            subprocess.Popen(
                [PYTHON, str(HERE / script), *rest],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=quiet,
            )
        )  # fmt: skip
        self.proposals = int(self._told())

    def turn(self) -> float:
        """Return the seconds of one pass."""
        if self._process.stdin is not None:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        return self._told()

    def _told(self) -> float:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            self._errors.seek(0)
            sys.exit(f"{self._process.args} failed\n{self._errors.read()}")
        return float(line)


def taken(programs: Mapping[str, Sequence[object]], rounds: Sequence[Sequence[str]]) -> dict[str, Pace]:
    """Start ``programs`` (a script and its arguments each), let them take turns by name, and return how fast each was."""
    with ExitStack() as files:
        started = {name: _Program(files, arguments) for name, arguments in programs.items()}
        found: dict[str, Pace] = {name: Pace(one.proposals, []) for name, one in started.items()}
        for names in rounds:
            for pace in found.values():
                pace.rounds.append([])
            for name in names:
                found[name].rounds[-1].append(started[name].turn())
    return found


def compared(title: str, found: Mapping[str, Pace], names: Mapping[str, str]) -> Table:
    """Return rows of a table: proposals a second of each, how many times as fast ``ours`` is, and in its worst round."""
    ours = found["ours"]
    rows: Table = []
    for who, name in names.items():
        each = found[who].each
        worst = 1.0 if who == "ours" else ours.faster_than(found[who])
        rows.append(
            (title, name, f"{1 / each:,.0f}", f"{1e6 * each:.1f}", f"{each / ours.each:.1f} x", f"{worst:.1f} x")
        )
    return rows
