"""Runs that are one only together: operations that fold into the run above, runs that are known by two ids.

By default no run is: each is worked on by itself. Where the settings make families, a first reading finds which runs name
each other, and all events of a family go the same way (see ``spark.translation``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import EventError, SettingsError
from dh_bridge.openlineage.parsing import parse
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.facts import FOLDED, PARENT, RUN_ALIAS, UPSTREAM_RUN
from dh_bridge.translation.fold import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from dh_bridge.replay.records import Record
    from dh_bridge.settings import Settings
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState


def cause(settings: Settings) -> str:
    """Return the setting that makes families of runs, "" when each run stands by itself."""
    identity = settings.identity
    if identity.mode != "default":
        return f"identity.mode: {identity.mode}"
    if identity.granularity != "operation":
        return f"identity.granularity: {identity.granularity}"
    rules = (rule.granularity for rule in identity.rules)
    return next((f"identity.rules: granularity {one}" for one in rules if one not in {None, "operation"}), "")


def refuse(settings: Settings) -> None:
    """Raise a SettingsError for settings that make families, which a stream cannot know before their last event."""
    where, _, word = cause(settings).partition(": ")
    if where:
        raise SettingsError(
            f"{word!r} is not possible in a stream, as runs are one only together",
            where=where,
            now="use emit, with a ledger where events keep coming, or spark batch",
        )


class Links:
    """Tells which other runs an event's run is one with, or needs to know the names of."""

    def __init__(self, options: Options, zone: tzinfo) -> None:
        self._walk = Walk(options)
        self._zone = zone
        self._joins = options.settings.identity.mode == "join"

    def of(self, record: Record) -> Iterator[str]:
        """Yield the URNs of the other runs."""
        try:
            event = parse(record.raw, record.place, self._zone)
        except EventError:
            return
        if event.kind != "run":
            return
        state = self._walk.event(event, {})
        if state is not None:
            yield from {urn for urn in self._named(state) if urn != record.key}

    def _named(self, state: RunState) -> Iterator[str]:
        slots = state.cells.get(state.urn, {})
        yield state.urn
        yield from slots.get(RUN_ALIAS, ())
        parent = value(slots, PARENT)
        folds = FOLDED in slots or any(job.placeholder for job, _ in state.jobs.values())  # another event may name it
        if parent is not None and (self._joins or folds):
            yield parent[0]
        if self._joins:  # the tool's id of a run that others know by OpenLineage's
            yield from slots.get(UPSTREAM_RUN, ())


def families(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return run -> its family, the smallest URN in it, for all runs that links (one, other) name."""
    above: dict[str, str] = {}

    def family(run: str) -> str:
        above.setdefault(run, run)
        while above[run] != run:
            above[run] = above[above[run]]  # each look makes the way shorter
            run = above[run]
        return run

    for link in links:
        one, other = sorted(map(family, link))
        above[other] = one
    return {run: family(run) for run in above}
