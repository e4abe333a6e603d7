"""Merge functions: how two values of one fact become one.

A versioned value is ``(version, value)``. Each merge function is commutative, associative and idempotent, so the order
of facts does not matter. A version is ``(time, rank, digest, position)``: the event's time in microseconds, the rank of
its type, the digest of its content, and the position of the fact in the event.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

Version = tuple[Any, ...]
Versioned = tuple[Version, Any]

#: The version of facts that no event states explicitly: every other version is later.
MIN_VERSION: Version = (0,)

_decode = msgspec.json.Decoder().decode
_canonical = msgspec.json.Encoder(order="deterministic").encode


class Digest:
    """The sha256 of an event's canonical JSON, computed only if two versions have the same time and type."""

    __slots__ = ("_hash", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._hash: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_digest, (self.value,)

    @property
    def value(self) -> bytes:
        """The digest: 32 bytes; the same event with other white space or key order has the same one."""
        if self._hash is None:
            try:
                canonical = _canonical(_decode(self._raw))
            except (RecursionError, msgspec.DecodeError):  # nested hundreds deep, a number beyond all doubles
                canonical = self._raw
            self._hash = hashlib.sha256(canonical).digest()
            self._raw = b""  # the facts hold the content; a digest may live as long as its run
        return self._hash

    def compute(self) -> None:
        """Compute the digest now, so that the bytes of the event can be released."""
        _ = self.value

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Digest) and self.value == other.value)

    def __lt__(self, other: Digest) -> bool:
        return self is not other and self.value < other.value

    def __gt__(self, other: Digest) -> bool:
        return self is not other and self.value > other.value

    def __ge__(self, other: Digest) -> bool:
        return not self < other

    def __le__(self, other: Digest) -> bool:
        return not self > other

    def __hash__(self) -> int:
        return hash(self.value)


def restore_digest(value: bytes) -> Digest:
    """Return a digest from its value (32 bytes), for an event that is no longer in memory."""
    digest = Digest(b"")
    digest._hash = value  # noqa: SLF001 - its own module
    return digest


def latest(old: Versioned, new: Versioned) -> Versioned:
    """Return the value with the later version."""
    return new if new[0] > old[0] else old


def maximum(old: Versioned, new: Versioned) -> Versioned:
    """Return the larger value; of equal values the one with the later version. Duplicates and zeros do not matter."""
    return new if (new[1], new[0]) > (old[1], old[0]) else old


def interval(old: Versioned, new: Versioned) -> Versioned:
    """Return the first time (the value) and the last version."""
    return (max(old[0], new[0]), min(old[1], new[1]))


def union_of_texts(old: Versioned, new: Versioned) -> Versioned:
    """Return all texts with their last versions, as sorted (version, text) pairs; the version is the last of all."""
    texts = {text: version for version, text in old[1]}
    for version, text in new[1]:
        if text not in texts or version > texts[text]:
            texts[text] = version
    return (max(old[0], new[0]), tuple(sorted((version, text) for text, version in texts.items())))


def latest_elements(old: Versioned, new: Versioned) -> Versioned:
    """Return the largest elements of both, 99 at most, sorted; the version is the later one."""
    return (max(old[0], new[0]), tuple(sorted({*old[1], *new[1]})[-99:]))


def union(old: Versioned, new: Versioned) -> Versioned:
    """Return the union of both sets; the version is the later one."""
    return (max(old[0], new[0]), old[1] if old[1] is new[1] else old[1] | new[1])


def edge_interval(old: Versioned, new: Versioned) -> Versioned:
    """Return the first (created, actor), the last (modified, actor), and the properties of the last run that has any.

    The version is that of the properties: the smallest version for a run without properties.
    """
    last = new if new[0] > old[0] else old
    return (last[0], (min(old[1][0], new[1][0]), max(old[1][1], new[1][1]), last[1][2]))
