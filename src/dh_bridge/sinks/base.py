"""What a sink is: a place that takes proposals, and says which of them it did not take."""

from __future__ import annotations

from collections.abc import Callable, Sequence  # noqa: TC003 - msgspec resolves the annotations at run time
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from dh_bridge.datahub.proposal import Proposal
from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Failure(msgspec.Struct, frozen=True):
    """A proposal that was refused, why, and whether sending it again can help."""

    proposal: Proposal
    reason: str
    retryable: bool = False


class Delivery(msgspec.Struct, frozen=True):
    """What became of a batch: how many proposals arrived, and those that did not."""

    delivered: int
    failed: list[Failure]


class Sink(Protocol):
    """Takes proposals in order. A SinkError means that nothing of the batch may count as delivered."""

    name: str

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver a batch; proposals that are refused one by one are in ``Delivery.failed``."""
        ...

    def close(self) -> None:
        """Write out what is still held back; a second call does nothing, and emit then raises a SinkError."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


SINKS = {
    "memory": "dh_bridge.sinks.memory",
    "file": "dh_bridge.sinks.file",
    "catalog": "dh_bridge.sinks.catalog",
}
"""Scheme of a target -> the module whose ``open_target(rest, file_format)`` opens it; imported when first asked for."""


def open_sink(target: str, *, file_format: str | None = None) -> Sink:
    """Return the sink of ``memory:``, ``file:PATH`` (``-`` is standard output) or ``catalog:FILE``.

    ``file_format`` (``ndjson`` or ``json``) says how a file is written when its ending does not. A SettingsError names the
    known schemes, a SinkError says why a place cannot be written.
    """
    scheme, colon, rest = target.partition(":")
    module = SINKS.get(scheme)
    if not colon or module is None:
        known = ", ".join(f"{name}:" for name in SINKS)
        raise SettingsError(f"{target!r} is no known target", where="--to", now=f"use one of {known}")
    opener = cast("Callable[[str, str | None], Sink]", import_module(module).open_target)
    return opener(rest, file_format)
