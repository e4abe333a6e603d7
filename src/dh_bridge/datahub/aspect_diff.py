"""The difference between an aspect as it was written before and as it is to be written now.

Ledger, transport and Spark compare what the bridge writes: a complete aspect by its value, a patch path by path. Hashes
replace values, so that written values need not be stored. ``dh-bridge plan`` and ``verify`` compare something else: the
aspect on the server, with the parts of other writers (:mod:`dh_bridge.review.verdicts`).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from dh_bridge.datahub.patches import KEYED_ELEMENTS, REQUIRED_PATHS
from dh_bridge.datahub.proposal import CachedProposal, upsert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal

Operation = dict[str, Any]


def fingerprint(value: Any) -> bytes:
    """Return the hash of a value; the order of the keys of an object does not count."""
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).digest()


def proposal_fingerprint(proposal: Proposal) -> bytes:
    """Return the hash of a proposal's content; for a cached proposal it is computed once."""
    if type(proposal) is not CachedProposal:
        return fingerprint(proposal.value)
    digest: bytes | None = proposal.__dict__.get("hash")
    if digest is None:
        digest = proposal.__dict__["hash"] = fingerprint(proposal.value)
    return digest


def has_same_write(first: Proposal, second: Proposal) -> bool:
    """Return whether two proposals of an aspect write the same in the same way."""
    return first.change_type == second.change_type and proposal_fingerprint(first) == proposal_fingerprint(second)


def path_fingerprints(operations: Sequence[Operation]) -> dict[str, bytes]:
    """Return the hash of each operation of a patch, by its path."""
    return {operation["path"]: fingerprint(operation) for operation in operations}


class PatchDiff(NamedTuple):
    """The paths of a patch that were not written before or were written otherwise, and those that are written no more."""

    changed_paths: set[str]
    removed_paths: list[str]


def patch_diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> PatchDiff:
    """Compare two patches of an aspect, each as the hashes of its operations by path.

    >>> patch_diff({"/tags/a": b"1", "/tags/b": b"1"}, {"/tags/b": b"2", "/tags/c": b"1"}).removed_paths
    ['/tags/a']
    """
    return PatchDiff(
        {path for path, digest in after.items() if before.get(path) != digest},
        [path for path in before if path not in after],
    )


def changed_operations(aspect_name: str, operations: Sequence[Operation], changed_paths: set[str]) -> list[Operation]:
    """Return the operations of a patch at ``changed_paths``, with those that the server's template requires beside them.

    >>> operations = [{"op": "add", "path": path, "value": "a"} for path in ("/name", "/description", "/customProperties/k")]
    >>> [operation["path"] for operation in changed_operations("dataFlowInfo", operations, {"/description"})]
    ['/name', '/description']
    """
    if not changed_paths:
        return []
    sent_paths = {*changed_paths, *REQUIRED_PATHS.get(aspect_name, ())}
    if aspect_name in KEYED_ELEMENTS:
        field, key = KEYED_ELEMENTS[aspect_name]
        sent_paths.update(f"/{field}/{path.split('/', 3)[2]}/{key}" for path in changed_paths)
    return [operation for operation in operations if operation["path"] in sent_paths]


def removal_operation(path: str) -> Operation:
    """Return the operation that removes the value that an earlier patch added."""
    return {"op": "remove", "path": path}


REMOVED_FINGERPRINT = fingerprint({"removed": True})
"""The hash of the status of an entity that is soft-deleted."""


def restoring_proposal(entity_type: str, urn: str) -> Proposal:
    """Return the proposal that makes a soft-deleted entity visible again."""
    return upsert(entity_type, urn, "status", {"removed": False})
