"""Times without a zone: they are read in the offset of the run's other events, in whatever order the events come.

A state keeps such an event under the time that it has in UTC. When the run closes, and another event of it states a zone, the event
moves: to the last offset that an event of the run states, and from there by whole hours if the run would otherwise end before it
started. So a FAIL of 05:00:30 belongs to a START of 10:00:00+00:00: the clock of its sender is five hours behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.facts import EVENT_OFFSET, IMPLIED_PARENT_RUN, INPUT, OUTPUT, ZONELESS_EVENT
from dh_bridge.model.fold import add_facts, value
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    from dh_bridge.model.facts import Fact
    from dh_bridge.model.merge import Version
    from dh_bridge.model.run_state import RunState
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options

ZONE_OF_RUN = "zone-of-run"
"""The note of a time that was read in the offset of other events."""
_MINUTE = 60_000_000
_HOUR = 60 * _MINUTE
_MAX_HOURS = 14
"""No zone is further from UTC."""
#: Facts whose value is a time of the event.
_TIME_KINDS = (INPUT, OUTPUT, IMPLIED_PARENT_RUN)


def add_zone_facts(event: Event, version: Version, state: RunState) -> None:
    """Note that the time of an event states no zone, or another offset than 0."""
    fact: Fact = (
        (state.urn, ZONELESS_EVENT, version[2].value.hex(), None)
        if event.offset_minutes is None
        else (state.urn, EVENT_OFFSET, "", event.offset_minutes)
    )
    add_facts(state.facts, (fact,), version)


def read_in_offset(state: RunState) -> None:
    """Move, in place, the events of a run without a zone to the offset of its other events."""
    registers = state.facts.get(state.urn, {})
    zoneless = registers.get(ZONELESS_EVENT)
    if not zoneless:
        return
    versions = {version[:3] for version, _ in zoneless.values()}
    zoned = [event for event in state.events if event[0][:3] not in versions]
    if not zoned:
        return
    delta = -(value(registers, EVENT_OFFSET) or 0) * _MINUTE
    moved = [event for event in state.events if event[0][:3] in versions]
    delta += _hours_to_order(zoned, [(version[0] + delta, kind) for version, kind in moved]) * _HOUR
    state.zone_reads = len(zoneless)
    if delta:
        _move(state, versions, delta)


def hold_uncertain_events(state: RunState, options: Options) -> None:
    """Take the types from the events of a run while their times may still change; for states that outlive the call.

    DataHub cannot take a point back. The run's START or end, which its producer always sends, states the zone.
    """
    zoneless = state.facts.get(state.urn, {}).get(ZONELESS_EVENT)
    if not zoneless or state.is_single_event or state.zone_reads:
        return
    types = {event_type for _, event_type in state.events}
    is_whole = "START" in types and not TERMINAL_TYPES.isdisjoint(types)
    if not is_whole and state.producer is not None and options.identity.producer(state.producer[1]) is not None:
        state.events = [(version, None) for version, _ in state.events]


def _hours_to_order(zoned: list[tuple[Version, str | None]], moved: list[tuple[int, str | None]]) -> int:
    """Return by how many hours events move so that the run ends after its start."""
    starts = [version[0] for version, kind in zoned if kind == "START"]
    ends = [version[0] for version, kind in zoned if kind in TERMINAL_TYPES]
    first_end = min((time for time, kind in moved if kind in TERMINAL_TYPES), default=None)
    last_start = max((time for time, kind in moved if kind == "START"), default=None)
    hours = 0
    if first_end is not None and starts:
        hours = max(0, -((first_end - min(starts)) // _HOUR))
    elif last_start is not None and ends:
        hours = -max(0, -((max(ends) - last_start) // _HOUR))
    return hours if abs(hours) <= _MAX_HOURS else 0


def _move(state: RunState, versions: set[Version], delta: int) -> None:
    def moved(version: Version) -> Version:
        return (version[0] + delta, *version[1:]) if version[:3] in versions else version

    for registers in state.facts.values():
        for fact_kind, elements in registers.items():
            for key, (version, fact_value) in elements.items():
                if version[:3] in versions:
                    is_time = fact_kind in _TIME_KINDS and fact_value == version[0]
                    new_value: Any = fact_value + delta if is_time else fact_value
                    elements[key] = moved(version), new_value
    state.events = [(moved(version), kind) for version, kind in state.events]
    state.jobs = {
        urn: (job, (is_terminal, moved(version))) for urn, (job, (is_terminal, version)) in state.jobs.items()
    }
    if state.producer is not None:
        state.producer = moved(state.producer[0]), state.producer[1]
    if state.schema_url is not None:
        state.schema_url = moved(state.schema_url[0]), state.schema_url[1]
