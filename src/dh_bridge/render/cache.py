"""Shared entities, rendered, checked and serialised once for each set of facts.

Flows, jobs and tables are the same run after run, and more than half of the proposals of a small event.

A renderer gets only the facts that its key was made of, and of their versions only the order: a cached result cannot depend on
anything else. Facts whose times are written are rendered without the cache (``apart``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import CachedProposal, Proposal
from dh_bridge.datahub.search_texts import MAX_TERM_BYTES, cut_long_texts
from dh_bridge.model.facts import (
    FLOW_JOB,
    IMPLIED_PARENT_JOB,
    JOB,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    OWNER,
    SQL_TEXT,
    SUBTYPES,
    TAG,
)
from dh_bridge.model.fold import merge_elements, value
from dh_bridge.redaction import current_mode
from dh_bridge.render.datasets import LINEAGE_KINDS, dataset_proposals
from dh_bridge.render.jobs import (
    IO_KINDS,
    flow_of,
    flow_proposals,
    io_proposal,
    job_of,
    job_proposals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.fold import FactsByEntity, Registers
    from dh_bridge.model.job import Job
    from dh_bridge.model.merge import Versioned
    from dh_bridge.options import Options

#: The flow does not depend on which of its jobs stated the fact.
_JOB_KINDS = frozenset({JOB, IMPLIED_PARENT_JOB})
#: Facts of a flow-level job about itself: they are written on the flow and on the flow job.
_FLOW_JOB_KINDS = (JOB_FIELD, JOB_PROPERTIES, OWNER, TAG, SQL_TEXT, JOB_EDGE)
#: The objects of a proposal take about six times its JSON, and two kilobytes beside its value.
_SIZE_FACTOR, _OVERHEAD_BYTES = 6, 2048
#: Types of values that are compared; any other value (a job, a name, a schema) is an object that is cached, too.
_COMPARABLE_TYPES = frozenset({str, int, bool, tuple, type(None)})


def render_flow(urn: str, registers: Registers, options: Options) -> Sequence[Proposal]:
    """Return the aspects of a dataFlow: the same for all of its jobs."""
    job = job_of(registers)
    if job is None:
        return []
    flow = flow_of(job)
    return _render_cached(
        (urn, flow), registers, _JOB_KINDS, options, lambda facts: flow_proposals(urn, facts, options, flow)
    )


def render_job(urn: str, registers: Registers, shared: FactsByEntity, options: Options) -> Sequence[Proposal]:
    """Return the aspects of a dataJob: its definition from the cache, and its inputs and outputs, which have times of runs."""
    job = job_of(registers)
    if job is not None and (job.level == "flow" or job.job_id == job.flow_id):
        registers = _add_flow_facts(urn, job, registers, shared.get(job.flow_urn, {}))
    io = io_proposal(urn, registers, options, job)
    if job is None:  # lineage of another job names it: its edges are known, its definition is not
        return [] if io is None else [io]
    proposals = _render_cached(
        (urn,), registers, IO_KINDS, options, lambda facts: job_proposals(urn, facts, options, job)
    )
    return proposals if io is None else [proposals[0], io, *proposals[1:]]


def _add_flow_facts(urn: str, job: Job, registers: Registers, flow_registers: Registers) -> Registers:
    """Return the registers of a job; a flow job also has the facts of its flow.

    The template of runs and the lineage point at the flow job, so it shows what the flow shows. The latest fact wins.
    """
    flow_job: Job | None = value(flow_registers, FLOW_JOB)
    if job.level != "flow" and (flow_job is None or flow_job.job_urn != urn):
        return registers
    job_registers = {**registers, SUBTYPES: flow_registers.get(SUBTYPES) or registers.get(SUBTYPES, {})}
    for fact_kind in _FLOW_JOB_KINDS:
        if fact_kind in flow_registers:
            elements = dict(registers.get(fact_kind, {}))
            merge_elements(elements, fact_kind, flow_registers[fact_kind])
            job_registers[fact_kind] = elements
    return job_registers


def render_dataset(urn: str, registers: Registers, options: Options, *, is_written: bool) -> Sequence[Proposal]:
    """Return the aspects of a dataset; one with lineage of its own, which has times, is rendered without the cache."""
    if not LINEAGE_KINDS.isdisjoint(registers):
        return list(dataset_proposals(urn, registers, options, is_written=is_written))
    return _render_cached(
        (urn, is_written),
        registers,
        LINEAGE_KINDS,
        options,
        lambda facts: dataset_proposals(urn, facts, options, is_written=is_written),
    )


def _render_cached(
    identity: tuple[Hashable, ...],
    registers: Registers,
    excluded: frozenset[FactKind],
    options: Options,
    render: Callable[[Registers], Iterable[Proposal]],
) -> Sequence[Proposal]:
    """Return what ``render`` makes of the shared facts that are not ``excluded``, and of ``identity``, which names the entity."""
    cache = options.render_cache
    if not cache.is_repeated(identity):  # what has not been named before is not known, nor worth a key
        return list(
            render(
                {
                    fact_kind: content
                    for fact_kind, content in registers.items()
                    if fact_kind.shared and fact_kind not in excluded
                }
            )
        )
    facts: Registers = {}
    key: list[Hashable] = [*identity, current_mode()]
    object_refs: list[Any] = []
    for fact_kind, elements in registers.items():
        if not fact_kind.shared or fact_kind in excluded:
            continue
        facts[fact_kind] = elements
        for name, (_, content) in (
            elements.items() if len(elements) == 1 else sorted(elements.items(), key=_version_and_key)
        ):
            value_type = type(content)
            if value_type is dict:
                key += (fact_kind, name, *content.items())
            elif value_type in _COMPARABLE_TYPES:
                key += (fact_kind, name, content)
            else:
                object_refs.append(content)
                key += (fact_kind, name, id(content))
    cache_key = tuple(key)
    try:
        cached = cache.get(cache_key)
    except TypeError:  # a fact that cannot be compared
        return list(render(facts))
    if cached is not None:
        return cached
    if not cache.is_repeated(cache_key):
        return list(render(facts))
    proposals = tuple([_to_remembered(proposal, options) for proposal in render(facts)])
    cache.store(
        cache_key,
        proposals,
        sum([_SIZE_FACTOR * len(proposal.line) + _OVERHEAD_BYTES for proposal in proposals], _OVERHEAD_BYTES),
        object_refs,
    )
    return proposals


def _to_remembered(proposal: Proposal, options: Options) -> CachedProposal:
    """Return a proposal to be remembered: a long text is cut once, not each time."""
    remembered = CachedProposal.of(proposal)
    if len(remembered.line) <= MAX_TERM_BYTES:
        return remembered
    shorter = cut_long_texts(remembered, options.profile.name)
    return shorter if type(shorter) is CachedProposal else remembered


def _version_and_key(element: tuple[Any, Versioned]) -> tuple[Any, ...]:
    return element[1][0], element[0]
