"""Stage two: merges the pieces of shared entities by entity, and renders proposals.

A *piece* is ``(group, urn, registers)``: what some runs contribute to one entity. Entities whose aspects depend on each other
are in one group: a flow and its flow job, a dataset and its assertions. The other jobs of a flow are groups of their own, so
that a flow with a million jobs is no group of a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.closing import PROPOSALS_PER_CHECK, RejectedProposal, check_groups, render_runs
from dh_bridge.datahub.proposal import Proposal  # noqa: TC001 - a NamedTuple's
from dh_bridge.datahub.urns import tag_urn
from dh_bridge.model.facts import ASSERTION, COLUMN_TAG, TAG
from dh_bridge.model.fold import FactsByEntity, merge_facts, value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.redaction import redaction_mode
from dh_bridge.session import PLATFORM, PLATFORM_FLOWS, Counts, count_entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.model.fold import Registers
    from dh_bridge.options import Options

Piece = tuple[str, str, "Registers"]

_JOB_URN_PREFIX = "urn:li:dataJob:("


def iter_pieces(shared: FactsByEntity) -> Iterator[Piece]:
    """Yield the shared entities one by one, and the tags and the platform that they need, each a group of its own."""
    tags: set[str] = set()
    needs_platform = False
    for urn, registers in shared.items():
        if not registers or urn.startswith("?"):  # of placeholder events without a job
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
    """Return the group of an entity.

    The flow for a possible flow job, the dataset for an assertion, else the entity itself.
    """
    if urn.startswith(_JOB_URN_PREFIX):
        flow, _, job = urn[len(_JOB_URN_PREFIX) : -1].rpartition("),")
        return f"{flow})" if _may_be_flow_job(flow, job) else urn
    if urn.startswith("urn:li:assertion:"):
        stated_check = value(registers, ASSERTION)
        return stated_check.dataset if stated_check is not None else urn
    return urn


def _may_be_flow_job(flow: str, job: str) -> bool:
    """Return whether a job may be a flow job, by its URN alone.

    A piece need not know the job (lineage of another job names it).

    The name of the flow may begin with an instance, and a name with ``--`` may have been cut: some other jobs are in the group
    of their flow, too, which is harmless.
    """
    return job in flow or "--" in flow or "--" in job


class RenderedGroup(NamedTuple):
    """The result of a group: its proposals, and those that violate their schema."""

    proposals: list[Proposal]
    rejected: list[RejectedProposal]


class GroupRenderer:
    """Renders groups; ``counts`` of all of them."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.counts = Counts()

    def render_groups(self, groups: Iterable[FactsByEntity]) -> Iterator[RenderedGroup]:
        """Yield the result of each group, in order. The proposals of several groups are validated together.

        Args:
            groups: For each group all its pieces, merged (see :func:`merge_pieces`).
        """
        pending: list[list[Proposal]] = []
        pending_count = 0
        with redaction_mode(self._options.settings.redaction):
            for facts in groups:
                pending.append(list(self._render(facts)))
                pending_count += len(pending[-1])
                if pending_count >= PROPOSALS_PER_CHECK:
                    yield from self._check(pending)
                    pending, pending_count = [], 0
            yield from self._check(pending)

    def _check(self, groups: list[list[Proposal]]) -> Iterator[RenderedGroup]:
        for proposals, rejected in check_groups(groups, self._options.validator):
            _, counts = count_entities(proposals)  # an entity is in one group, so none is counted twice
            counts.rejected = len(rejected)
            self.counts.add(counts)
            yield RenderedGroup(proposals, rejected)

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
    """Merge the pieces (URN, registers) of one group."""
    facts: FactsByEntity = {}
    for urn, registers in group_pieces:
        if urn in facts:
            merge_facts(facts, {urn: registers})
        else:
            facts[urn] = registers
    return facts
