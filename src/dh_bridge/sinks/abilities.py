"""What a sink can do beside emit and close, where its kind declares it (``SinkKind`` in :mod:`dh_bridge.sinks.base`).

Ask the functions of this module whether a sink has an ability; no other module looks for its methods.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable

from dh_bridge.datahub.urns import key_aspect
from dh_bridge.sinks.base import Closing, Sink, address, kind_of, load_sink

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from dh_bridge.datahub.generic_aspect import PatchForms
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Delivery, Present


@runtime_checkable
class Versioned(Protocol):
    """A sink that names the version of its server: proposals are rendered for it unless the settings choose one."""

    def version(self) -> str | None:
        """Return the server's version, None when it names none; a SinkError when it does not answer."""
        ...


@runtime_checkable
class Readable(Protocol):
    """A place that can be read; its subclasses may read all that they are asked for, unless they say otherwise."""

    @property
    def forbidden(self) -> Collection[str]:
        """The entities that ``read`` was asked for and that we may not read: whether they exist is not known."""
        return ()

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return the present aspects by URN and name: ``wanted`` names URNs and their aspects, none of them meaning all.

        An entity that exists has an entry, empty where it has none of the aspects, if its key aspect is asked for.
        """
        ...


class ReadableSink(Sink, Readable, Protocol):
    """A sink that can be read."""


@runtime_checkable
class Listing(Readable, Protocol):
    """A place that can be read, and that knows all its entities."""

    def urns(self) -> Iterable[str]:
        """Return the URNs of all entities."""
        ...


class ListingSink(Sink, Listing, Protocol):
    """A sink that can be read, and that knows all its entities."""


@runtime_checkable
class Hurried(Protocol):
    """A sink whose emit and read can be bounded in time."""

    def until(self, end: float) -> None:
        """Send nothing, and wait for no answer, after ``end`` (seconds of the monotonic clock)."""
        ...


@runtime_checkable
class LedgerHolder(Sink, Protocol):
    """A sink whose target keeps the state of runs itself."""

    @property
    def catalog(self) -> Any:
        """The open file, a :class:`dh_bridge.catalog.store.Catalog`."""
        ...


@runtime_checkable
class PatchLearner(Protocol):
    """A sink that learns from answers which form of patches its server takes."""

    @property
    def patch_forms(self) -> PatchForms | None:
        """The forms of patches; None before the server has named its version."""
        ...


def names_version(sink: Sink) -> TypeGuard[Versioned]:
    """Return whether a sink names the version of its server."""
    return kind_of(sink).names_version


def can_read(sink: Sink) -> TypeGuard[ReadableSink]:
    """Return whether a sink can be read."""
    return kind_of(sink).readable


def holds_ledger(sink: Sink) -> TypeGuard[LedgerHolder]:
    """Return whether the target of a sink keeps the state of runs itself."""
    return kind_of(sink).own_ledger


def learns_patch_forms(sink: Sink) -> TypeGuard[PatchLearner]:
    """Return whether a sink learns which form of patches its server takes."""
    return kind_of(sink).learns_patch_forms


def set_deadline(sink: Sink, end: float) -> None:
    """Let a sink end at ``end`` (seconds of the monotonic clock), if its emit and read can be bounded."""
    if kind_of(sink).deadline:
        cast("Hurried", sink).until(end)


def left_out(sink: Sink) -> Counter[str]:
    """Return how many proposals a sink did not let through, by the rule; it goes on counting."""
    counts: Counter[str] | None = getattr(sink, "left_out", None)
    return Counter() if counts is None else counts


def is_sink(thing: object) -> TypeGuard[Sink]:
    """Return whether a caller's object can be used as a sink."""
    return callable(getattr(thing, "emit", None))


def open_readonly(target: str) -> ListingSink:
    """Return the sink of a target that lists its entities, opened to be read; a SinkError if there is none."""
    opener = cast("Callable[[str], ListingSink]", load_sink(target).open_readonly)
    return opener(address(target))


def absent(place: Readable, urns: Iterable[str]) -> set[str]:
    """Return which of the entities a place does not have."""
    asked = {urn: [key_aspect(urn)] for urn in urns}
    return asked.keys() - place.read(asked).keys() if asked else set()


class Around(Closing, Readable):
    """A sink around another one: it is of the same kind, and has the abilities of the inner sink.

    ``left_out`` counts by its rule what the sinks on the way did not let through.
    """

    def __init__(self, sink: Sink) -> None:
        self.name = sink.name
        self.kind = kind_of(sink)
        self.left_out = left_out(sink)
        self._sink = sink
        self._able: Any = sink  # it has the abilities of its kind, and is asked for no other

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Hand a batch to the inner sink."""
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

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Read from the inner sink."""
        present: dict[str, dict[str, Present]] = self._able.read(wanted)
        return present

    @property
    def forbidden(self) -> Collection[str]:
        """The entities that the inner sink may not read."""
        urns: Collection[str] = self._able.forbidden
        return urns

    def urns(self) -> Iterable[str]:
        """Return all entities of the inner sink."""
        urns: Iterable[str] = self._able.urns()
        return urns

    def version(self) -> str | None:
        """Return the version of the inner sink's server."""
        version: str | None = self._able.version()
        return version

    def until(self, end: float) -> None:
        """Bound the inner sink in time."""
        self._able.until(end)

    @property
    def catalog(self) -> Any:
        """The open file of the inner sink."""
        return self._able.catalog

    @property
    def patch_forms(self) -> PatchForms | None:
        """The forms of patches that the inner sink has learned."""
        forms: PatchForms | None = self._able.patch_forms
        return forms
