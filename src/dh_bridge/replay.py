"""Replays the event log of a ledger: what other settings, or another version, would change of what was sent."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.datahub.urns import entity_type
from dh_bridge.identity_diff import IdentityDiff, MovePlan
from dh_bridge.ledger import NullSink, Outbox, open_ledger, trial_copy
from dh_bridge.ledger.archived_log import joined_log
from dh_bridge.ledger.rebuild import (
    ReadOnlyLog,
    ReplayStart,
    adopt_states,
    forget_sent,
    rebuild_states,
    sent_urns,
)
from dh_bridge.openlineage.events import Event
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import Options, zone_of
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger.rebuild import RebuiltStates
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.settings import Settings

NEW, CHANGED, VANISHED = "new", "changed", "no longer written"
"""What happens to an entity, or to an aspect of an entity that was sent before."""


class Difference(NamedTuple):
    """An entity that is new or no longer written (``aspect`` is empty), or an aspect that changes."""

    kind: str
    urn: str
    aspect: str = ""

    @property
    def subject(self) -> str:
        """What it is about: the type of the entity, and the aspect."""
        return f"{entity_type(self.urn)} {self.aspect}".rstrip()


class ReplayResult(msgspec.Struct):
    """The differences between what was sent and what a replay gives.

    ``events``: the number of replayed events. ``dead``: those that cannot be used. ``is_complete``: whether the log has every
    event of the ledger. ``start``: the snapshot with which the replay began otherwise; None: it began with the present states.
    ``plan``: the entities that get another URN, if there are other settings.
    """

    events: int = 0
    dead: int = 0
    is_complete: bool = True
    start: ReplayStart | None = None
    differences: list[Difference] = []
    plan: MovePlan = MovePlan([], [], [])

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of differences by kind and subject, in the order of the kinds."""
        counts = Counter((difference.kind, difference.subject) for difference in self.differences)
        return dict(sorted(counts.items(), key=lambda item: ((NEW, CHANGED, VANISHED).index(item[0][0]), item[0][1])))

    def example(self, kind: str, subject: str) -> str:
        """Return the URN of one of the differences."""
        return next(item.urn for item in self.differences if (item.kind, item.subject) == (kind, subject))


def compare_replay(
    ledger_path: Path,
    settings: Settings,
    *,
    old_settings: Settings | None = None,
    since: int | None = None,
    archive: Path | None = None,
) -> ReplayResult:
    """Return what a replay under ``settings`` would send; nothing is written.

    Args:
        ledger_path: the ledger that has the log.
        settings: the settings of the replay.
        old_settings: those of the ledger until now; with them, the result names the entities that get another URN.
        since: only events that were received at this time (milliseconds) or later.
        archive: a folder of ``dh-bridge log export`` with the events that the log has deleted.

    Raises:
        SinkError: There is no log, or a file cannot be read.
    """
    with (
        joined_log(ledger_path, archive) as log_folder,
        rebuild_states(ledger_path, log_folder, settings, since=since) as rebuilt,
        trial_copy(ledger_path) as copy_path,
    ):
        assert copy_path is not None  # noqa: S101 - of a path
        with Database(copy_path) as file, ReadOnlyLog(log_folder) as event_log:
            sent = sent_urns(file)
            adopt_states(file, event_log, rebuilt, settings)
            with file.transaction():
                Outbox(file.connection).set_paused(is_paused=False)  # or nothing would be rendered
        result = _new_result(rebuilt, sent)
        with open_ledger(copy_path, NullSink(), settings) as ledger:
            assert ledger is not None  # noqa: S101 - of a path
            for translation, _ in ledger.render_withheld():
                result.differences += _differences(translation.proposals, sent)
        result.differences = list(dict.fromkeys(result.differences))
        if old_settings is not None:
            result.plan = _plan_moves(_items_of(log_folder, settings), old_settings, settings)
    return result


def apply_replay(
    ledger_path: Path,
    settings: Settings,
    *,
    since: int | None = None,
    archive: Path | None = None,
) -> ReplayResult:
    """Replace the states of a ledger by those of a replay; the next delivery of the ledger sends the differences.

    Args:
        ledger_path: the ledger that has the log.
        settings: the settings of the replay.
        since: only events that were received at this time (milliseconds) or later.
        archive: a folder of ``dh-bridge log export`` with the events that the log has deleted.

    Returns:
        The events, and the entities that are no longer written; the other differences are known when they are sent. Later
        replays do not list these entities again.

    Raises:
        SinkError: There is no log, or a file cannot be read or written.
    """
    with (
        joined_log(ledger_path, archive) as log_folder,
        rebuild_states(ledger_path, log_folder, settings, since=since) as rebuilt,
    ):
        with Database(ledger_path) as file, ReadOnlyLog(log_folder) as event_log:
            result = _new_result(rebuilt, sent_urns(file))
            unwritten_urns = [difference.urn for difference in result.differences]
            adopt_states(file, event_log, rebuilt, settings, partial(forget_sent, file, unwritten_urns))
        return result


def log_items(
    ledger_path: Path, settings: Settings, *, since: int | None = None, archive: Path | None = None
) -> Iterator[Event | DeadLetter]:
    """Yield the events in the log of a ledger, as they were accepted; those of an archive before them.

    Raises:
        SinkError: There is no log, or it cannot be read.
    """
    with joined_log(ledger_path, archive) as log_folder:
        yield from _items_of(log_folder, settings, since)


def _items_of(log_folder: Path, settings: Settings, since: int | None = None) -> Iterator[Event | DeadLetter]:
    zone = zone_of(settings)
    with ReadOnlyLog(log_folder) as event_log:
        for event in event_log.events(since):
            yield from events_of(event.event, event.location, zone)


def _new_result(rebuilt: RebuiltStates, sent: frozenset[str]) -> ReplayResult:
    result = ReplayResult(
        events=sum(counts.events for counts in rebuilt.counts),
        dead=sum(counts.dead for counts in rebuilt.counts),
        is_complete=rebuilt.is_complete,
        start=rebuilt.start,
    )
    if rebuilt.is_complete or rebuilt.start is not None:
        result.differences += [Difference(VANISHED, urn) for urn in sorted(sent - rebuilt.urns)]
    return result


def _differences(proposals: list[Proposal], sent: frozenset[str]) -> Iterator[Difference]:
    """Yield the differences that proposals make: of a new entity the same for each aspect."""
    for proposal in proposals:
        urn = proposal.entity_urn
        yield Difference(CHANGED, urn, proposal.aspect_name) if urn in sent else Difference(NEW, urn)


def _plan_moves(items: Iterable[Event | DeadLetter], old: Settings, new: Settings) -> MovePlan:
    """Return which entities get another URN."""
    diff = IdentityDiff(Options(old), Options(new))
    for item in items:
        if isinstance(item, Event):
            diff.see(item)
    return diff.plan()
