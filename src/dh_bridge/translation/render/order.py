"""The order of proposals: jobs and datasets, then what refers to them, then runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import COLUMN_TAG, CONTAINER, TAG, WRITTEN
from dh_bridge.translation.fold import value
from dh_bridge.translation.render import cache
from dh_bridge.translation.render.assertions import assertion_proposals, result_proposals
from dh_bridge.translation.render.containers import container_proposals
from dh_bridge.translation.render.eventless_tasks import silent_proposals
from dh_bridge.translation.render.operations import operation_proposals
from dh_bridge.translation.render.queries import query_proposals
from dh_bridge.translation.render.runs import run_proposals, stub_proposals
from dh_bridge.translation.render.shared import tag_key
from dh_bridge.translation.runs.contributions import outputs_of
from dh_bridge.translation.runs.other_runs import RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState


def proposals(states: list[RunState], histories: list[History], shared: Cells, options: Options) -> Iterator[Proposal]:
    """Yield the proposals of runs and of what they share: templates first, then datasets, runs, checks."""
    written = _written(states, shared)
    named = sorted(shared)
    yield from _tags(shared)
    for urn in named:
        if urn.startswith("urn:li:dataFlow:"):
            yield from cache.of_flow(urn, shared[urn], options)
    for urn in named:
        if urn.startswith("urn:li:dataJob:"):
            yield from cache.of_job(urn, shared[urn], shared, options)
    if options.settings.containers == "on":
        yield from _containers(named, shared, options)
    for urn in named:
        if urn.startswith("urn:li:dataset:"):
            yield from cache.of_dataset(urn, shared[urn], options, written=urn in written)
    if options.queries:
        yield from _queries(named, shared, options)
    for urn in named:
        if urn.startswith("urn:li:assertion:"):
            yield from assertion_proposals(urn, shared[urn], shared, options)
    yield from _stubs(named, shared, options)
    for state, found in zip(states, histories, strict=True):
        if state.urn:
            yield from run_proposals(state, found, options)
        yield from operation_proposals(state, found, options)
        yield from result_proposals(state, found, options)


def _written(states: list[RunState], shared: Cells) -> set[str]:
    found = {urn for urn, slots in shared.items() if WRITTEN in slots}
    return found.union(*map(outputs_of, states))


def _containers(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    found = [urn for urn in named if urn.startswith("urn:li:container:")]
    for urn in sorted(found, key=lambda one: (len(value(shared[one], CONTAINER).above), one)):
        yield from container_proposals(urn, shared[urn], options)


def _queries(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    for urn in named:
        if urn.startswith("urn:li:query:"):
            yield from query_proposals(urn, shared[urn], options)


def _stubs(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    for urn in named:
        if urn.startswith(RUN):
            yield from stub_proposals(urn, shared[urn], options)
            yield from silent_proposals(urn, shared[urn], options)


def _tags(shared: Cells) -> Iterator[Proposal]:
    names: set[str] = set()
    for urn, slots in shared.items():
        if urn.startswith("?"):  # stands for jobs that are not written: nobody bears its tags
            continue
        if TAG in slots:
            names.update(slots[TAG])
        if COLUMN_TAG in slots:
            names.update(name for _, name in slots[COLUMN_TAG])
    for name in sorted(names - {""}):  # a tombstone has none; a tag that was withdrawn stays for others
        yield tag_key(name)
