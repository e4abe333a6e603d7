"""The memory sink: a list of the proposals, for tests and for programs that use the proposals themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SINK_KINDS, Closable, Delivery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions


class MemorySink(Closable):
    """Stores every proposal in ``proposals``, in order; they stay readable after close."""

    name = "memory"
    kind = SINK_KINDS[name]

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        self._is_closed = False

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Store a batch."""
        if self._is_closed:
            raise SinkError("the sink is closed", location="memory:")
        self.proposals.extend(proposals)
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Reject further batches."""
        self._is_closed = True


def open_target(address: str, options: SinkOptions) -> MemorySink:
    """Return the sink of ``memory:``; a SettingsError for an option that it cannot apply."""
    if address or options.file_format:
        raise SettingsError(
            "memory: accepts neither a name nor a file format", location="--to", remedy="write --to memory:"
        )
    return MemorySink()
