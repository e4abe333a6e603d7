"""Fingerprints of what was sent: hashes instead of values (:mod:`dh_bridge.datahub.aspect_diff`), with times."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.aspect_diff import REMOVED_FINGERPRINT
from dh_bridge.datahub.timeseries import document_id

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal

#: time of an entry that is not sent again because of its age
NO_REFRESH_TIME = 1 << 60
#: Instead of a hash: a value that may or may not be at the target; a value that was then removed again by a patch of its own.
UNCERTAIN, PATH_REMOVED = b"", b"-"


class AspectFingerprint(msgspec.Struct, array_like=True):
    """The fingerprint of an aspect.

    The time (milliseconds), the hash of the whole, and for a PATCH the hash of each operation by path.
    """

    time: int
    fingerprint: bytes
    path_fingerprints: dict[str, bytes] = {}


AspectFingerprints = dict[str, AspectFingerprint]


def point_key(proposal: Proposal) -> bytes:
    """Return the key of a point: its aspect and the document id that the server gives it."""
    return proposal.aspect_name.encode() + document_id(proposal.entity_urn, proposal.value)


def removal_key(urn: str) -> bytes:
    """Return the key, among those of points, for the removal of an entity without other fingerprints."""
    return b"status" + blake2b(urn.encode(), digest_size=16).digest()


def is_hard_deleted(fingerprints: AspectFingerprints) -> bool:
    """Whether an entity was hard-deleted, and no event has named it since."""
    return any(aspect.time == NO_REFRESH_TIME for aspect in fingerprints.values())


def is_soft_deleted(fingerprints: AspectFingerprints) -> bool:
    """Whether the last status that was sent removed the entity (only the bridge's own removal is undone)."""
    return "status" in fingerprints and fingerprints["status"].fingerprint == REMOVED_FINGERPRINT
