"""Moves: which entities get another URN when the settings change, as far as a sample of events shows.

Both settings name everything that an event names; what differs moves. A plan sorts the moves by what
``datahub migrate urns-mapping`` can do with them: it takes each URN once on each side, and carries tags, owners and
documentation along.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from dh_bridge.translation.extract import Walk
from dh_bridge.translation.facts import CHECKS, DATASET, JOB, STUB_JOB, STUB_RUN
from dh_bridge.translation.identity.hints import facet
from dh_bridge.translation.naming.datasets import dataset_name, datasets_of
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.fold import Cells

MERGE, SPLIT, CYCLE = "many-to-one", "one-to-many", "cycle"
"""Why a pair is no matter for ``datahub migrate``: a person decides."""

_RUN = "dataProcessInstance"
_TYPES = ("dataFlow", "dataJob", "dataset", "assertion", _RUN)

Pair = tuple[str, "str | None"]
"""An old URN and the new one, None where nothing writes the old one any more."""


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
        self._old = _with_parents(old)
        self._new = _with_parents(new)
        self._walks = (Walk(self._old), Walk(self._new))
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

    def _pairs(self, event: Event) -> Iterator[Pair]:
        before, after = (walk.event(event, {}) for walk in self._walks)
        if before is None:
            return
        old, new = before.cells, {} if after is None else after.cells
        if event.kind != "dataset":
            for source, target in self._jobs(event, old, new):
                yield source, target if after is not None else None
            yield from _parents(old, new)
        if event.kind == "run":
            both = [options.identity.of(event) for options in (self._old, self._new)]
            source, target = (names.run_urn(event.namespace, event.name, event.run_id) for names in both)
            if source != target:
                yield source, target
        datasets = set(self._datasets(event, old, new))
        yield from datasets
        yield from _checks(datasets, old, new)

    def _jobs(self, event: Event, written: Cells, rewritten: Cells) -> Iterator[Pair]:
        has_io = bool(event.inputs or event.outputs)
        old, new = self._old.identity.of(event), self._new.identity.of(event)
        for position, name in enumerate(_jobs_of(event)):
            was, becomes = (
                names.carrier(names.job(event.namespace, name, event.producer), event.producer) for names in (old, new)
            )
            if position:  # a task that its DAG lists: whether it is one, the walk tells
                if JOB in written.get(was.job_urn, ()):
                    yield was.job_urn, becomes.job_urn if JOB in rewritten.get(becomes.job_urn, ()) else None
                continue
            if not was.placeholder and not was.skip:
                yield was.flow_urn, None if becomes.placeholder or becomes.skip else becomes.flow_urn
            if old.has_job(was, has_io=has_io):
                yield was.job_urn, becomes.job_urn if new.has_job(becomes, has_io=has_io) else None

    def _datasets(self, event: Event, old: Cells, new: Cells) -> Iterator[Pair]:
        """Yield the datasets that the event lists, and those that only a facet mentions."""
        mentioned = {urn: slots[DATASET][""][1] for urn, slots in old.items() if DATASET in slots}
        written = {urn for urn, slots in new.items() if DATASET in slots}
        pairs = {
            (dataset_name(dataset, self._old.naming).endpoint, dataset_name(dataset, self._new.naming).endpoint)
            for dataset in datasets_of(event, self._new.naming)
        }
        listed = {was for was, _ in pairs}
        pairs |= {
            (urn, self._new.naming(name.namespace, name.name).endpoint)
            for urn, name in mentioned.items()
            if urn not in listed
        }
        for was, becomes in pairs:
            if was in mentioned:
                yield was, becomes if becomes in written else None


def _with_parents(options: Options) -> Options:
    """Return the options of a home that keeps states: it writes parents that only their children name.

    What ``compat`` names was written by DataHub's endpoint, which does not.
    """
    found = Options(options.settings, stateful=True)
    found.stubs = found.stubs and options.settings.identity.mode != "compat"
    return found


def _parents(old: Cells, new: Cells) -> Iterator[Pair]:
    """Yield the parent's flow and job, and its run if that moves."""
    was, becomes = (
        {kind_of(urn): urn for urn, slots in cells.items() if STUB_JOB in slots or STUB_RUN in slots}
        for cells in (old, new)
    )
    for kind, source in was.items():
        target = becomes.get(kind)
        if kind != _RUN or target not in (None, source):
            yield source, target


def _checks(datasets: Iterable[Pair], old: Cells, new: Cells) -> Iterator[Pair]:
    """Yield the assertions of each pair of datasets: the same checks, in the order of the event."""
    for was, becomes in datasets:
        asked, told = (_by_check(cells.get(urn or "", {})) for cells, urn in ((old, was), (new, becomes)))
        for check, sources in asked.items():
            targets = told.get(check, [])
            yield from zip_longest(sources, targets[: len(sources)])


def _by_check(slots: Mapping[Slot, Mapping[Any, Any]]) -> dict[str, list[str]]:
    """Return check -> its assertions: several where nothing tells them apart."""
    found: dict[str, list[str]] = {}
    for urn, (_, stated) in slots.get(CHECKS, {}).items():
        found.setdefault(repr(replace(stated.check, others=())), []).append(urn)
    return found


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
