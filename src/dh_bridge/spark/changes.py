"""The changes of a stream's batch to shared entities: from the proposals before it to those after it. No pyspark here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.aspect_diff import (
    changed_operations,
    has_same_write,
    patch_diff,
    path_fingerprints,
    removal_operation,
    restoring_proposal,
)
from dh_bridge.datahub.proposal import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.datahub.proposal import Proposal

BEFORE, AFTER, BOTH = 1, 2, 3
"""When a piece of a shared entity counts."""


def diff_proposals(before: list[Proposal], after: list[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals that change a target with ``before`` into one with ``after``.

    A PATCH removes values that no longer exist; a removal by the bridge that is no longer required is undone.
    """
    before_by_aspect = {(proposal.entity_urn, proposal.aspect_name): proposal for proposal in before}
    for proposal in after:
        old = before_by_aspect.pop((proposal.entity_urn, proposal.aspect_name), None)
        if old is None or old.change_type != "PATCH" or proposal.change_type != "PATCH":
            if old is None or not has_same_write(old, proposal):
                yield proposal
            continue
        operations = diff_operations(old.aspect_name, old.value, proposal.value)
        if operations:
            yield patch(proposal.entity_type, proposal.entity_urn, proposal.aspect_name, operations)
    for old in before_by_aspect.values():
        if old.change_type == "PATCH" and (operations := diff_operations(old.aspect_name, old.value, [])):
            yield patch(old.entity_type, old.entity_urn, old.aspect_name, operations)
        if old.aspect_name == "status" and old.value == {"removed": True}:
            yield restoring_proposal(old.entity_type, old.entity_urn)


def diff_operations(aspect_name: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the operations of ``new`` that ``old`` did not have, after removals of what only ``old`` added.

    With a new value go those that the server requires beside it, such as the name of a job.
    """
    diff = patch_diff(path_fingerprints(old), path_fingerprints(new))
    added = {operation["path"] for operation in old if operation["op"] == "add"}
    removals = [removal_operation(path) for path in diff.removed_paths if path in added]
    return removals + changed_operations(aspect_name, new, diff.changed_paths)
