"""States as bytes, and back: how a run and what runs share travel between workers, and lie in a ledger or a stream's state.

The bytes are a pickle that is read with a list of the few classes a state is made of: bytes from elsewhere can name nothing
else, so reading them runs no code of their own. A slot travels by its name and a digest as its 32 bytes, so that a piece
neither copies code nor carries the events behind it. The same release reads what it packed: this is no format for others.
"""

from __future__ import annotations

import io
import pickle
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable

PROTOCOL = 5
_SLOTS = "dh_bridge.translation.slots"
_KNOWN = frozenset(
    {
        ("builtins", "frozenset"),  # what sound pairs of columns are read back as
        ("builtins", "list"),  # what fields that are alike are read back as
        ("dh_bridge.translation.assertions.check", "Check"),
        ("dh_bridge.translation.checks", "Stated"),
        ("dh_bridge.translation.columns.schema_fields", "SchemaFields"),
        ("dh_bridge.translation.hierarchies", "Container"),
        ("dh_bridge.translation.identity.job", "Job"),
        ("dh_bridge.translation.laws", "restored"),
        ("dh_bridge.translation.naming.name", "Name"),
        ("dh_bridge.translation.naming.trims", "restored"),
        ("dh_bridge.translation.properties", "Joined"),
        ("dh_bridge.translation.runstate", "RunState"),
        ("dh_bridge.translation.subsets", "Part"),
    }
)
_found: dict[tuple[str, str], Any] = {}


class Reader(pickle.Unpickler):
    """Reads states: of classes, it knows the few that a state is made of."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a state may name; pickle's own error for anything else."""
        found = _found.get((module, name))
        if found is None:
            if (module, name) not in _KNOWN and not (module == _SLOTS and name.isupper()):
                raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
            found = _found[module, name] = getattr(import_module(module), name)
        return found


def packed(value: Any) -> bytes:
    """Return cells, slots or a state as bytes."""
    return pickle.dumps(value, PROTOCOL)


def unpacked(data: bytes, reader: Callable[[io.BytesIO], Reader] = Reader) -> Any:
    """Return what :func:`packed` was given; a BridgeError for other bytes, and for those of another release."""
    try:
        return reader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, TypeError, ValueError) as error:
        raise BridgeError(
            f"cannot be read: {error}", where="the state", now="start a new checkpoint and send the events again"
        ) from error
