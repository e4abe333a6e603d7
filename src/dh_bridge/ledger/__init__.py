"""State that outlives a call.

The states of runs, the facts that runs share, and fingerprints of sent aspects (state mode *ledger*).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dh_bridge.ledger.factory import (
        LedgerNotes,
        NullSink,
        open_ledger,
        read_notes,
        reject_second_ledger,
        trial_copy,
    )
    from dh_bridge.ledger.ledger import Ledger
    from dh_bridge.ledger.outbox import Outbox

__all__ = [
    "Ledger",
    "LedgerNotes",
    "NullSink",
    "Outbox",
    "open_ledger",
    "read_notes",
    "reject_second_ledger",
    "trial_copy",
]

_MODULES = {"Ledger": "ledger", "Outbox": "outbox"}
"""Public name -> its module; the other names are in ``factory``."""


def __getattr__(name: str) -> Any:
    """Load the public names on first use: every catalogue needs the tables in ``schema``, but not the rest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'factory')}"), name)
