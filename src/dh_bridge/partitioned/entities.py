"""Stage two: pieces of what many runs share, folded by entity, into proposals.

A *piece* is ``(group, urn, slots)``: what some runs contribute to one entity. Entities whose aspects look at each other are
of one group: a flow and the job that is its twin, a dataset and its checks. The other jobs of a flow stand alone, so
that a flow of a million jobs is no group of a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.closing import RejectedProposal, render_runs, valid_proposals
from dh_bridge.datahub.urns import tag_urn
from dh_bridge.model.facts import ASSERTION, COLUMN_TAG, TAG
from dh_bridge.model.fold import FactsByEntity, merge_facts, value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.redaction import redaction_mode
from dh_bridge.session import PLATFORM, PLATFORM_FLOWS, Counts, count_entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.fold import Registers
    from dh_bridge.options import Options

Piece = tuple[str, str, "Registers"]

_JOB_URN_PREFIX = "urn:li:dataJob:("


def iter_pieces(shared: FactsByEntity) -> Iterator[Piece]:
    """Yield what is shared entity by entity, and the tags and the platform that it needs, each a group of its own."""
    tags: set[str] = set()
    needs_platform = False
    for urn, registers in shared.items():
        if not registers or urn.startswith("?"):  # of placeholders that no named event gave a job
            continue
        tags.update(registers.get(TAG, ()))
        tags.update(name for _, name in registers.get(COLUMN_TAG, ()))
        needs_platform = needs_platform or urn.startswith(PLATFORM_FLOWS)
        yield group_of(urn, registers), urn, registers
    for name in tags - {""}:
        yield tag_urn(name), tag_urn(name), {TAG: {name: (MIN_VERSION, None)}}
    if needs_platform:
        yield PLATFORM.entity_urn, PLATFORM.entity_urn, {}


def group_of(urn: str, registers: Registers) -> str:
    """Return the group of an entity: the flow of a job that may be its twin, a check's dataset, else the entity itself."""
    if urn.startswith(_JOB_URN_PREFIX):
        flow, _, job = urn[len(_JOB_URN_PREFIX) : -1].rpartition("),")
        return f"{flow})" if _may_be_flow_job(flow, job) else urn
    if urn.startswith("urn:li:assertion:"):
        stated_check = value(registers, ASSERTION)
        return stated_check.dataset if stated_check is not None else urn
    return urn


def _may_be_flow_job(flow: str, job: str) -> bool:
    """Whether a job may have its flow's name, by the URN alone: a piece need not know the job (another's lineage names it).

    The flow's may begin with an instance, and a name with ``--`` may have been cut: some jobs stand with their flow in vain.
    """
    return job in flow or "--" in flow or "--" in job


class GroupRenderer:
    """Renders groups; ``counts`` of all of them, ``rejected``: proposals of ours that their schema refuses."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.counts = Counts()
        self.rejected: list[RejectedProposal] = []

    def render_group(self, facts: FactsByEntity) -> list[Proposal]:
        """Return the proposals of one group: ``facts`` are all its pieces, folded (see :func:`merge_pieces`)."""
        rejected_before = len(self.rejected)
        with redaction_mode(self._options.settings.redaction):
            proposals = valid_proposals(self._render(facts), self._options.validator, self.rejected)
        _, counts = count_entities(proposals)  # an entity is of one group: none is counted twice
        counts.rejected = len(self.rejected) - rejected_before
        self.counts.add(counts)
        return proposals

    def _render(self, facts: FactsByEntity) -> Iterator[Proposal]:
        if PLATFORM.entity_urn in facts:
            yield PLATFORM
            return
        is_tag_group = next(iter(facts), "").startswith("urn:li:tag:")
        for proposal in render_runs([], facts, self._options):
            if (
                proposal.aspect_name == "tagKey"
            ) is is_tag_group:  # a tag is a group of its own, so that it is written once
                yield proposal


def merge_pieces(group_pieces: Iterable[tuple[str, Registers]]) -> FactsByEntity:
    """Return the pieces of one group, (URN, slots), folded into one."""
    facts: FactsByEntity = {}
    for urn, registers in group_pieces:
        if urn in facts:
            merge_facts(facts, {urn: registers})
        else:
            facts[urn] = registers
    return facts
