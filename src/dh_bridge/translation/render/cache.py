"""The entities that runs share, rendered, checked and serialised once for each set of facts.

Flows, jobs and tables are the same run after run, and more than half of what a small event writes.

A renderer gets the facts that its key was made of and no others, and of their stamps only the order counts: what is
remembered can depend on nothing that the key lacks. Facts whose times are written are left to others (``apart``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, Remembered
from dh_bridge.datahub.search_texts import MAX_TERM_BYTES, shortened
from dh_bridge.redaction import mode
from dh_bridge.translation.facts import JOB, JOB_EDGE, OWN_JOB, STUB_JOB, SUBTYPES
from dh_bridge.translation.fold import value
from dh_bridge.translation.render.datasets import LINEAGE, dataset_proposals
from dh_bridge.translation.render.jobs import (
    IO,
    flow_of,
    flow_proposals,
    io_proposal,
    job_of,
    job_proposals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.fold import Cells, Slots
    from dh_bridge.translation.identity.job import Job
    from dh_bridge.translation.merge import Cell
    from dh_bridge.translation.options import Options

#: Which of a flow's jobs it was says nothing of the flow.
_JOBS = frozenset({JOB, STUB_JOB})
#: The objects of a proposal take about six times its JSON, and two kilobytes beside its value.
_OBJECTS, _EACH = 6, 2048
#: Types of values that are compared; what else a slot holds (a job, a name, a schema) is an object that is remembered too.
_PLAIN = frozenset({str, int, bool, tuple, type(None)})


def of_flow(urn: str, slots: Slots, options: Options) -> Sequence[Proposal]:
    """Return the aspects of a dataFlow: the same for all of its jobs."""
    job = job_of(slots)
    if job is None:
        return []
    flow = flow_of(job)
    return _rendered((urn, flow), slots, _JOBS, options, lambda facts: flow_proposals(urn, facts, options, flow))


def of_job(urn: str, slots: Slots, shared: Cells, options: Options) -> Sequence[Proposal]:
    """Return the aspects of a dataJob: what it is, remembered, and what it reads and writes, whose times are the run's."""
    job = job_of(slots)
    if job is not None and (job.level == "flow" or job.job_id == job.flow_id):
        slots = _with_flow(urn, job, slots, shared.get(job.flow_urn, {}))
    io = io_proposal(urn, slots, options, job)
    if job is None:  # another job's lineage names it as a target: its edges are known, its own words are not
        return [] if io is None else [io]
    found = _rendered((urn,), slots, IO, options, lambda facts: job_proposals(urn, facts, options, job))
    return found if io is None else [found[0], io, *found[1:]]


def _with_flow(urn: str, job: Job, slots: Slots, flow: Slots) -> Slots:
    """Return the cells of a job that may be its flow's twin: what any event said of the flow as this job, the twin has, too."""
    own: Job | None = value(flow, OWN_JOB)
    if job.level != "flow" and (own is None or own.job_urn != urn):
        return slots
    subtypes = flow.get(SUBTYPES) or slots.get(SUBTYPES, {})
    return {**slots, SUBTYPES: subtypes, JOB_EDGE: {**flow.get(JOB_EDGE, {}), **slots.get(JOB_EDGE, {})}}


def of_dataset(urn: str, slots: Slots, options: Options, *, written: bool) -> Sequence[Proposal]:
    """Return the aspects of a dataset; one with lineage of its own, which has times, is rendered anew."""
    if not LINEAGE.isdisjoint(slots):
        return list(dataset_proposals(urn, slots, options, written=written))
    return _rendered(
        (urn, written), slots, LINEAGE, options, lambda facts: dataset_proposals(urn, facts, options, written=written)
    )


def _rendered(
    about: tuple[Hashable, ...],
    slots: Slots,
    apart: frozenset[Slot],
    options: Options,
    render: Callable[[Slots], Iterable[Proposal]],
) -> Sequence[Proposal]:
    """Return what ``render`` makes of the shared facts that are not ``apart``, and of ``about``, which names the entity."""
    memory = options.memory
    if not memory.again(about):  # what has not been named before is not known, nor worth a key
        return list(render({slot: said for slot, said in slots.items() if slot.shared and slot not in apart}))
    facts: Slots = {}
    key: list[Hashable] = [*about, mode()]
    held: list[Any] = []
    for slot, elements in slots.items():
        if not slot.shared or slot in apart:
            continue
        facts[slot] = elements
        for name, (_, said) in elements.items() if len(elements) == 1 else sorted(elements.items(), key=_by_stamp):
            kind = type(said)
            if kind is dict:
                key += (slot, name, *said.items())
            elif kind in _PLAIN:
                key += (slot, name, said)
            else:
                held.append(said)
                key += (slot, name, id(said))
    whole = tuple(key)
    try:
        known = memory.get(whole)
    except TypeError:  # a fact that cannot be compared
        return list(render(facts))
    if known is not None:
        return known
    if not memory.again(whole):
        return list(render(facts))
    made = tuple([_remembered(one, options) for one in render(facts)])
    memory.keep(whole, made, sum([_OBJECTS * len(one.line) + _EACH for one in made], _EACH), held)
    return made


def _remembered(proposal: Proposal, options: Options) -> Remembered:
    """Return a proposal to be remembered: a long text is cut once, not each time."""
    whole = Remembered.of(proposal)
    if len(whole.line) <= MAX_TERM_BYTES:
        return whole
    shorter = shortened(whole, options.profile.name)
    return shorter if type(shorter) is Remembered else whole


def _by_stamp(element: tuple[Any, Cell]) -> tuple[Any, ...]:
    return element[1][0], element[0]
