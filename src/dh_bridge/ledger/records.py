"""States as bytes, and back: what the ledger keeps of runs and of what they share.

The bytes are a pickle that is read with a list of the few classes a state is made of: a file from elsewhere can name
nothing else, so reading it runs no code of its own.
"""

from __future__ import annotations

import io
import pickle
from importlib import import_module
from typing import Any

from dh_bridge.errors import SinkError

#: Of a change that makes older bytes unreadable; the ledger then asks for a new file.
FORMAT = 1
_PROTOCOL = 5
_SLOTS = "dh_bridge.translation.slots"
_KNOWN = frozenset(
    {
        ("dh_bridge.translation.assertions.check", "Check"),
        ("dh_bridge.translation.checks", "Stated"),
        ("dh_bridge.translation.columns.schema_fields", "SchemaFields"),
        ("dh_bridge.translation.identity.job", "Job"),
        ("dh_bridge.translation.laws", "restored"),
        ("dh_bridge.translation.naming.name", "Name"),
        ("dh_bridge.translation.properties", "Joined"),
        ("dh_bridge.translation.runstate", "RunState"),
        ("dh_bridge.translation.subsets", "Part"),
    }
)
_found: dict[tuple[str, str], Any] = {}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = _found.get((module, name))
        if found is None:
            if (module, name) not in _KNOWN and not (module == _SLOTS and name.isupper()):
                raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
            found = _found[module, name] = getattr(import_module(module), name)
        return found


def packed(value: Any) -> bytes:
    """Return a state as bytes."""
    return pickle.dumps(value, _PROTOCOL)


def unpacked(data: bytes, *, where: str) -> Any:
    """Return the state that ``data`` holds; a SinkError when it holds something else, or was written by another release."""
    try:
        return _Reader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, TypeError, ValueError) as error:
        raise SinkError(
            f"holds a state that cannot be read: {error}",
            where=where,
            now="name a new ledger and send the events again",
        ) from error
