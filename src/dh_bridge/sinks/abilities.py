"""Abilities of a sink beside emit and close, which its kind declares (``SinkKind`` in :mod:`dh_bridge.sinks.base`).

Other modules ask the functions of this module whether a sink has an ability; they never look for its methods.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable

from dh_bridge.datahub.urns import key_aspect
from dh_bridge.sinks.base import Closable, Sink, address_of, kind_of, load_sink

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from dh_bridge.datahub.generic_aspect import PatchForms
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Delivery, StoredAspect


@runtime_checkable
class SupportsVersion(Protocol):
    """A sink that reports the version of its server: proposals are rendered for it unless the settings choose one."""

    def version(self) -> str | None:
        """Return the server's version, None if it reports none; a SinkError if it does not answer."""
        ...


@runtime_checkable
class Readable(Protocol):
    """A target that can be read; by default, everything that is requested may be read."""

    @property
    def forbidden_urns(self) -> Collection[str]:
        """The requested entities that the token may not read: whether they exist is unknown."""
        return ()

    def read(self, aspects_by_urn: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return the present aspects by URN and name; in ``aspects_by_urn``, no names stand for all aspects.

        An entity that exists has an entry if its key aspect is requested; the entry is empty if it has none of the aspects.
        """
        ...


class ReadableSink(Sink, Readable, Protocol):
    """A sink that can be read."""


@runtime_checkable
class Listable(Readable, Protocol):
    """A target that can be read and that can list its entities."""

    def urns(self) -> Iterable[str]:
        """Return the URNs of all entities."""
        ...


class ListableSink(Sink, Listable, Protocol):
    """A sink that can be read and that can list its entities."""


@runtime_checkable
class SupportsDeadline(Protocol):
    """A sink whose emit and read can be bounded in time."""

    def set_deadline(self, deadline: float) -> None:
        """Send nothing, and wait for no response, after ``deadline`` (seconds of the monotonic clock)."""
        ...


@runtime_checkable
class LedgerHolder(Sink, Protocol):
    """A sink whose target stores the state of runs itself."""

    @property
    def catalog(self) -> Any:
        """The open file, a :class:`dh_bridge.catalog.store.Catalog`."""
        ...


@runtime_checkable
class SupportsPatchForms(Protocol):
    """A sink that learns from responses which form of patches its server accepts."""

    @property
    def patch_forms(self) -> PatchForms | None:
        """The forms of patches; None before the server has reported its version."""
        ...


def reports_version(sink: Sink) -> TypeGuard[SupportsVersion]:
    """Return whether a sink reports the version of its server."""
    return kind_of(sink).reports_version


def can_read(sink: Sink) -> TypeGuard[ReadableSink]:
    """Return whether a sink can be read."""
    return kind_of(sink).is_readable


def holds_ledger(sink: Sink) -> TypeGuard[LedgerHolder]:
    """Return whether the target of a sink stores the state of runs itself."""
    return kind_of(sink).has_own_ledger


def learns_patch_forms(sink: Sink) -> TypeGuard[SupportsPatchForms]:
    """Return whether a sink learns which form of patches its server accepts."""
    return kind_of(sink).learns_patch_forms


def set_deadline(sink: Sink, deadline: float) -> None:
    """Set the ``deadline`` of a sink (seconds of the monotonic clock), if its emit and read can be bounded."""
    if kind_of(sink).has_deadline:
        cast("SupportsDeadline", sink).set_deadline(deadline)


def dropped_counts(sink: Sink) -> Counter[str]:
    """Return how many proposals a sink dropped, by rule; the counts keep growing."""
    counts: Counter[str] | None = getattr(sink, "dropped_counts", None)
    return Counter() if counts is None else counts


def is_sink(value: object) -> TypeGuard[Sink]:
    """Return whether a caller's object can be used as a sink."""
    return callable(getattr(value, "emit", None))


def open_readonly(target: str) -> ListableSink:
    """Return a read-only sink of a target that lists its entities; a SinkError if the target does not exist."""
    opener = cast("Callable[[str], ListableSink]", load_sink(target).open_readonly)
    return opener(address_of(target))


def missing_urns(readable: Readable, urns: Iterable[str]) -> set[str]:
    """Return the entities that a target does not have."""
    aspects_by_urn = {urn: [key_aspect(urn)] for urn in urns}
    return aspects_by_urn.keys() - readable.read(aspects_by_urn).keys() if aspects_by_urn else set()


class SinkWrapper(Closable, Readable):
    """A sink around another one: it is of the same kind, and has the abilities of the inner sink.

    ``dropped_counts`` counts by rule what this sink and the inner ones dropped.
    """

    def __init__(self, sink: Sink) -> None:
        self.name = sink.name
        self.kind = kind_of(sink)
        self.dropped_counts = dropped_counts(sink)
        self._sink = sink
        self._untyped_sink: Any = sink  # it has the abilities of its kind only

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Pass a batch to the inner sink."""
        return self._sink.emit(proposals)

    def close(self) -> None:
        """Close the inner sink."""
        self._sink.close()

    def __enter__(self) -> Self:
        self._sink.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._sink.__exit__(kind, error, trace)

    def read(self, aspects_by_urn: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Read from the inner sink."""
        stored_aspects: dict[str, dict[str, StoredAspect]] = self._untyped_sink.read(aspects_by_urn)
        return stored_aspects

    @property
    def forbidden_urns(self) -> Collection[str]:
        """The entities that the token of the inner sink may not read."""
        urns: Collection[str] = self._untyped_sink.forbidden_urns
        return urns

    def urns(self) -> Iterable[str]:
        """Return all entities of the inner sink."""
        urns: Iterable[str] = self._untyped_sink.urns()
        return urns

    def version(self) -> str | None:
        """Return the version of the inner sink's server."""
        version: str | None = self._untyped_sink.version()
        return version

    def set_deadline(self, deadline: float) -> None:
        """Set the deadline of the inner sink."""
        self._untyped_sink.set_deadline(deadline)

    @property
    def catalog(self) -> Any:
        """The open file of the inner sink."""
        return self._untyped_sink.catalog

    @property
    def patch_forms(self) -> PatchForms | None:
        """The forms of patches that the inner sink has learned."""
        forms: PatchForms | None = self._untyped_sink.patch_forms
        return forms
