"""The outcome of a command that reads events: counters, dead letters, deliveries, and the exit code."""

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
from dh_bridge.cli.terminal import json_line, progress, say
from dh_bridge.datahub.profiles import newest_profile
from dh_bridge.log_throttle import KindCounter, kind_of, shorten_message
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.pipes import InterruptiblePipe
from dh_bridge.openlineage.read import BUFFER, read_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from dh_bridge.errors import SinkError
    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Delivery

_SUFFIXES_TEXT = ", ".join(SUFFIXES)
_SQLITE_HEADER = b"SQLite format 3\0"
_NOTHING_READ = "dh_bridge.nothing_read"
"""Key of click's context: the files and folders of a command had no event."""
_COUNTERS = ("events", "runs", "jobs", "datasets", "proposals", "mapped", "properties", "dropped")
"""Counters that are shown even if they are 0, unless they were not counted (None)."""


class CommandOutcome:
    """Follows the translations of one command; ``with`` it, so that its files are closed."""

    def __init__(self, *, report: str | None = None, dead_letters: str | None = None, fail_on: str = "events") -> None:
        self.counts = Counts()
        self.dead_count = 0
        self.rejected_count = 0
        self.delivered_count = 0
        self.refused_count = 0
        self._refusal_count = 0
        self.waiting_count = 0
        self._waiting_event_count = 0
        self._is_aborted = False
        self._in_flight = 0
        self._part_count = 0
        self._messages = KindCounter()
        self._fail_on = fail_on
        self._files = ExitStack()
        self._report = self._open_file("--report", report)
        self._dead_letters = self._open_file("--dead-letters", dead_letters)

    @property
    def has_report(self) -> bool:
        """Return whether a report is requested."""
        return self._report is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._files.close()
        for kind, count in self._messages.counts.items():
            if count > 1:
                say(f"{count - 1:,} more like this: {kind}")

    @property
    def has_content(self) -> bool:
        """Whether there is something to sum up: a delivery that failed before the first event has nothing."""
        return not self._is_aborted or bool(self.counts.events or self.dead_count or self.waiting_count)

    def add(self, translation: Translation) -> None:
        """Count a translation, write its report, and print its dead letters."""
        self.counts.add(translation.counts)
        self._part_count += bool(translation.counts.proposals)
        for letter in translation.dead:
            self.add_dead_letter(letter)
        for rejection in translation.rejected:
            self.rejected_count += 1
            self._say_once(rejection.message, rejection.message)
        if self._report is not None and translation.report is not None:
            self._report.writelines(map(json_line, translation.report.lines()))

    def add_dead_letter(self, letter: DeadLetter) -> None:
        """Count an event that cannot be used, print the reason, and write the event to the file of dead letters."""
        self.dead_count += 1
        self._say_once(letter.cause, letter.text)
        if self._dead_letters is not None:
            self._dead_letters.write(json_line(letter.row()))

    def add_delivery(self, delivery: Delivery) -> None:
        """Count a delivery and print its rejections."""
        self.delivered_count += delivery.delivered_count
        by_entity = groupby(delivery.failures, key=lambda failure: (failure.proposal.entity_urn, failure.reason))
        for (urn, reason), failures in by_entity:
            aspects = [failure.proposal.aspect_name for failure in failures]
            self.refused_count += len(aspects)
            subject = f"{urn} {', '.join(dict.fromkeys(aspects))}"
            self._say_once(f"not delivered: {reason}", f"not delivered: {subject}: {reason}")

    @contextmanager
    def in_flight(self, proposals: int) -> Iterator[None]:
        """Deliver ``proposals`` inside: when that breaks off, none of them counts as delivered."""
        self._in_flight = proposals
        yield
        self._in_flight = 0

    def abort(self, error: SinkError) -> None:
        """Print the error of a delivery that failed as a whole."""
        self._is_aborted = True
        self.refused_count += self._in_flight
        say(f"Error: {error}")

    def add_waiting(self, number: int, text: str) -> None:
        """Print the number of proposals that wait to be sent."""
        self.waiting_count = number
        if number:
            say(text)

    def add_waiting_events(self, number: int, text: str) -> None:
        """Print the number of accepted events that wait to be processed."""
        self._waiting_event_count = number
        if number:
            say(text)

    def summary(self) -> list[str]:
        """Return the counters as lines that a person likes to read."""
        counters = {name: getattr(self.counts, name) for name in _COUNTERS}
        if self.counts.lost is not None:
            counters["dropped"] = self.counts.lost
        visible_counts = {name: number for name, number in counters.items() if number is not None}
        failure_counts = {
            "dead letters": self.dead_count,
            "left out": self.rejected_count,
            "not delivered": self.refused_count,
            "waiting": self.waiting_count,
            "events waiting": self._waiting_event_count,
        }
        visible_counts |= {"texts cut": self.counts.cut} if self.counts.cut else {}
        visible_counts |= {name: number for name, number in failure_counts.items() if number}
        visible_counts |= {"delivered": self.delivered_count} if self.delivered_count else {}
        width = max(map(len, visible_counts))
        lines = [f"{name.ljust(width)}  {number:>9,}" for name, number in visible_counts.items()]
        no_loss = (self.counts.dropped or 0) - (self.counts.lost or 0) if self.counts.lost is not None else 0
        if no_loss:
            lines.append(
                f"{no_loss:,} more fields had nothing to store: descriptions of facets (_producer, _schemaURL), empty values, duplicates"
            )
        if self._part_count > 1:
            lines.append(
                f"in {self._part_count:,} parts: a run, job or dataset counts once in each part that contains it"
            )
        lines += [f"left out by {rule}: {number:,}" for rule, number in sorted(self.counts.filtered.items())]
        return lines + [f"noted {note}: {number:,}" for note, number in sorted(self.counts.notes.items())]

    def name_version(self, settings: Settings) -> None:
        """Name the DataHub version of the proposals where neither the settings nor a server state one."""
        if settings.datahub_version is None and self.counts.proposals:
            say(assumed_version())

    def exit_command(self) -> None:
        """Leave the command with the exit code that all of this gives."""
        is_undelivered = self.refused_count or self.waiting_count or self._waiting_event_count
        if (self._is_aborted or is_undelivered) and self._fail_on != "never":
            raise click.exceptions.Exit(EXIT_DELIVERY)
        if (self.dead_count or self.rejected_count or is_nothing_read()) and self._fail_on == "events":
            raise click.exceptions.Exit(EXIT_EVENTS)

    def _say_once(self, cause: str, text: str) -> None:
        """Show the first message of each kind; the others are counted."""
        if self._messages.add(kind_of(cause))[1]:
            say(shorten_message(text))

    def _open_file(self, option: str, path: str | None) -> IO[bytes] | None:
        return None if path is None else self._files.enter_context(open_output(option, path, "wb"))


def assumed_version() -> str:
    """Return the sentence that names the DataHub version of proposals for which none is stated."""
    return f"written for DataHub {newest_profile()}, the newest version; pass --datahub-version VERSION for an older server"


def open_output(option: str, path: str, mode: Literal["wb", "ab"]) -> IO[bytes]:
    """Open the file that an option names; a UsageError when it cannot be written, or is a catalogue."""
    try:
        if (file := Path(path)).is_file() and file.stat().st_size:
            with file.open("rb") as stream:
                if stream.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER:
                    raise click.UsageError(f"{option} {path} is a catalogue or a ledger: name another file")
        return private_files.open_private(path, mode, buffering=-1)
    except OSError as error:
        raise click.UsageError(f"{option} {path} cannot be written: {error.strerror}") from error


def read_items(paths: Sequence[str], bridge: Bridge) -> Iterator[Event | DeadLetter]:
    """Yield the events and dead letters of ``paths``, with a progress bar on a terminal."""
    pipe: BinaryIO | None = None
    is_process = click.get_current_context().find_root().obj
    if is_process:  # one of our own: what is loaded by now stays, and stdin is ours alone
        gc.freeze()
        if "-" in paths and sys.stdin is not None:
            pipe = io.BufferedReader(InterruptiblePipe(sys.stdin.fileno()), BUFFER)
    skipped_files: list[Path] = []
    outside_links: list[Path] = []
    items = read_events(
        paths, stdin=pipe, zone=bridge.zone, on_skipped_file=skipped_files.append,
        on_outside_link=outside_links.append,
    )  # fmt: skip
    return _report_skipped(
        progress(map(bridge.options.masking.mask_item, items), "events"), paths, skipped_files, outside_links
    )


def is_nothing_read() -> bool:
    """Return whether the command found no event in its files and folders."""
    return bool(click.get_current_context().meta.get(_NOTHING_READ, False))


def _say_nothing_read(paths: Sequence[str]) -> None:
    """Print that there was no event, and end the command with exit code 1; an empty pipe or device is not an error."""
    folders = [path for path in paths if Path(path).is_dir()]
    files = [path for path in paths if Path(path).is_file()]
    names = ", ".join("stdin" if path == "-" else path for path in paths)
    remedy = ""
    if folders:
        remedy = f" Files of folders are read if they end in {_SUFFIXES_TEXT}, or begin with JSON."
    say(f"No events in {names}.{remedy}")
    if folders or files:
        click.get_current_context().meta[_NOTHING_READ] = True


def _report_skipped(
    items: Iterator[Event | DeadLetter],
    paths: Sequence[str],
    skipped_files: Sequence[Path],
    outside_links: Sequence[Path],
) -> Iterator[Event | DeadLetter]:
    """Yield ``items``, then print which files were skipped, and whether there was no event at all."""
    has_events = False
    for item in items:
        has_events = True
        yield item
    if not has_events:
        _say_nothing_read(paths)
    if skipped_files:
        subject = "1 file is" if len(skipped_files) == 1 else f"{len(skipped_files):,} files are"
        say(
            f"{subject} not JSON and was skipped, such as {skipped_files[0]}."
            if len(skipped_files) == 1
            else f"{subject} not JSON and were skipped, such as {skipped_files[0]}."
        )
    if outside_links:
        subject = "1 link was" if len(outside_links) == 1 else f"{len(outside_links):,} links were"
        say(
            f"{subject} not followed, such as {outside_links[0]}: they lead out of the folder. Pass their targets as EVENTS"
        )
