"""A sink writes proposals to a target, and reports which of them the target rejected.

``SINK_KINDS`` declares every kind of target: what a command must know before it opens the target, and which abilities its sinks
have beside emit and close (:mod:`dh_bridge.sinks.abilities`). All other modules ask these two, so a new sink touches its own
module and one row of ``SINK_KINDS``. tests/sinks/test_sink_contract.py checks that every declared ability is implemented.

Sinks do not know the settings: an entry point makes :class:`SinkOptions` of settings, flags and environment, and ``open_sink``
passes them to the sink's ``open_target(address, options)``. A sink converts its area (``options.rest``, ``options.kafka``) into
a struct of its own with ``msgspec.convert``, and adds ``options.system_metadata()`` to its proposals if the format has a field
for it.
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


class Closable(ABC):
    """An object that is closed at the end of ``with``."""

    @abstractmethod
    def close(self) -> None:
        """Close connections and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class Failure(msgspec.Struct, frozen=True):
    """A proposal that was rejected, the reason, and whether a retry can succeed."""

    proposal: Proposal
    reason: str
    retryable: bool = False


class Delivery(msgspec.Struct, frozen=True):
    """The result of a batch: how many proposals arrived, and the others."""

    delivered_count: int
    failures: list[Failure]


def split_unreadable(proposals: Sequence[Proposal], version: str | None) -> tuple[list[Proposal], list[Failure]]:
    """Return the proposals whose entities a server of ``version`` can read, and the others as failures."""
    readable: list[Proposal] = []
    failures: list[Failure] = []
    for proposal in proposals:
        reason = unreadable_urn(proposal.entity_urn, version)
        if reason is None:
            readable.append(proposal)
        else:
            failures.append(Failure(proposal, reason))
    return readable, failures


class SinkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a sink beside its target, as plain values.

    A sink raises a SettingsError for an option that it cannot apply.

    ``file_format``: ``ndjson`` or ``json``. ``rest`` and ``kafka``: the settings areas of these names, secrets as text.
    ``run_id`` and ``pipeline_name`` become the systemMetadata of every proposal; without a run id there is none.
    ``datahub_version``: the version that the proposals are rendered for, if the settings or a server state one.
    ``patch_forms``: the form of patches that the server accepts, as the ledger stored it.
    """

    file_format: str | None = None
    rest: Mapping[str, Any] = {}
    kafka: Mapping[str, Any] = {}
    run_id: str | None = None
    pipeline_name: str | None = None
    datahub_version: str | None = None
    patch_forms: PatchForms | None = None

    def system_metadata(self) -> dict[str, Any] | None:
        """Return the systemMetadata of a proposal that is written now (``lastObserved`` in milliseconds), None without a run."""
        if self.run_id is None:
            return None
        pipeline = {} if self.pipeline_name is None else {"pipelineName": self.pipeline_name}
        return {"lastObserved": time.time_ns() // 1_000_000, "runId": self.run_id, **pipeline}


class Sink(Protocol):
    """A target that accepts proposals. An object with ``emit`` and ``close`` is a sink; it needs no base class.

    Example:
        >>> from dh_bridge.datahub.proposal import upsert
        >>> with open_sink("memory:") as sink:
        ...     sink.emit([upsert("tag", "urn:li:tag:daily", "tagProperties", {"name": "daily"})]).delivered_count
        1
    """

    name: str

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver a batch, in order.

        Args:
            proposals: the proposals.

        Returns:
            The number of proposals that arrived, and those that were rejected one by one.

        Raises:
            SinkError: no proposal of the batch counts as delivered.
        """
        ...

    def close(self) -> None:
        """Write what is still buffered. A second call does nothing; ``emit`` raises a SinkError afterwards.

        Raises:
            SinkError: what was buffered cannot be written.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


@dataclass(frozen=True, kw_only=True)
class SinkKind:
    """A kind of target, and the abilities of its sinks beside emit and close.

    Known before the target is opened:

    Attributes:
        scheme: the prefix of a target of this kind, and the name of its sinks.
        module: the module whose ``open_target(address, options)`` opens it; empty for a sink that is no target of a command.
        is_persistent: proposals outlive the process.
        is_local_file: the target is the path of a file on this machine; opening it for writing creates the file.
        is_server: the target is a service that others share: it has a login, and ``max_new_entities_per_hour`` holds for it.
        settings_areas: the areas of the settings that its sinks read, fields of :class:`SinkOptions`.
        limits_new_entities: an entity can be new there; in a file of proposals none is.
        is_parallel: several processes may deliver at once.
        rejects_later: it accepts every proposal, and reports in a topic what could not be written.
        address_pattern: the form of its addresses, for a message to a user who left out the scheme.
        locate: returns the address of a target for notes: without secrets, a file with its whole path.
        by_suffix: ending of a file -> its kind, if it differs.

    Abilities of its sinks:

    Attributes:
        is_readable: ``read`` returns present aspects, and ``forbidden_urns`` entities that may not be read (``Readable``).
        lists_entities: ``urns`` returns all entities, and the module has ``open_readonly(address)`` (``Listable``).
        reports_version: ``version`` asks DataHub for its version (``SupportsVersion``); opening the target writes nothing.
        needs_version: it cannot ask: which proposals it may write follows from the version in ``SinkOptions.datahub_version``, and it
            counts in ``dropped_counts`` those that it does not write.
        has_deadline: ``set_deadline`` bounds how long emit and read may take (``SupportsDeadline``).
        atomic_on_close: nothing can be read before ``close``, which replaces the older contents.
        has_own_ledger: the target stores the state of runs itself, in its ``catalog`` (``LedgerHolder``).
        learns_patch_forms: ``patch_forms`` has the form of patches that the server accepts (``SupportsPatchForms``).
    """

    scheme: str
    module: str = ""
    is_persistent: bool = True
    is_local_file: bool = False
    is_server: bool = False
    settings_areas: tuple[str, ...] = ()
    limits_new_entities: bool = True
    is_parallel: bool = False
    rejects_later: bool = False
    address_pattern: re.Pattern[str] | None = None
    locate: Callable[[str, SinkOptions], str] = lambda place, _options: place
    by_suffix: Mapping[str, SinkKind] = field(default_factory=dict)
    is_readable: bool = False
    lists_entities: bool = False
    reports_version: bool = False
    needs_version: bool = False
    has_deadline: bool = False
    atomic_on_close: bool = False
    has_own_ledger: bool = False
    learns_patch_forms: bool = False


UNDECLARED_KIND = SinkKind(scheme="")
"""The kind of a caller's own sink that declares none: it has emit and close only."""


def kind_of(sink: object) -> SinkKind:
    """Return the kind of an open sink, ``UNDECLARED_KIND`` for one that declares none."""
    kind: SinkKind = getattr(sink, "kind", UNDECLARED_KIND)
    return kind


class StoredAspect(msgspec.Struct, frozen=True):
    """A present aspect: its value and, if the target knows them, the run, the pipeline and the actor that wrote it."""

    value: dict[str, Any]
    run_id: str | None = None
    pipeline_name: str | None = None
    actor: str | None = None


_URL = re.compile(r"(?P<scheme>.*?://)(?:[^/@?#]*@)?(?P<place>[^@?#]*)(?:[?#][^@]*)?", re.DOTALL)
"""An address; a second @ makes it invalid, because the end of a password is then unknown."""


def _locate_server(_address: str, options: SinkOptions) -> str:
    return strip_credentials(options.rest["server"]).rstrip("/")


def _locate_topic(address: str, options: SinkOptions) -> str:
    return f"{address or options.kafka['bootstrap']}, topic {options.kafka['topic']}"


def _locate_file(address: str, _options: SinkOptions) -> str:
    return address if address in _FILELESS_ADDRESSES else str(Path(address).absolute())


_FILELESS_ADDRESSES = ("", "-")
"""Targets that are no files: no path, or standard output."""

_FILE_KIND = SinkKind(
    scheme="file",
    module="dh_bridge.sinks.file",
    is_local_file=True,
    limits_new_entities=False,
    address_pattern=re.compile(r"(?!.*://).*\.(nd)?json"),
    locate=_locate_file,
)

JSON_ARRAY_KIND = replace(_FILE_KIND, needs_version=True, atomic_on_close=True)
"""The kind of a file with one JSON array."""

METADATA_SERVICE_TARGET = "rest:"
"""The target that is DataHub's metadata service, at the address of the settings or of the environment."""

SINK_KINDS = {
    kind.scheme: kind
    for kind in (
        SinkKind(scheme="memory", module="dh_bridge.sinks.memory", is_persistent=False),
        replace(_FILE_KIND, by_suffix={".json": JSON_ARRAY_KIND}),
        SinkKind(
            scheme="catalog",
            module="dh_bridge.sinks.catalog",
            is_local_file=True,
            is_readable=True,
            lists_entities=True,
            has_own_ledger=True,
            address_pattern=re.compile(r"(?!.*://).*\.db"),
            locate=_locate_file,
        ),
        SinkKind(
            scheme="rest",
            module="dh_bridge.sinks.rest.sink",
            is_server=True,
            settings_areas=("rest",),
            is_readable=True,
            reports_version=True,
            has_deadline=True,
            learns_patch_forms=True,
            address_pattern=re.compile("https?://"),
            locate=_locate_server,
        ),
        SinkKind(
            scheme="kafka",
            module="dh_bridge.sinks.kafka.sink",
            is_server=True,
            settings_areas=("rest", "kafka"),
            is_parallel=True,
            rejects_later=True,
            needs_version=True,
            locate=_locate_topic,
        ),
    )
}
"""Scheme of a target -> its kind; the module is imported when a target is opened."""


def open_sink(target: str, options: SinkOptions | None = None) -> Sink:
    """Return the sink of ``memory:``, ``file:PATH`` (``-`` is standard output), ``catalog:FILE``.

    ``rest:URL`` or ``kafka:BROKERS``.

    A SettingsError names the known schemes, or the option that the sink cannot apply; a SinkError has the reason why a target
    cannot be written.
    """
    opener = cast("Callable[[str, SinkOptions], Sink]", load_sink(target).open_target)
    return opener(address_of(target), options or SinkOptions())


def load_sink(target: str) -> Any:
    """Import and return the module of a target; a SettingsError as that of :func:`target_kind`."""
    return import_module(target_kind(target).module)


def address_of(target: str) -> str:
    """Return a target without its scheme."""
    return target.partition(":")[2]


def local_path(target: str) -> str | None:
    """Return the path of the local file that a target writes; None for another target."""
    kind, path = find_kind(target), address_of(target)
    return path if kind is not None and kind.is_local_file and path not in _FILELESS_ADDRESSES else None


def find_kind(target: str) -> SinkKind | None:
    """Return the kind of a target; None if it has none of the known schemes."""
    scheme, colon, address = target.partition(":")
    kind = SINK_KINDS.get(scheme) if colon else None
    return None if kind is None else kind.by_suffix.get(Path(address).suffix.lower(), kind)


def target_kind(target: str) -> SinkKind:
    """Return the kind of a target.

    Raises:
        SettingsError: the scheme is unknown; the message names the persistent kinds, and the target that was probably meant.
    """
    kind = find_kind(target)
    if kind is not None:
        return kind
    scheme, colon, address = target.partition(":")
    persistent_schemes = [name for name, sink_kind in SINK_KINDS.items() if sink_kind.is_persistent]
    similar_schemes = (
        get_close_matches(scheme.lower(), SINK_KINDS, 1, cutoff=0.7) if colon or scheme in SINK_KINDS else []
    )
    suggestions = [f"{name}:{strip_credentials(address)}" for name in similar_schemes]
    suggestions += [
        f"{name}:{strip_credentials(target)}"
        for name, kind in SINK_KINDS.items()
        if kind.address_pattern and kind.address_pattern.match(target.lower())
    ]
    remedy = f"use one of {', '.join(f'{name}:' for name in persistent_schemes)}" + (
        f"; did you mean {suggestions[0]}?" if suggestions else ""
    )
    raise SettingsError(f"unknown target {strip_credentials(target)!r}", location="--to", remedy=remedy)


def strip_credentials(target: str) -> str:
    """Return a target or address without user, password, query and fragment, for messages and notes."""
    if "://" not in target:
        return target
    match = _URL.fullmatch(target)
    return match["scheme"] + match["place"] if match else target.partition("://")[0] + "://…"
