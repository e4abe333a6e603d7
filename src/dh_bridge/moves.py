"""Moves: which entities get another URN when the settings change, as far as a sample of events shows.

Both settings name everything that an event names; what differs moves. A plan sorts the moves by what
``datahub migrate urns-mapping`` can do with them: it takes each URN once on each side, and carries tags, owners and
documentation along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.datasets import dataset_name, datasets_of
from dh_bridge.translation.identity.hints import facet
from dh_bridge.translation.slots import CHECKS
from dh_bridge.translation.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

MERGE, SPLIT, CYCLE = "many-to-one", "one-to-many", "cycle"
"""Why a pair is no matter for ``datahub migrate``: a person decides."""

_TYPES = ("dataFlow", "dataJob", "dataset", "assertion", "dataProcessInstance")


class Move(NamedTuple):
    """An entity that gets another URN; ``why`` is "" where it can move by itself."""

    source: str
    target: str
    why: str = ""

    @property
    def entity_type(self) -> str:
        """DataHub's type of the entity."""
        return kind_of(self.source)


class Plan(NamedTuple):
    """What to do: move each of ``moves`` in this order, look at ``apart``, remove ``left``, which nothing writes any more."""

    moves: list[Move]
    apart: list[Move]
    left: list[str]


class Moves:
    """Follows events under two settings; grows with the number of entities, and of runs that move."""

    def __init__(self, old: Options, new: Options) -> None:
        self._old = old
        self._new = new
        self._walks = (Walk(old), Walk(new))
        #: old URN -> new URNs; empty: nothing writes it any more
        self._targets: dict[str, set[str]] = {}

    def see(self, event: Event) -> None:
        """Note what the event's entities are called by both."""
        for source, target in self._pairs(event):
            targets = self._targets.setdefault(source, set())
            if target is not None:
                targets.add(target)

    def plan(self) -> Plan:
        """Return the moves so far, sorted by what can be done with them."""
        return planned(self._targets)

    # -- what one event names -------------------------------------------------------------------------------------------

    def _pairs(self, event: Event) -> Iterator[tuple[str, str | None]]:
        before, after = (walk.event(event, {}) for walk in self._walks)
        if before is None:
            return
        for source, target in self._named(event):
            yield source, target if after is not None else None
        old, new = _checks_of(before), _checks_of(after)
        if len(old) == len(new):  # both walks meet the assertions in one order
            yield from zip(old, new, strict=True)

    def _named(self, event: Event) -> Iterator[tuple[str, str | None]]:
        if event.kind != "dataset":
            yield from self._jobs(event)
        if event.kind == "run":
            both = [options.identity.of(event) for options in (self._old, self._new)]
            source, target = (names.run_urn(event.namespace, event.name, event.run_id) for names in both)
            if source != target:
                yield source, target
        for dataset in datasets_of(event, self._new.naming):
            was, becomes = (dataset_name(dataset, options.naming).endpoint for options in (self._old, self._new))
            if was is not None:
                yield was, becomes

    def _jobs(self, event: Event) -> Iterator[tuple[str, str | None]]:
        has_io = bool(event.inputs or event.outputs)
        old, new = self._old.identity.of(event), self._new.identity.of(event)
        for position, name in enumerate(_jobs_of(event)):
            was, becomes = (
                names.carrier(names.job(event.namespace, name, event.producer), event.producer) for names in (old, new)
            )
            own_io = has_io and position == 0
            if not was.placeholder and not was.skip:
                yield was.flow_urn, None if becomes.placeholder or becomes.skip else becomes.flow_urn
            if old.has_job(was, has_io=own_io):
                yield was.job_urn, becomes.job_urn if new.has_job(becomes, has_io=own_io) else None


def planned(targets: Mapping[str, set[str]]) -> Plan:
    """Return what to do with old URNs (the keys) that become new ones (none: nothing writes the old one any more)."""
    sources: dict[str, list[str]] = {}
    for source, others in targets.items():
        for target in others:
            sources.setdefault(target, []).append(source)
    moves: dict[str, str] = {}
    apart: list[Move] = []
    left: list[str] = []
    for source, all_targets in targets.items():
        others = all_targets - {source}
        if source not in all_targets and len(others) != 1 and source not in sources:
            left.append(source)
        if len(all_targets) > 1:
            apart += [Move(source, target, SPLIT) for target in others]
        elif others:
            (moves[source],) = others
    # Onto one that stays, or that several become, nothing moves by itself; who waits for its place stays, too.
    stay = {source for source in targets if source not in moves}
    while merged := [source for source, target in moves.items() if len(sources[target]) > 1 or target in stay]:
        for source in merged:
            apart.append(Move(source, moves.pop(source), MERGE))
            stay.add(source)
    ordered, cycles = _ordered(moves)
    apart += [Move(source, moves[source], CYCLE) for source in cycles]
    return Plan(
        sorted((Move(source, moves[source]) for source in ordered), key=lambda move: rank(move.source)),
        sorted(apart, key=lambda move: (rank(move.source), move)),
        sorted(left, key=lambda urn: (rank(urn), urn)),
    )


def kind_of(urn: str) -> str:
    """Return the entity type in a URN."""
    return urn.split(":", 3)[2]


def rank(urn: str) -> int:
    """Return the place of an entity's type in a plan: what others hang on comes first."""
    kind = kind_of(urn)
    return _TYPES.index(kind) if kind in _TYPES else len(_TYPES)


def _jobs_of(event: Event) -> Iterator[str]:
    """Yield the names of the event's job and of the tasks that a DAG's START lists."""
    yield event.name
    tasks = facet(event.job_facets, "airflow").get("tasks")
    for task in tasks if isinstance(tasks, dict) else ():
        yield f"{event.name}.{task}"


def _checks_of(state: RunState | None) -> list[str]:
    if state is None:
        return []
    return [urn for slots in state.cells.values() for urn in slots.get(CHECKS, ())]


def _ordered(moves: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the sources so that each target is free before something moves there, and those that go in circles.

    Each target has one source, so that chains and circles do not branch.
    """
    ends = sorted(source for source, target in moves.items() if target not in moves)
    before = {target: source for source, target in moves.items()}
    ordered: list[str] = []
    for end in ends:
        source: str | None = end
        while source is not None:
            ordered.append(source)
            source = before.get(source)
    return ordered, sorted(moves.keys() - set(ordered))


def by_type(urns: Iterable[str]) -> dict[str, int]:
    """Return how many URNs there are of each entity type."""
    found: dict[str, int] = {}
    for urn in urns:
        found[kind_of(urn)] = found.get(kind_of(urn), 0) + 1
    return found
