"""Types that threads may meet at once.

msgspec prepares a Struct when a value is first made one, and shows the half of it to a second thread that comes meanwhile:
that one crashes the process (msgspec 0.22). So every type that ``msgspec.convert`` takes is prepared by one thread at a time
before the first value comes; a Decoder prepares its own when a module makes it.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

_Kind = TypeVar("_Kind", bound=type[Any])

_prepare_lock = Lock()


def prepare_type(kind: _Kind) -> _Kind:
    """Return ``kind``, which any number of threads may convert to from now on."""
    with _prepare_lock:
        msgspec.json.Decoder(kind)
    return kind
