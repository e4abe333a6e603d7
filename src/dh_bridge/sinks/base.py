"""What a sink is: a place that takes proposals, and says which of them it did not take.

Sinks know no settings module: a door makes :class:`SinkOptions` of settings, flags and environment, and ``open_sink`` hands
them to the sink's ``open_target(place, options)``. A sink turns its area (``options.rest``, ``options.kafka``) into a struct
of its own with ``msgspec.convert``, and puts ``options.system_metadata()`` on what it writes where the envelope knows it.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.urns import key_aspect
from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Closing(ABC):
    """What is closed at the end of ``with``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class Failure(msgspec.Struct, frozen=True):
    """A proposal that was refused, why, and whether sending it again can help."""

    proposal: Proposal
    reason: str
    retryable: bool = False


class Delivery(msgspec.Struct, frozen=True):
    """What became of a batch: how many proposals arrived, and those that did not."""

    delivered: int
    failed: list[Failure]


class SinkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink is told beside its target, as plain values; a sink refuses with a SettingsError what it cannot heed.

    ``file_format``: ``ndjson`` or ``json``. ``rest`` and ``kafka``: the settings areas of these names, secrets as text.
    ``run_id`` and ``pipeline_name`` go into the systemMetadata of every proposal; without a run id none is written.
    ``profile``: the version that the proposals are rendered for, where the settings or a server state one.
    ``patch_forms``: what the ledger noted of the form of patches that the server takes.
    """

    file_format: str | None = None
    rest: Mapping[str, Any] = {}
    kafka: Mapping[str, Any] = {}
    run_id: str | None = None
    pipeline_name: str | None = None
    profile: str | None = None
    patch_forms: PatchForms | None = None

    def system_metadata(self) -> dict[str, Any] | None:
        """Return the systemMetadata of a proposal that is written now (``lastObserved`` in milliseconds), None without a run."""
        if self.run_id is None:
            return None
        named = {} if self.pipeline_name is None else {"pipelineName": self.pipeline_name}
        return {"lastObserved": time.time_ns() // 1_000_000, "runId": self.run_id, **named}


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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Around(Closing):
    """A sink around another one: what it does not do itself is done, or known, by the inner sink.

    ``left_out`` counts by its rule what the sinks on the way did not let through.
    """

    def __init__(self, sink: Sink) -> None:
        self.name = sink.name
        shared: Counter[str] | None = getattr(sink, "left_out", None)
        self.left_out: Counter[str] = Counter() if shared is None else shared
        self._sink = sink

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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)


def tells_version(sink: object) -> TypeGuard[Versioned]:
    """Say whether a sink, or the one inside it, is Versioned; since Python 3.12 isinstance does not look inside."""
    return hasattr(sink, "version")


def tells_what_is_there(sink: Sink) -> TypeGuard[ReadableSink]:
    """Say whether a sink, or the one inside it, is Readable."""
    return hasattr(sink, "read")


def absent(place: Readable, urns: Iterable[str]) -> set[str]:
    """Return which of the entities a place does not have."""
    asked = {urn: [key_aspect(urn)] for urn in urns}
    return asked.keys() - place.read(asked).keys() if asked else set()


@runtime_checkable
class Versioned(Protocol):
    """A sink whose server tells its version: the profile follows it unless somebody chose one."""

    def version(self) -> str | None:
        """Return the server's version, None when it does not say; a SinkError when it does not answer."""
        ...


def forbidden(place: object) -> Collection[str]:
    """Return the entities that a place was asked for and that we may not read: whether they exist is not known."""
    urns: Collection[str] = getattr(place, "forbidden", ())
    return urns


class Present(msgspec.Struct, frozen=True):
    """An aspect that is there: its value, and, where the place knows it, the run, the pipeline and the actor that wrote it."""

    value: dict[str, Any]
    run_id: str | None = None
    pipeline_name: str | None = None
    actor: str | None = None


@runtime_checkable
class Readable(Protocol):
    """A sink that also says what is there."""

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return the present aspects by URN and name: ``wanted`` names URNs and their aspects, none of them meaning all.

        An entity that exists has an entry, empty where it has none of the aspects, if its key aspect is asked for.
        """
        ...


class ReadableSink(Sink, Readable, Protocol):
    """A sink that also says what is there."""


_ADDRESS = re.compile(r"(?P<scheme>.*?://)(?:[^/@?#]*@)?(?P<place>[^@?#]*)(?:[?#][^@]*)?", re.DOTALL)
"""An address; one with another @ is none, and nobody knows where a password ends."""

SINKS = {
    "memory": "dh_bridge.sinks.memory",
    "file": "dh_bridge.sinks.file",
    "catalog": "dh_bridge.sinks.catalog",
    "rest": "dh_bridge.sinks.rest.sink",
    "kafka": "dh_bridge.sinks.kafka.sink",
}
"""Scheme of a target -> the module whose ``open_target(place, options)`` opens it; imported when first asked for."""


_SIGNS = {
    "rest": re.compile("https?://"),
    "file": re.compile(r"(?!.*://).*\.(nd)?json"),
    "catalog": re.compile(r"(?!.*://).*\.db"),
}
"""Scheme -> what a place of that kind looks like, for one who left the scheme out."""


def open_sink(target: str, options: SinkOptions | None = None) -> Sink:
    """Return the sink of ``memory:``, ``file:PATH`` (``-`` is standard output), ``catalog:FILE``, ``rest:URL`` or ``kafka:BROKERS``.

    A SettingsError names the known schemes, or what the sink cannot heed; a SinkError says why a place cannot be written.
    """
    module = SINKS[known_scheme(target)]
    opener = cast("Callable[[str, SinkOptions], Sink]", import_module(module).open_target)
    return opener(target.partition(":")[2], options or SinkOptions())


def known_scheme(target: str) -> str:
    """Return the scheme of a target; a SettingsError names those that keep what they are given, and the one that fits."""
    scheme, colon, place = target.partition(":")
    if colon and scheme in SINKS:
        return scheme
    lasting = [name for name in SINKS if name != "memory"]
    near = get_close_matches(scheme.lower(), SINKS, 1, cutoff=0.7) if colon or scheme in SINKS else []
    meant = [f"{name}:{shown(place)}" for name in near]
    meant += [f"{name}:{shown(target)}" for name, sign in _SIGNS.items() if sign.match(target.lower())]
    now = f"use one of {', '.join(f'{name}:' for name in lasting)}" + (f"; did you mean {meant[0]}?" if meant else "")
    raise SettingsError(f"{shown(target)!r} is no known target", where="--to", now=now)


def shown(target: str) -> str:
    """Return a target, or an address, fit to be shown and kept: without user, password, query and fragment."""
    if "://" not in target:
        return target
    found = _ADDRESS.fullmatch(target)
    return found["scheme"] + found["place"] if found else target.partition("://")[0] + "://…"
