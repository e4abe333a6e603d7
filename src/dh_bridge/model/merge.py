"""How two statements about one thing become one.

A cell is ``(stamp, value)``. Each law is commutative, associative and idempotent, so the order in which statements
arrive cannot matter. A stamp is ``(time, rank, digest, weight)``: the event's time in
microseconds, the rank of its type, its content, and the place of the statement inside the event.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

Version = tuple[Any, ...]
Versioned = tuple[Version, Any]

#: The stamp of what no event says by itself: any other one is later.
MIN_VERSION: Version = (0,)

_decode = msgspec.json.Decoder().decode
_canonical = msgspec.json.Encoder(order="deterministic").encode


class Digest:
    """The sha256 of an event's canonical JSON, computed only when two stamps tie on time and type."""

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
            self._raw = b""  # what was said is in the cells; a digest may live for as long as its run does
        return self._hash

    def compute(self) -> None:
        """Work the digest out now, so that the event's bytes are not held for it."""
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
    """Return a digest whose value (32 bytes) is known, of an event that is not at hand any more."""
    digest = Digest(b"")
    digest._hash = value  # noqa: SLF001 - its own module
    return digest


def latest(old: Versioned, new: Versioned) -> Versioned:
    """Keep the value with the larger stamp."""
    return new if new[0] > old[0] else old


def maximum(old: Versioned, new: Versioned) -> Versioned:
    """Keep the larger value, at the later stamp of equal ones (monotone counters, duplicates and zeros are harmless)."""
    return new if (new[1], new[0]) > (old[1], old[0]) else old


def interval(old: Versioned, new: Versioned) -> Versioned:
    """Keep the first time (the value) and the last stamp at which a thing was named."""
    return (max(old[0], new[0]), min(old[1], new[1]))


def union_of_texts(old: Versioned, new: Versioned) -> Versioned:
    """Keep every text with the last stamp that it came with, as (stamp, text) pairs, sorted, and the last stamp of all."""
    texts = {text: version for version, text in old[1]}
    for version, text in new[1]:
        if text not in texts or version > texts[text]:
            texts[text] = version
    return (max(old[0], new[0]), tuple(sorted((version, text) for text, version in texts.items())))


def latest_elements(old: Versioned, new: Versioned) -> Versioned:
    """Keep the largest of the elements of both, 99 at most, sorted, and the last stamp."""
    return (max(old[0], new[0]), tuple(sorted({*old[1], *new[1]})[-99:]))


def union(old: Versioned, new: Versioned) -> Versioned:
    """Keep the elements of both sets and the last stamp."""
    return (max(old[0], new[0]), old[1] if old[1] is new[1] else old[1] | new[1])


def edge_interval(old: Versioned, new: Versioned) -> Versioned:
    """Keep the first (created, actor), the last (modified, actor) and the properties of the last run that has any.

    The stamp is that of the properties alone: the smallest one where a run has none.
    """
    last = new if new[0] > old[0] else old
    return (last[0], (min(old[1][0], new[1][0]), max(old[1][1], new[1][1]), last[1][2]))
