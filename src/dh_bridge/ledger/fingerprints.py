"""What is noted of what was sent: hashes in place of values (:mod:`dh_bridge.datahub.aspect_diff`), with times."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.aspect_diff import REMOVED_FINGERPRINT
from dh_bridge.datahub.timeseries import document_id

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal

#: the time of what is not to be sent again for its age alone
NO_REFRESH_TIME = 1 << 60
#: In place of the hash: of what may or may not be at the place, and of what was then removed, once more and alone.
UNCERTAIN, PATH_REMOVED = b"", b"-"


class AspectFingerprint(msgspec.Struct, array_like=True):
    """What was sent of an aspect: when (milliseconds), the hash of the whole, and those of the operations of a PATCH by path."""

    time: int
    fingerprint: bytes
    path_fingerprints: dict[str, bytes] = {}


AspectFingerprints = dict[str, AspectFingerprint]


def point_key(proposal: Proposal) -> bytes:
    """Return the key of a point: its aspect and the server's document."""
    return proposal.aspect_name.encode() + document_id(proposal.entity_urn, proposal.value)


def removal_key(urn: str) -> bytes:
    """Return the key, among those of points, of the removal of an entity of which nothing else is noted any more."""
    return b"status" + blake2b(urn.encode(), digest_size=16).digest()


def is_hard_deleted(fingerprints: AspectFingerprints) -> bool:
    """Whether an entity was deleted for good, and there was no news of it."""
    return any(aspect.time == NO_REFRESH_TIME for aspect in fingerprints.values())


def is_soft_deleted(fingerprints: AspectFingerprints) -> bool:
    """Whether the last status that was sent removed the entity (only our own removal is undone)."""
    return "status" in fingerprints and fingerprints["status"].fingerprint == REMOVED_FINGERPRINT
