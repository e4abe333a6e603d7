"""The mode of redaction of the call that runs: off, default or strict (setting ``redaction_mode``)."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: In place of a whole value.
REDACTED = "[REDACTED]"
#: In place of a secret inside a text.
MASK = "***"
DEFAULT, OFF, STRICT = "default", "off", "strict"

_mode: ContextVar[str] = ContextVar("redaction", default=DEFAULT)


@contextmanager
def redaction_mode(mode: str) -> Iterator[None]:
    """Apply a redaction mode inside the ``with`` statement."""
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


def current_mode() -> str:
    """Return the mode that holds here."""
    return _mode.get()
