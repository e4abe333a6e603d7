"""Finds the entities of a sample of events that get another URN when the settings change.

The names of each event are translated with both settings and compared. A plan sorts the moves for ``datahub migrate urns-mapping``,
which accepts each URN once on each side, and copies tags, owners and documentation.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from dh_bridge.extract import FactExtractor
from dh_bridge.identity.hints import decode_facet
from dh_bridge.model.facts import CHECKS, DATASET, IMPLIED_PARENT_JOB, IMPLIED_PARENT_RUN, JOB
from dh_bridge.naming.datasets import dataset_name, datasets_of
from dh_bridge.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.openlineage.events import Event

MERGE, SPLIT, CYCLE = "many-to-one", "one-to-many", "cycle"
"""Why ``datahub migrate`` cannot handle a pair: a person decides."""

_RUN = "dataProcessInstance"
_TYPES = ("dataFlow", "dataJob", "dataset", "assertion", _RUN)

Pair = tuple[str, "str | None"]
"""An old URN and the new one, None where nothing writes the old one any more."""


class Move(NamedTuple):
    """An entity that gets another URN; ``reason`` is "" if ``datahub migrate`` can move it."""

    source: str
    target: str
    reason: str = ""

    @property
    def entity_type(self) -> str:
        """DataHub's type of the entity."""
        return kind_of(self.source)


class MovePlan(NamedTuple):
    """What to do: move each of ``moves`` in this order, decide about ``manual_moves``, remove ``unwritten_urns``."""

    moves: list[Move]
    manual_moves: list[Move]
    unwritten_urns: list[str]


class IdentityDiff:
    """Follows events under two settings; grows with the number of entities, and of runs that move."""

    def __init__(self, old: Options, new: Options) -> None:
        self._old = _with_parents(old)
        self._new = _with_parents(new)
        self._extractors = (FactExtractor(self._old), FactExtractor(self._new))
        #: old URN -> new URNs; empty: nothing writes it any more
        self._targets: dict[str, set[str]] = {}

    def see(self, event: Event) -> None:
        """Compare the URNs of the event's entities."""
        for source, target in self._pairs(event):
            targets = self._targets.setdefault(source, set())
            if target is not None:
                targets.add(target)

    def plan(self) -> MovePlan:
        """Return the moves so far, sorted by what can be done with them."""
        return plan_moves(self._targets)

    # -- what one event names -------------------------------------------------------------------------------------------

    def _pairs(self, event: Event) -> Iterator[Pair]:
        before, after = (extractor.extract(event, {}) for extractor in self._extractors)
        if before is None:
            return
        old, new = before.facts, {} if after is None else after.facts
        if event.kind != "dataset":
            for source, target in self._jobs(event, old, new):
                yield source, target if after is not None else None
            yield from _parents(old, new)
        if event.kind == "run":
            identities = [options.identity.for_event(event) for options in (self._old, self._new)]
            source, target = (identity.run_urn(event.namespace, event.name, event.run_id) for identity in identities)
            if source != target:
                yield source, target
        datasets = set(self._datasets(event, old, new))
        yield from datasets
        yield from _checks(datasets, old, new)

    def _jobs(self, event: Event, old_facts: FactsByEntity, new_facts: FactsByEntity) -> Iterator[Pair]:
        has_io = bool(event.inputs or event.outputs)
        old, new = self._old.identity.for_event(event), self._new.identity.for_event(event)
        for position, name in enumerate(_jobs_of(event)):
            sender = self._old.identity.sender_of(event)
            old_job, new_job = (
                identity.carrier(identity.job(event.namespace, name, sender), sender) for identity in (old, new)
            )
            if position:  # a task that its DAG lists: the extractor decides whether it is one
                if JOB in old_facts.get(old_job.job_urn, ()):
                    yield old_job.job_urn, new_job.job_urn if JOB in new_facts.get(new_job.job_urn, ()) else None
                continue
            if not old_job.placeholder and not old_job.skip:
                yield old_job.flow_urn, None if new_job.placeholder or new_job.skip else new_job.flow_urn
            if old.has_job(old_job, has_io=has_io):
                yield old_job.job_urn, new_job.job_urn if new.has_job(new_job, has_io=has_io) else None

    def _datasets(self, event: Event, old: FactsByEntity, new: FactsByEntity) -> Iterator[Pair]:
        """Yield the datasets that the event lists, and those that only a facet mentions."""
        mentioned = {urn: kinds[DATASET][""][1] for urn, kinds in old.items() if DATASET in kinds}
        written_urns = {urn for urn, kinds in new.items() if DATASET in kinds}
        pairs = {
            (dataset_name(dataset, self._old.naming).endpoint, dataset_name(dataset, self._new.naming).endpoint)
            for dataset in datasets_of(event, self._new.naming)
        }
        listed_urns = {old_urn for old_urn, _ in pairs}
        pairs |= {
            (urn, self._new.naming(name.namespace, name.name).endpoint)
            for urn, name in mentioned.items()
            if urn not in listed_urns
        }
        for old_urn, new_urn in pairs:
            if old_urn in mentioned:
                yield old_urn, new_urn if new_urn in written_urns else None


def _with_parents(options: Options) -> Options:
    """Return options with implied parents, as for a ledger.

    The mode ``datahub-openlineage`` has none: it stands for DataHub's endpoint, which does not write them.
    """
    options_with_parents = Options(options.settings, is_stateful=True)
    options_with_parents.has_implied_parents = (
        options_with_parents.has_implied_parents and "datahub-openlineage" not in options.settings.identity.mode
    )
    return options_with_parents


def _parents(old: FactsByEntity, new: FactsByEntity) -> Iterator[Pair]:
    """Yield the parent's flow and job, and its run if that moves."""
    old_urns, new_urns = (
        {
            kind_of(urn): urn
            for urn, kinds in facts.items()
            if IMPLIED_PARENT_JOB in kinds or IMPLIED_PARENT_RUN in kinds
        }
        for facts in (old, new)
    )
    for kind, source in old_urns.items():
        target = new_urns.get(kind)
        if kind != _RUN or target not in (None, source):
            yield source, target


def _checks(datasets: Iterable[Pair], old: FactsByEntity, new: FactsByEntity) -> Iterator[Pair]:
    """Yield the assertions of each pair of datasets: the same checks, in the order of the event."""
    for old_urn, new_urn in datasets:
        old_checks, new_checks = (
            _urns_by_check(facts.get(urn or "", {})) for facts, urn in ((old, old_urn), (new, new_urn))
        )
        for check, sources in old_checks.items():
            targets = new_checks.get(check, [])
            yield from zip_longest(sources, targets[: len(sources)])


def _urns_by_check(kinds: Mapping[FactKind, Mapping[Any, Any]]) -> dict[str, list[str]]:
    """Return check -> its assertions: several if they cannot be distinguished."""
    urns_by_check: dict[str, list[str]] = {}
    for urn, (_, check_fact) in kinds.get(CHECKS, {}).items():
        urns_by_check.setdefault(repr(replace(check_fact.check, other_datasets=())), []).append(urn)
    return urns_by_check


def plan_moves(targets: Mapping[str, set[str]]) -> MovePlan:
    """Return what to do with old URNs (the keys) that become new ones (none: nothing writes the old one any more)."""
    sources: dict[str, list[str]] = {}
    for source, new_urns in targets.items():
        for target in new_urns:
            sources.setdefault(target, []).append(source)
    moves: dict[str, str] = {}
    manual_moves: list[Move] = []
    unwritten_urns: list[str] = []
    for source, all_targets in targets.items():
        new_urns = all_targets - {source}
        if source not in all_targets and len(new_urns) != 1 and source not in sources:
            unwritten_urns.append(source)
        if len(all_targets) > 1:
            manual_moves += [Move(source, target, SPLIT) for target in new_urns]
        elif new_urns:
            (moves[source],) = new_urns
    # No automatic move to a URN that stays in use, or that several become; entities that wait for such a URN stay, too.
    fixed_urns = {source for source in targets if source not in moves}
    while merged_urns := [
        source for source, target in moves.items() if len(sources[target]) > 1 or target in fixed_urns
    ]:
        for source in merged_urns:
            manual_moves.append(Move(source, moves.pop(source), MERGE))
            fixed_urns.add(source)
    ordered, cycles = _order_moves(moves)
    manual_moves += [Move(source, moves[source], CYCLE) for source in cycles]
    return MovePlan(
        sorted((Move(source, moves[source]) for source in ordered), key=lambda move: rank(move.source)),
        sorted(manual_moves, key=lambda move: (rank(move.source), move)),
        sorted(unwritten_urns, key=lambda urn: (rank(urn), urn)),
    )


def kind_of(urn: str) -> str:
    """Return the entity type in a URN."""
    return urn.split(":", 3)[2]


def rank(urn: str) -> int:
    """Return the position of an entity's type in a plan: types that others depend on come first."""
    kind = kind_of(urn)
    return _TYPES.index(kind) if kind in _TYPES else len(_TYPES)


def _jobs_of(event: Event) -> Iterator[str]:
    """Yield the names of the event's job and of the tasks that a DAG's START lists."""
    yield event.name
    tasks = decode_facet(event.job_facets, "airflow").get("tasks")
    for task in tasks if isinstance(tasks, dict) else ():
        yield f"{event.name}.{task}"


def _order_moves(moves: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the sources so that each target is free before something moves there, and those in cycles.

    Each target has one source, so that chains and circles do not branch.
    """
    chain_ends = sorted(source for source, target in moves.items() if target not in moves)
    predecessors = {target: source for source, target in moves.items()}
    ordered: list[str] = []
    for chain_end in chain_ends:
        source: str | None = chain_end
        while source is not None:
            ordered.append(source)
            source = predecessors.get(source)
    return ordered, sorted(moves.keys() - set(ordered))


def count_by_type(urns: Iterable[str]) -> dict[str, int]:
    """Return how many URNs there are of each entity type."""
    counts: dict[str, int] = {}
    for urn in urns:
        counts[kind_of(urn)] = counts.get(kind_of(urn), 0) + 1
    return counts
