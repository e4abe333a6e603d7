"""Folded cells as bytes: for workers on the same data, and for the state of a stream.

A slot travels by its name and a digest as its 32 bytes, so that a piece neither copies code nor carries the events behind it.
Bytes are unpacked by the same release that packed them: they are no format for others, and never to be taken from strangers.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import TYPE_CHECKING, Any

from dh_bridge.translation import slots
from dh_bridge.translation.laws import Digest

if TYPE_CHECKING:
    from dh_bridge.translation.slots import Slot


def slot_of(name: str) -> Slot:
    """Return the slot of a name."""
    found: Slot = getattr(slots, name)
    return found


def gone() -> slots.Gone:
    """Return the one tombstone: it is told by identity."""
    return slots.GONE


def digest_of(value: bytes) -> Digest:
    """Return the digest of an event that is not at hand."""
    found = Digest(b"")
    found._hash = value  # noqa: SLF001 - a digest without its event is made here alone
    return found


class _Packer(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()
    dispatch_table[slots.Slot] = lambda slot: (slot_of, (slot.name,))
    dispatch_table[slots.Gone] = lambda _: (gone, ())
    dispatch_table[Digest] = lambda digest: (digest_of, (digest.value,))


def packed(value: Any) -> bytes:
    """Return cells, slots or parts of a state as bytes."""
    into = io.BytesIO()
    _Packer(into, protocol=5).dump(value)
    return into.getvalue()


def unpacked(data: bytes) -> Any:
    """Return what :func:`packed` was given."""
    return pickle.loads(data)  # noqa: S301 - of our own workers, and of the state folder that the operator named
