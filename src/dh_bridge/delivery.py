"""From settings to an open sink: target, token, DataHub version and run id.

The entry points share it: it reads the clock and DataHub's own variables, so that sinks need neither settings nor environment.
"""

from __future__ import annotations

import os
import secrets
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from pydantic import BaseModel, SecretStr

from dh_bridge.datahub.creates import drops_creates_silently
from dh_bridge.datahub.profiles import newest_profile, profile, server_profile
from dh_bridge.datahub.versions import is_newer_cloud, parse_version
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger import LedgerNotes
from dh_bridge.review.completing import RunCompletingSink
from dh_bridge.review.merging import MergingSink
from dh_bridge.settings.datahubenv import read_accounts, server_address
from dh_bridge.settings.kafka import registry_url
from dh_bridge.sinks.abilities import SinkWrapper, can_read, reports_version
from dh_bridge.sinks.base import (
    METADATA_SERVICE_TARGET,
    Sink,
    SinkKind,
    SinkOptions,
    address_of,
    find_kind,
    kind_of,
    load_sink,
    open_sink,
    target_kind,
)
from dh_bridge.sinks.memory import MemorySink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.settings import Settings
    from dh_bridge.settings.writes import WritesSettings
    from dh_bridge.sinks.base import Delivery, Failure

_LOGINS = ("token", "token_file")
_VERSION_REMEDY = (
    "check the address of DataHub, or set `datahub_version` to start without asking the server for its version"
)
_VERSION_TIMEOUT_SECONDS = 3.0
"""Seconds for the server to report its version if the last known one can be used: Airflow gives a listener ten in total."""
_LIBRDKAFKA_TIMEOUTS = ("message.timeout.ms", "delivery.timeout.ms", "linger.ms", "queue.buffering.max.ms")
"""Names of librdkafka that override ``kafka.timeout``, or that must be shorter than it."""


class DeliveryTarget(NamedTuple):
    """An open sink, the settings with the version of its server, the options of the sink, and the server's version.

    ``address`` is the target for notes: a server's address without secrets, a file's whole path. ``is_current_version``: the
    server reported the version now, not the last time. ``kind`` is that of the target: the sink of a dry run is another one.
    """

    sink: Sink
    settings: Settings
    options: SinkOptions
    version: str | None
    address: str
    kind: SinkKind
    is_current_version: bool = True

    @property
    def can_create(self) -> bool:
        """Return whether the target can write an aspect only if it is absent."""
        return not self.kind.needs_version or drops_creates_silently(self.settings.datahub_version)

    def describe(self, target: str, identity: str | None = None) -> str:
        """Return a text about the target: its address, the version and the run id.

        The address is added if the settings or the environment define it.
        """
        target = self.address if self.kind.is_server and not address_of(target) else target
        answer_text = "" if self.is_current_version else "unreachable; last seen: "
        version = f" ({answer_text}DataHub {self.version})" if self.version else ""
        identity_text = f", identity {identity}" if identity else ""
        return f"{target}{version}: {self._profile_text()}{identity_text}, run {self.options.run_id}"

    def _profile_text(self) -> str:
        """Return the version, and the reason for it if neither the settings nor the server state one."""
        profile_name = profile(self.settings.datahub_version).name
        if self.settings.datahub_version is None:
            return f"for DataHub {profile_name} (the newest: no DataHub version is known; pass --datahub-version VERSION for an older server)"
        parts = parse_version(self.version or self.settings.datahub_version)
        is_newer = is_newer_cloud(self.version) or (parts is not None and parts[:2] > profile(profile_name).version[:2])
        return f"for DataHub {profile_name}" + (" (the newest that dh-bridge knows)" if is_newer else "")


class WriteFilterSink(SinkWrapper):
    """A sink that drops what ``writes`` excludes; ``dropped_counts`` counts it by rule."""

    def __init__(self, sink: Sink, writes: WritesSettings) -> None:
        super().__init__(sink)
        self._writes = writes

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver what ``writes`` allows."""
        allowed_proposals = []
        for proposal in proposals:
            rule = self._writes.refusal(proposal.entity_type, proposal.aspect_name)
            if rule is None:
                allowed_proposals.append(proposal)
            else:
                self.dropped_counts[rule] += 1
        return self._sink.emit(allowed_proposals)


def new_run_id() -> str:
    """Return an id for the present delivery: ``dh_bridge-2026_11_22-01_02_03-9f3a1c``."""
    return f"dh_bridge-{datetime.now(timezone.utc):%Y_%m_%d-%H_%M_%S}-{secrets.token_hex(3)}"


def open_target(  # noqa: PLR0913 - one argument for each flag
    target: str,
    settings: Settings,
    *,
    file_format: str | None = None,
    run_id: str | None = None,
    dry_run: bool = False,
    target_notes: LedgerNotes | None = None,
    ledger: bool = False,
    environ: Mapping[str, str] | None = None,
) -> DeliveryTarget:
    """Open ``target``; its server is asked for its version, unless the settings have one.

    ``target_notes``: the notes of the ledger of this target. If they have the server's version, the server is asked once with a
    short timeout, and without an answer the noted version is used. With
    ``dry_run``, a sink in memory replaces a target that would be changed by opening it. ``ledger``: as for :func:`wrap_sink`.

    Raises:
        SettingsError: A setting or the target is invalid.
        SinkError: The target cannot be written, or the server does not answer.
    """
    environ = os.environ if environ is None else environ
    target_notes = target_notes or LedgerNotes()
    kind = target_kind(target)
    load_sink(target)  # a missing extra is reported before any server is asked
    options = SinkOptions(
        **_areas(kind, settings, target, environ),
        file_format=file_format,
        run_id=run_id or new_run_id(),
        pipeline_name=settings.pipeline_name,
        datahub_version=settings.datahub_version,
        patch_forms=target_notes.patch_forms,
    )
    version, is_current = None, True
    asks_version = settings.datahub_version is None and bool(options.rest.get("server"))
    if (
        asks_version and not kind.reports_version
    ):  # before its sink is opened, which writes patches in the form of that version
        version, is_current = _server_version(options, target_notes.version)
        settings = with_server_version(version, settings)
        options = msgspec.structs.replace(options, datahub_version=settings.datahub_version)
    in_memory = dry_run and not kind.reports_version
    sink = MemorySink() if in_memory else open_sink(target, options)
    if asks_version and kind.reports_version:
        try:
            version, is_current = _server_version(options, target_notes.version, sink)
            settings = with_server_version(version, settings)
        except BaseException:
            sink.close()
            raise
    place = f"{kind.scheme}:{kind.locate(address_of(target), options)}"
    kind = kind if in_memory else kind_of(sink)  # the format of a file may decide
    return DeliveryTarget(wrap_sink(sink, settings, ledger=ledger), settings, options, version, place, kind, is_current)


def _areas(kind: SinkKind, settings: Settings, target: str, environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the areas of the settings that the sinks of a kind read."""
    areas: dict[str, Callable[[], dict[str, Any]]] = {
        "rest": lambda: rest_options(settings, target, environ),
        "kafka": lambda: registry_url(plain_values(settings.kafka), environ),
    }
    return {name: areas[name]() for name in kind.settings_areas}


def with_server_version(version: str | None, settings: Settings) -> Settings:
    """Return the settings with the version of a server; unchanged if it reports none.

    A server that is newer than all known versions gets the newest one. A SettingsError if it is older than the oldest.
    """
    if version is None:
        return settings
    is_newest = server_profile(version).name == newest_profile()
    return settings.model_copy(update={"datahub_version": newest_profile() if is_newest else version})


def require_ledger(target: str, settings: Settings) -> None:
    """Raise a SettingsError for settings that need a ledger to hold proposals; for deliveries without a ledger."""
    if settings.max_new_entities_per_hour is not None and target_kind(target).is_server:
        raise SettingsError(
            "requires a ledger, where proposals beyond the limit wait",
            location="max_new_entities_per_hour",
            remedy="use dh-bridge emit --ledger FILE",
        )


def delivery_error(failures: Sequence[Failure], total: int) -> SinkError:
    """Return the error for ``failures`` of ``total`` proposals; it is retryable if all of them are."""
    first = failures[0]
    return SinkError(
        f"the target rejected {len(failures)} of {total} proposals, first: {first.reason}",
        location=f"{first.proposal.entity_urn} {first.proposal.aspect_name}",
        retryable=all(failure.retryable for failure in failures),
    )


def wrap_sink(sink: Sink, settings: Settings, *, ledger: bool = False) -> Sink:
    """Wrap a sink in the steps that the settings require before a write.

    ``ledger``: if a ledger has the state of the runs, the target need not be read for them.
    """
    join, keep_schemas = settings.state == "read", settings.schema_.write == "if_absent"
    if (join or keep_schemas) and can_read(sink):
        sink = MergingSink(sink, join=join, keep_schemas=keep_schemas, pipeline=settings.pipeline_name)
    elif join and kind_of(sink).is_persistent:
        with sink:  # after an error, the sink does not change the existing file
            raise SettingsError(
                f"cannot read aspects from {sink.name}",
                location="state",
                remedy="use a target rest: or catalog:, or set it to none",
            )
    if not ledger and can_read(sink):
        sink = RunCompletingSink(sink, prefix=settings.properties.prefix + ".")
    if settings.writes.entities or settings.writes.aspects:
        sink = WriteFilterSink(sink, settings.writes)
    return sink


def _server_version(
    options: SinkOptions, last_version: str | None, sink: Sink | None = None
) -> tuple[str | None, bool]:
    """Return the version of the configured server (None if it reports none), and whether the server reported it now.

    Args:
        options: with the server in ``options.rest``.
        last_version: the version that the server reported before. If it is set, the server is asked once with a short timeout, and
                ``last_version`` is returned if it does not answer.
            sink: the open sink of that server, whose timeouts are those of the settings.

    Raises:
        SinkError: the server does not answer and ``last_version`` is not known, or the server refuses to answer.
    """
    try:
        if sink is not None and not last_version:
            return (sink.version() if reports_version(sink) else None), True
        rest = dict(options.rest)
        if last_version:
            rest |= {"retries": 0, "timeout": min(rest["timeout"], _VERSION_TIMEOUT_SECONDS)}
        with open_sink(
            METADATA_SERVICE_TARGET, msgspec.structs.replace(options, file_format=None, rest=rest)
        ) as server:
            return (server.version() if reports_version(server) else None), True
    except SinkError as error:
        if not error.retryable:
            raise
        if not last_version:
            error.remedy = error.remedy or _VERSION_REMEDY
            raise
        return last_version, False


def rest_options(settings: Settings, target: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the area ``rest`` with the server and token of DataHub's own variables and file, if the settings name none.

    The login and headers of the area are for the server that it names: a ``target`` elsewhere does not get them.
    """
    area = plain_values(settings.rest)
    known_accounts = read_accounts(environ, Path(environ.get("HOME") or Path.home()))
    kind = find_kind(target)
    target_server = address_of(target) if kind is not None and kind.reports_version else ""
    if target_server and area["server"] and server_address(target_server) != server_address(area["server"]):
        area |= dict.fromkeys(_LOGINS)
        area["headers"] = {}
    if not target_server:
        area["named_by"] = (
            "rest.server"
            if area["server"]
            else next((account.origin for account in known_accounts if account.server), "")
        )
    area["server"] = (
        target_server or area["server"] or next((account.server for account in known_accounts if account.server), None)
    )
    if area["server"] and not any(area.get(name) for name in _LOGINS):
        logins = (account.login_for(area["server"]) for account in known_accounts)
        area |= next((login for login in logins if login), {})
    return area


def settings_with_deadline(settings: Settings, remaining_seconds: float) -> Settings:
    """Return the settings with all timeouts limited to ``remaining_seconds`` and without retries of the sink.

    Retries are those of the caller: a sink that retries by itself would continue when the caller no longer waits.
    """
    rest, kafka = settings.rest, settings.kafka
    producer = {name: value for name, value in kafka.producer.items() if name not in _LIBRDKAFKA_TIMEOUTS}
    hurried_rest = {"timeout": min(rest.timeout, remaining_seconds), "retries": 0}
    hurried_kafka = {"timeout": min(kafka.timeout, remaining_seconds), "producer": producer}
    areas = {"rest": rest.model_copy(update=hurried_rest), "kafka": kafka.model_copy(update=hurried_kafka)}
    return settings.model_copy(update=areas)


def plain_values(area: BaseModel) -> dict[str, Any]:
    """Return a settings area as plain values, secrets as text."""
    return {field.alias or name: _plain_value(getattr(area, name)) for name, field in type(area).model_fields.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, BaseModel):
        return plain_values(value)
    if isinstance(value, dict):
        return {key: _plain_value(inner) for key, inner in value.items()}
    return [_plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value
