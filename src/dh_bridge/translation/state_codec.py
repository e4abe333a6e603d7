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
_HERE = "dh_bridge.translation"
#: What a state is made of, by its module's own name and its own: modules move to other rooms, and what was packed stays.
_HOMES = {
    ("builtins", "frozenset"): "builtins",  # what sound pairs of columns are read back as
    ("builtins", "list"): "builtins",  # what fields that are alike are read back as
    ("check", "Check"): f"{_HERE}.assertions.check",
    ("checks", "Stated"): f"{_HERE}.reading.checks",
    ("hierarchies", "Container"): f"{_HERE}.reading.hierarchies",
    ("job", "Job"): f"{_HERE}.identity.job",
    ("context", "Part"): f"{_HERE}.context",
    ("laws", "restored"): f"{_HERE}.merge",  # where it was
    ("merge", "restored"): f"{_HERE}.merge",
    ("name", "Name"): f"{_HERE}.naming.name",
    ("normalize", "restored"): f"{_HERE}.naming.normalize",
    ("place", "Part"): f"{_HERE}.context",  # where it was
    ("properties", "Joined"): f"{_HERE}.properties",
    ("runstate", "RunState"): f"{_HERE}.runstate",
    ("schema_fields", "SchemaFields"): f"{_HERE}.columns.schema_fields",
    ("subsets", "Part"): f"{_HERE}.context",  # where it was
    ("trims", "restored"): f"{_HERE}.naming.normalize",  # where it was
}
_found: dict[tuple[str, str], Any] = {}


class Reader(pickle.Unpickler):
    """Reads states: of classes, it knows the few that a state is made of."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a state may name; pickle's own error for anything else."""
        found = _found.get((module, name))
        if found is None:
            found = _found[module, name] = getattr(import_module(_home(module, name)), name)
        return found


def _home(module: str, name: str) -> str:
    """Return the module that has a name of a state now; pickle's own error where it is none."""
    package, _, own = module.rpartition(".")
    ours = package == _HERE or package.startswith(f"{_HERE}.") or module == "builtins"
    if ours and own in ("facts", "slots") and name.isupper():  # slots: where they were
        return f"{_HERE}.facts"
    if not ours or (own, name) not in _HOMES:
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
    return _HOMES[own, name]


def packed(value: Any) -> bytes:
    """Return cells, slots or a state as bytes."""
    return pickle.dumps(value, PROTOCOL)


def unpacked(data: bytes, reader: Callable[[io.BytesIO], Reader] = Reader) -> Any:
    """Return what :func:`packed` was given; a BridgeError for other bytes, and for those of another release."""
    try:
        return reader(io.BytesIO(data)).load()
    except (
        pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, ImportError, LookupError, MemoryError, TypeError,
        ValueError,
    ) as error:  # fmt: skip
        raise BridgeError(
            f"cannot be read: {error}", where="the state", now="start a new checkpoint and send the events again"
        ) from error
