"""The order of proposals: jobs and datasets, then what refers to them, then runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.contributions import outputs_of
from dh_bridge.model.facts import COLUMN_TAG, CONTAINER, IS_WRITTEN, TAG
from dh_bridge.model.fold import value
from dh_bridge.render import cache
from dh_bridge.render.assertions import assertion_proposals, result_proposals
from dh_bridge.render.containers import container_proposals
from dh_bridge.render.eventless_tasks import eventless_run_proposals
from dh_bridge.render.operations import operation_proposals
from dh_bridge.render.queries import query_proposals
from dh_bridge.render.runs import implied_parent_proposals, run_proposals
from dh_bridge.render.shared import tag_key_proposal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_PREFIX_LENGTH = len("urn:li:")


def render_proposals(
    states: list[RunState], histories: list[History], shared: FactsByEntity, options: Options
) -> Iterator[Proposal]:
    """Yield the proposals of runs and of shared entities in order: templates first, then datasets, runs, checks."""
    written_urns = _written_urns(states, shared)
    urns = _urns_by_type(shared)
    yield from _tag_proposals(shared)
    for urn in urns.get("dataFlow", ()):
        yield from cache.render_flow(urn, shared[urn], options)
    for urn in urns.get("dataJob", ()):
        yield from cache.render_job(urn, shared[urn], shared, options)
    if "containers" in options.settings.optional_metadata:
        yield from _container_proposals(urns.get("container", ()), shared, options)
    for urn in urns.get("dataset", ()):
        yield from cache.render_dataset(urn, shared[urn], options, is_written=urn in written_urns)
    if options.has_queries:
        for urn in urns.get("query", ()):
            yield from query_proposals(urn, shared[urn], options)
    for urn in urns.get("assertion", ()):
        yield from assertion_proposals(urn, shared[urn], shared, options)
    for urn in urns.get("dataProcessInstance", ()):
        yield from implied_parent_proposals(urn, shared[urn], shared, options)
        yield from eventless_run_proposals(urn, shared[urn], options)
    for state, history in zip(states, histories, strict=True):
        if state.urn:
            yield from run_proposals(state, history, options)
        yield from operation_proposals(state, history, options)
        yield from result_proposals(state, history, options)


def _written_urns(states: list[RunState], shared: FactsByEntity) -> set[str]:
    urns = {urn for urn, registers in shared.items() if IS_WRITTEN in registers}
    return urns.union(*map(outputs_of, states))


def _urns_by_type(shared: FactsByEntity) -> dict[str, list[str]]:
    """Return the URNs by entity type, sorted; what represents jobs that are not written (``?task``) has no type."""
    urns: dict[str, list[str]] = {}
    for urn in sorted(shared):
        entity_type = urn[_PREFIX_LENGTH : urn.find(":", _PREFIX_LENGTH)]
        if (urns_of_type := urns.get(entity_type)) is None:
            urns[entity_type] = [urn]
        else:
            urns_of_type.append(urn)
    return urns


def _container_proposals(urns: Collection[str], shared: FactsByEntity, options: Options) -> Iterator[Proposal]:
    for urn in sorted(
        urns, key=lambda container_urn: (len(value(shared[container_urn], CONTAINER).parent_urns), container_urn)
    ):
        yield from container_proposals(urn, shared[urn], options)


def _tag_proposals(shared: FactsByEntity) -> Iterator[Proposal]:
    names: set[str] = set()
    for urn in [urn for urn, registers in shared.items() if TAG in registers or COLUMN_TAG in registers]:
        if urn.startswith("?"):  # represents jobs that are not written, so it has no tags
            continue
        names.update(shared[urn].get(TAG, ()))
        names.update(name for _, name in shared[urn].get(COLUMN_TAG, ()))
    for name in sorted(names - {""}):  # a tombstone has none; a tag that was withdrawn stays for others
        yield tag_key_proposal(name)
