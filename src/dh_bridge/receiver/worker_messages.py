"""What a receiver and its folding process send to each other: the configuration, and messages of one line of JSON each."""

from __future__ import annotations

import base64
import pickle
from threading import Lock
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.openlineage.events import DeadLetter

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.settings import Settings

MAX_FOLD_EVENTS = 1_000
"""Events of one transaction of the folding process: a delivery waits for it."""


class FoldingConfig(NamedTuple):
    """What a folding process needs: as arguments of :func:`dh_bridge.receiver.running.run_receiver`.

    ``careful_events``: how many events are processed one by one, because an earlier process ended while it processed them.
    """

    target: str
    settings: Settings
    ledger_path: Path | None
    careful_events: int = 0

    def encode(self) -> bytes:
        """Return the configuration as a line for stdin."""
        return base64.b64encode(pickle.dumps(self)) + b"\n"

    @staticmethod
    def decode(line: bytes) -> FoldingConfig:
        """Return the configuration of a line."""
        config: FoldingConfig = pickle.loads(base64.b64decode(line))  # noqa: S301 - of the parent process, through its pipe
        return config


class WorkerMessage(msgspec.Struct, omit_defaults=True):
    """A message; only the fields that are set have a meaning.

    ``counts``: to add to the metrics. ``dead``: an event that cannot be used. ``log``: a line of the log: its logger, its level and its text.
    ``opened``: the target is open; a text about it. ``stall``: why nothing is delivered or folded; empty: something is again.
    ``fatal``: the process cannot work, and ends: kind and text of the error.
    """

    counts: dict[str, int] | None = None
    dead: DeadLetter | None = None
    log: tuple[str, int, str] | None = None
    opened: str | None = None
    stall: str | None = None
    fatal: tuple[str, str, str, str] | None = None


decode_message = msgspec.json.Decoder(WorkerMessage).decode
_encode = msgspec.json.Encoder().encode


class MessageSender:
    """Writes messages to a pipe, from any thread."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lock = Lock()

    def send(self, message: WorkerMessage) -> None:
        """Write a message; if the receiver is gone, it is dropped."""
        line = _encode(message) + b"\n"
        with self._lock:
            try:
                self._pipe.write(line)
                self._pipe.flush()
            except (OSError, ValueError):
                return
