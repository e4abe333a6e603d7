"""A sink is a place that takes proposals, and reports which of them it did not take.

``SINKS`` declares every kind of target: what a command has to know of it before it is opened, and which abilities its sinks
have beside emit and close (:mod:`dh_bridge.sinks.abilities`). All other modules ask these two, so a new sink touches its own
module and one row of ``SINKS``. tests/sinks/test_sink_contract.py checks that every declared ability is implemented.

Sinks know no settings module: a door makes :class:`SinkOptions` of settings, flags and environment, and ``open_sink`` hands
them to the sink's ``open_target(place, options)``. A sink turns its area (``options.rest``, ``options.kafka``) into a struct
of its own with ``msgspec.convert``, and puts ``options.system_metadata()`` on what it writes where the envelope knows it.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.urn_limits import unreadable_urn
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


def split_unreadable(proposals: Sequence[Proposal], version: str | None) -> tuple[list[Proposal], list[Failure]]:
    """Return the proposals whose entities a server of ``version`` can read, and the others as failures."""
    taken: list[Proposal] = []
    failed: list[Failure] = []
    for proposal in proposals:
        reason = unreadable_urn(proposal.entity_urn, version)
        if reason is None:
            taken.append(proposal)
        else:
            failed.append(Failure(proposal, reason))
    return taken, failed


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


@dataclass(frozen=True, kw_only=True)
class SinkKind:
    """What a kind of target is, and which abilities its sinks have beside emit and close.

    What a command knows before it opens the target:

    Attributes:
        scheme: what a target of this kind begins with, and the name of its sinks.
        module: the module whose ``open_target(place, options)`` opens it; empty for a sink that is no target of a command.
        persistent: what arrives is kept when the process ends.
        local_file: the place is the path of a file on this machine; opening it for writing creates the file.
        server: the target is a service that others share: it has a login, and ``max_new_entities_per_hour`` holds for it.
        areas: the areas of the settings that its sinks read, fields of :class:`SinkOptions`.
        asks_before_new_entities: an entity can be new there; in a file of proposals none is.
        parallel: several processes may deliver at once.
        refuses_later: it accepts every proposal, and reports in a topic what could not be written.
        sign: what an address of this kind looks like, for a message to a user who left out the scheme.
        located: returns where a target leads, fit to be kept: without secrets, a file with its whole path.
        by_ending: ending of a file -> the kind that such a file has, where it differs.

    Abilities of its sinks:

    Attributes:
        readable: ``read`` returns what is there, and ``forbidden`` what may not be read (``Readable``).
        lists_entities: ``urns`` returns all entities, and the module has ``open_readonly(place)`` (``Listing``).
        names_version: ``version`` asks DataHub for its version (``Versioned``); opening the target writes nothing.
        versioned: it cannot ask: which proposals it may write follows from the version in ``SinkOptions.profile``, and it
            counts in ``left_out`` those that it does not write.
        deadline: ``until`` bounds how long emit and read may take (``Hurried``).
        atomic_on_close: nothing can be read there before ``close``, which replaces what was there before.
        own_ledger: the target keeps the state of runs itself, in its ``catalog`` (``LedgerHolder``).
        learns_patch_forms: ``patch_forms`` tells which form of patches the server takes (``PatchLearner``).
    """

    scheme: str
    module: str = ""
    persistent: bool = True
    local_file: bool = False
    server: bool = False
    areas: tuple[str, ...] = ()
    asks_before_new_entities: bool = True
    parallel: bool = False
    refuses_later: bool = False
    sign: re.Pattern[str] | None = None
    located: Callable[[str, SinkOptions], str] = lambda place, _options: place
    by_ending: Mapping[str, SinkKind] = field(default_factory=dict)
    readable: bool = False
    lists_entities: bool = False
    names_version: bool = False
    versioned: bool = False
    deadline: bool = False
    atomic_on_close: bool = False
    own_ledger: bool = False
    learns_patch_forms: bool = False


PLAIN = SinkKind(scheme="")
"""The kind of a caller's own sink that declares none: it has emit and close."""


def kind_of(sink: object) -> SinkKind:
    """Return the kind of an open sink, ``PLAIN`` for one that declares none."""
    kind: SinkKind = getattr(sink, "kind", PLAIN)
    return kind


class Present(msgspec.Struct, frozen=True):
    """An aspect that is there: its value, and, where the place knows it, the run, the pipeline and the actor that wrote it."""

    value: dict[str, Any]
    run_id: str | None = None
    pipeline_name: str | None = None
    actor: str | None = None


_ADDRESS = re.compile(r"(?P<scheme>.*?://)(?:[^/@?#]*@)?(?P<place>[^@?#]*)(?:[?#][^@]*)?", re.DOTALL)
"""An address; one with another @ is none, and nobody knows where a password ends."""


def _server_place(_place: str, options: SinkOptions) -> str:
    return shown(options.rest["server"]).rstrip("/")


def _topic_place(place: str, options: SinkOptions) -> str:
    return f"{place or options.kafka['bootstrap']}, topic {options.kafka['topic']}"


def _file_place(place: str, _options: SinkOptions) -> str:
    return place if place in _NO_FILES else str(Path(place).absolute())


_NO_FILES = ("", "-")
"""Places that are no files: none is named, or it is standard output."""

_FILE = SinkKind(
    scheme="file",
    module="dh_bridge.sinks.file",
    local_file=True,
    asks_before_new_entities=False,
    sign=re.compile(r"(?!.*://).*\.(nd)?json"),
    located=_file_place,
)

JSON_ARRAY = replace(_FILE, versioned=True, atomic_on_close=True)
"""The kind of a file with one JSON array."""

METADATA_SERVICE = "rest:"
"""The target that is DataHub's metadata service, at the address of the settings or of the environment."""

SINKS = {
    kind.scheme: kind
    for kind in (
        SinkKind(scheme="memory", module="dh_bridge.sinks.memory", persistent=False),
        replace(_FILE, by_ending={".json": JSON_ARRAY}),
        SinkKind(
            scheme="catalog",
            module="dh_bridge.sinks.catalog",
            local_file=True,
            readable=True,
            lists_entities=True,
            own_ledger=True,
            sign=re.compile(r"(?!.*://).*\.db"),
            located=_file_place,
        ),
        SinkKind(
            scheme="rest",
            module="dh_bridge.sinks.rest.sink",
            server=True,
            areas=("rest",),
            readable=True,
            names_version=True,
            deadline=True,
            learns_patch_forms=True,
            sign=re.compile("https?://"),
            located=_server_place,
        ),
        SinkKind(
            scheme="kafka",
            module="dh_bridge.sinks.kafka.sink",
            server=True,
            areas=("rest", "kafka"),
            parallel=True,
            refuses_later=True,
            versioned=True,
            located=_topic_place,
        ),
    )
}
"""Scheme of a target -> its kind; the module is imported when a target is opened."""


def open_sink(target: str, options: SinkOptions | None = None) -> Sink:
    """Return the sink of ``memory:``, ``file:PATH`` (``-`` is standard output), ``catalog:FILE``, ``rest:URL`` or ``kafka:BROKERS``.

    A SettingsError names the known schemes, or what the sink cannot heed; a SinkError says why a place cannot be written.
    """
    opener = cast("Callable[[str, SinkOptions], Sink]", load_sink(target).open_target)
    return opener(address(target), options or SinkOptions())


def load_sink(target: str) -> Any:
    """Import and return the module of a target; a SettingsError as that of :func:`target_kind`."""
    return import_module(target_kind(target).module)


def address(target: str) -> str:
    """Return a target without its scheme."""
    return target.partition(":")[2]


def local_path(target: str) -> str | None:
    """Return the path of the local file that a target writes; None for another target."""
    kind, path = find_kind(target), address(target)
    return path if kind is not None and kind.local_file and path not in _NO_FILES else None


def find_kind(target: str) -> SinkKind | None:
    """Return the kind of a target; None if it has none of the known schemes."""
    scheme, colon, place = target.partition(":")
    kind = SINKS.get(scheme) if colon else None
    return None if kind is None else kind.by_ending.get(Path(place).suffix.lower(), kind)


def target_kind(target: str) -> SinkKind:
    """Return the kind of a target.

    Raises:
        SettingsError: the scheme is unknown; the message names the persistent kinds, and the target that was probably meant.
    """
    kind = find_kind(target)
    if kind is not None:
        return kind
    scheme, colon, place = target.partition(":")
    lasting = [name for name, other in SINKS.items() if other.persistent]
    near = get_close_matches(scheme.lower(), SINKS, 1, cutoff=0.7) if colon or scheme in SINKS else []
    meant = [f"{name}:{shown(place)}" for name in near]
    meant += [
        f"{name}:{shown(target)}" for name, kind in SINKS.items() if kind.sign and kind.sign.match(target.lower())
    ]
    now = f"use one of {', '.join(f'{name}:' for name in lasting)}" + (f"; did you mean {meant[0]}?" if meant else "")
    raise SettingsError(f"{shown(target)!r} is no known target", where="--to", now=now)


def shown(target: str) -> str:
    """Return a target, or an address, fit to be shown and kept: without user, password, query and fragment."""
    if "://" not in target:
        return target
    found = _ADDRESS.fullmatch(target)
    return found["scheme"] + found["place"] if found else target.partition("://")[0] + "://…"
