"""The memory sink: a list of what was sent, for tests and for programs that go on with the proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SINKS, Closing, Delivery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions


class MemorySink(Closing):
    """Keeps every proposal in ``proposals``, in order; they stay readable after close."""

    name = "memory"
    kind = SINKS[name]

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        self._closed = False

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Keep a batch."""
        if self._closed:
            raise SinkError("is closed", where="memory:")
        self.proposals.extend(proposals)
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Take no more."""
        self._closed = True


def open_target(place: str, options: SinkOptions) -> MemorySink:
    """Return the sink of ``memory:``; a SettingsError for what it cannot heed."""
    if place or options.file_format:
        raise SettingsError("memory: takes neither a name nor a file format", where="--to", now="write --to memory:")
    return MemorySink()
