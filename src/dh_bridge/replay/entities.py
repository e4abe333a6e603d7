"""Stage two: pieces of what many runs share, folded by entity, into proposals.

A *piece* is ``(group, urn, slots)``: what some runs contribute to one entity. Entities whose aspects look at each other are
of one group: a flow and the job that is its twin, a dataset and its checks. The other jobs of a flow stand alone, so
that a flow of a million jobs is no group of a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import tag_urn
from dh_bridge.redaction import redaction
from dh_bridge.session import PLATFORM, PLATFORM_FLOWS, Counts, counted
from dh_bridge.translation.closing import Rejected, render_runs, valid
from dh_bridge.translation.facts import ASSERTION, COLUMN_TAG, TAG
from dh_bridge.translation.fold import Cells, merge, value
from dh_bridge.translation.merge import BEFORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options

Piece = tuple[str, str, "Slots"]

_JOB = "urn:li:dataJob:("


def pieces(shared: Cells, options: Options) -> Iterator[Piece]:
    """Yield what is shared entity by entity, and the tags and the platform that it needs, each a group of its own."""
    tags: set[str] = set()
    platform = False
    for urn, slots in shared.items():
        if not slots or urn.startswith("?"):  # of placeholders that no named event gave a job
            continue
        tags.update(slots.get(TAG, ()))
        tags.update(name for _, name in slots.get(COLUMN_TAG, ()))
        platform = platform or urn.startswith(PLATFORM_FLOWS)
        yield group_of(urn, slots), urn, slots
    for name in tags - {""}:
        yield tag_urn(name), tag_urn(name), {TAG: {name: (BEFORE, None)}}
    if platform and options.settings.identity.register_platform:
        yield PLATFORM.entity_urn, PLATFORM.entity_urn, {}


def group_of(urn: str, slots: Slots) -> str:
    """Return the group of an entity: the flow of a job that may be its twin, a check's dataset, else the entity itself."""
    if urn.startswith(_JOB):
        flow, _, job = urn[len(_JOB) : -1].rpartition("),")
        return f"{flow})" if _may_be_twin(flow, job) else urn
    if urn.startswith("urn:li:assertion:"):
        stated = value(slots, ASSERTION)
        return stated.dataset if stated is not None else urn
    return urn


def _may_be_twin(flow: str, job: str) -> bool:
    """Whether a job may have its flow's name, by the URN alone: a piece need not know the job (another's lineage names it).

    The flow's may begin with an instance, and a name with ``--`` may have been cut: some jobs stand with their flow in vain.
    """
    return job in flow or "--" in flow or "--" in job


class Entities:
    """Renders groups; ``counts`` of all of them, ``rejected``: proposals of ours that their schema refuses."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.counts = Counts()
        self.rejected: list[Rejected] = []

    def group(self, cells: Cells) -> list[Proposal]:
        """Return the proposals of one group: ``cells`` are all its pieces, folded (see :func:`gather`)."""
        before = len(self.rejected)
        with redaction(self._options.settings.redaction):
            found = valid(self._rendered(cells), self._options.validator, self.rejected)
        _, counts = counted(found)  # an entity is of one group: none is counted twice
        counts.rejected = len(self.rejected) - before
        self.counts.add(counts)
        return found

    def _rendered(self, cells: Cells) -> Iterator[Proposal]:
        if PLATFORM.entity_urn in cells:
            yield PLATFORM
            return
        own_tag = next(iter(cells), "").startswith("urn:li:tag:")
        for proposal in render_runs([], cells, self._options):
            if (proposal.aspect_name == "tagKey") is own_tag:  # a tag is a group of its own, so that it is written once
                yield proposal


def gather(found: Iterable[tuple[str, Slots]]) -> Cells:
    """Return the pieces of one group, (URN, slots), folded into one."""
    cells: Cells = {}
    for urn, slots in found:
        if urn in cells:
            merge(cells, {urn: slots})
        else:
            cells[urn] = slots
    return cells
