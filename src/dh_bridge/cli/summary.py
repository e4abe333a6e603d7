"""What a run over events comes to: counters, dead letters, deliveries, and the exit code they give."""

from __future__ import annotations

import gc
import io
import sys
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Literal

import click

from dh_bridge import private_files
from dh_bridge.bridge import Bridge, Counts, Translation
from dh_bridge.cli import EXIT_DELIVERY, EXIT_EVENTS
from dh_bridge.cli.console import json_line, progress, say
from dh_bridge.datahub.profiles import newest_profile
from dh_bridge.log_throttle import KindCounter, kind_of, shortened
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.pipes import Pipe
from dh_bridge.openlineage.read import BUFFER, read_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from dh_bridge.errors import SinkError
    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Delivery

_ENDINGS = ", ".join(SUFFIXES)
_SQLITE = b"SQLite format 3\0"
_COUNTERS = ("events", "runs", "jobs", "datasets", "proposals", "mapped", "properties", "dropped")
"""Counters that are shown even when they are 0, unless nobody counted (None)."""


class Outcome:
    """Follows the translations of one command; ``with`` it, so that its files are closed."""

    def __init__(self, *, report: str | None = None, dead: str | None = None, fail_on: str = "events") -> None:
        self.counts = Counts()
        self.dead = 0
        self.rejected = 0
        self.delivered = 0
        self.refused = 0
        self._refusals = 0
        self.held = 0
        self._broken = False
        self._waiting = 0
        self._parts = 0
        self._messages = KindCounter()
        self._fail_on = fail_on
        self._files = ExitStack()
        self._report = self._opened("--report", report)
        self._letters = self._opened("--dead-letters", dead)

    @property
    def reports(self) -> bool:
        """Whether somebody wants the report."""
        return self._report is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._files.close()
        for kind, count in self._messages.counts.items():
            if count > 1:
                say(f"{count - 1:,} more like this: {kind}")

    def add(self, translation: Translation) -> None:
        """Count a translation, write its report, and tell of its dead letters."""
        self.counts.add(translation.counts)
        self._parts += bool(translation.counts.proposals)
        for letter in translation.dead:
            self.bury(letter)
        for ours in translation.rejected:
            self.rejected += 1
            self._say(ours.text, ours.text)
        if self._report is not None and translation.report is not None:
            self._report.writelines(map(json_line, translation.report.lines()))

    def bury(self, letter: DeadLetter) -> None:
        """Tell of an event that cannot be used."""
        self.dead += 1
        self._say(letter.cause, letter.text)
        if self._letters is not None:
            self._letters.write(json_line(letter.row()))

    def deliver(self, delivery: Delivery) -> None:
        """Count a delivery and tell of its refusals."""
        self.delivered += delivery.delivered
        by_entity = groupby(delivery.failed, key=lambda failure: (failure.proposal.entity_urn, failure.reason))
        for (urn, reason), failures in by_entity:
            aspects = [failure.proposal.aspect_name for failure in failures]
            self.refused += len(aspects)
            what = f"{urn} {', '.join(dict.fromkeys(aspects))}"
            self._say(f"not delivered: {reason}", f"not delivered: {what}: {reason}")

    @contextmanager
    def waiting(self, proposals: int) -> Iterator[None]:
        """Deliver ``proposals`` inside: when that breaks off, none of them counts as delivered."""
        self._waiting = proposals
        yield
        self._waiting = 0

    def break_off(self, error: SinkError) -> None:
        """Tell of a delivery that failed as a whole."""
        self._broken = True
        self.refused += self._waiting
        say(f"Error: {error}")

    def hold(self, number: int, text: str) -> None:
        """Tell of ``number`` proposals that wait to be sent."""
        self.held = number
        if number:
            say(text)

    def summary(self) -> list[str]:
        """Return the counters as lines that a person likes to read."""
        counted = {name: getattr(self.counts, name) for name in _COUNTERS}
        shown = {name: number for name, number in counted.items() if number is not None}
        failed = {
            "dead letters": self.dead,
            "left out": self.rejected,
            "not delivered": self.refused,
            "waiting": self.held,
        }
        shown |= {"texts cut": self.counts.cut} if self.counts.cut else {}
        shown |= {name: number for name, number in failed.items() if number}
        shown |= {"delivered": self.delivered} if self.delivered else {}
        width = max(map(len, shown))
        lines = [f"{name.ljust(width)}  {number:>9,}" for name, number in shown.items()]
        if self._parts > 1:
            lines.append(f"in {self._parts:,} parts: a run, job or dataset counts once in each that tells of it")
        lines += [f"left out by {rule}: {number:,}" for rule, number in sorted(self.counts.filtered.items())]
        return lines + [f"noted {note}: {number:,}" for note, number in sorted(self.counts.notes.items())]

    def name_version(self, settings: Settings) -> None:
        """Name the DataHub version of the proposals where neither the settings nor a server state one."""
        if settings.profile is None and self.counts.proposals:
            say(assumed_version())

    def leave(self) -> None:
        """Leave the command with the exit code that all of this gives."""
        if (self._broken or self.refused or self.held) and self._fail_on != "never":
            raise click.exceptions.Exit(EXIT_DELIVERY)
        if (self.dead or self.rejected) and self._fail_on == "events":
            raise click.exceptions.Exit(EXIT_EVENTS)

    def _say(self, cause: str, text: str) -> None:
        """Show the first message of each kind; the others are counted."""
        if self._messages.add(kind_of(cause))[1]:
            say(shortened(text))

    def _opened(self, option: str, path: str | None) -> IO[bytes] | None:
        return None if path is None else self._files.enter_context(written_to(option, path, "wb"))


def assumed_version() -> str:
    """Return the sentence that names the DataHub version of proposals for which none is stated."""
    return f"written for DataHub {newest_profile()}, the newest version; pass --profile VERSION for an older server"


def written_to(option: str, path: str, mode: Literal["wb", "ab"]) -> IO[bytes]:
    """Open the file that an option names; a UsageError when it cannot be written, or is a catalogue."""
    try:
        if (place := Path(path)).is_file() and place.stat().st_size:
            with place.open("rb") as held:
                if held.read(len(_SQLITE)) == _SQLITE:
                    raise click.UsageError(f"{option} {path} is a catalogue or a ledger: name another file")
        return private_files.opened(path, mode, buffering=-1)
    except OSError as error:
        raise click.UsageError(f"{option} {path} cannot be written: {error.strerror}") from error


def events_of(paths: Sequence[str], bridge: Bridge) -> Iterator[Event | DeadLetter]:
    """Yield the events and dead letters of ``paths``, with a progress bar on a terminal."""
    pipe: BinaryIO | None = None
    process = click.get_current_context().find_root().obj
    if process:  # one of our own: what is loaded by now stays, and stdin is ours alone
        gc.freeze()
        if "-" in paths and sys.stdin is not None:
            pipe = io.BufferedReader(Pipe(sys.stdin.fileno()), BUFFER)
    passed: list[Path] = []
    outside: list[Path] = []
    items = read_events(
        paths, stdin=pipe, zone=bridge.zone, passed=passed.append, follow_links=bridge.settings.follow_links,
        outside=outside.append,
    )  # fmt: skip
    return _telling(progress(map(bridge.options.masking.item, items), "events"), paths, passed, outside)


def _telling(
    items: Iterator[Event | DeadLetter], paths: Sequence[str], passed: Sequence[Path], outside: Sequence[Path]
) -> Iterator[Event | DeadLetter]:
    """Yield ``items``, then say which files were passed over, and that there was no event at all."""
    found = False
    for item in items:
        found = True
        yield item
    if not found:
        say(f"there is no event in {', '.join('stdin' if path == '-' else path for path in paths)}")
    if passed:
        which = "1 file was" if len(passed) == 1 else f"{len(passed):,} files were"
        say(f"{which} passed over, such as {passed[0]}: of folders those are read that end in {_ENDINGS}")
    if outside:
        which = "1 link was" if len(outside) == 1 else f"{len(outside):,} links were"
        say(
            f"{which} not followed, such as {outside[0]}: they lead out of the folder (--set follow_links=true follows them)"
        )
