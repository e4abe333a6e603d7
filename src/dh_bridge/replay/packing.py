"""Folded cells as bytes: for workers on the same data, and for the state of a stream.

A slot travels by its name and a digest as its 32 bytes, so that a piece neither copies code nor carries the events behind it.
Bytes are unpacked by the same release that packed them: they are no format for others, and never to be taken from strangers.
"""

from __future__ import annotations

import pickle
from typing import Any


def packed(value: Any) -> bytes:
    """Return cells, slots or parts of a state as bytes."""
    return pickle.dumps(value, protocol=5)


def unpacked(data: bytes) -> Any:
    """Return what :func:`packed` was given."""
    return pickle.loads(data)  # noqa: S301 - of our own workers, and of the state folder that the operator named
