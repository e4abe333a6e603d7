"""Every error that dh_bridge raises.

::

    BridgeError
    ├── EventError      the sender's fault; permanent          -> dead letter
    ├── MappingError    our data's fault; found at start       -> does not start
    ├── AspectError     our translation breaks its Avro schema -> permanent, the rest of the event is written
    ├── SettingsError   the operator's fault                   -> exit code 2, names the key
    └── SinkError       the network's fault or theirs; ``retryable`` decides

Each has a location, a problem and a remedy: ``str(error)`` is ``location: problem (remedy)``.
"""

from __future__ import annotations

import traceback

INTERNAL_ERROR = "a bug in dh-bridge, please report it"
"""The text of an error that no user can cause."""


class BridgeError(Exception):
    """An error with a location, a problem and, if there is one, a remedy."""

    def __init__(self, problem: str, *, location: str = "", remedy: str = "") -> None:
        self.problem = problem
        self.location = location
        self.remedy = remedy
        super().__init__(problem)  # the rest is in __dict__: other processes can unpickle one argument only

    @property
    def fault(self) -> str:
        """Where and what, for who shows the remedy elsewhere."""
        return f"{self.location}: {self.problem}" if self.location else self.problem

    def __str__(self) -> str:
        return f"{self.fault} ({self.remedy})" if self.remedy else self.fault


class EventError(BridgeError):
    """An event that cannot be used: the sender's fault, permanent."""


class MappingError(BridgeError):
    """A file of ``mappings/`` that cannot be used: found at start, never later."""


class AspectError(BridgeError):
    """An aspect that its Avro schema refuses: our translation's fault, permanent."""


class SettingsError(BridgeError):
    """A setting that cannot be used: the operator's fault; names the key."""


class SinkError(BridgeError):
    """A delivery that failed; ``retryable``: trying again can help, but not before ``retry_after`` seconds (0: unknown)."""

    retry_after = 0.0

    def __init__(self, problem: str, *, location: str = "", remedy: str = "", retryable: bool = False) -> None:
        super().__init__(problem, location=location, remedy=remedy)
        self.retryable = retryable


def empty_frames(error: BaseException) -> None:
    """Clear the frames in the traceback of an error of requests.

    urllib3 stores its error in a frame of the error's traceback (``urlopen``, ``new_e``): a cycle that holds the body, and all
    objects of the callers' frames, until the next garbage collection.
    """
    for exception in (error, *error.args):
        if isinstance(exception, BaseException):
            traceback.clear_frames(exception.__traceback__)
