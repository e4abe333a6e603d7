"""The way from settings to an open sink: who is delivered to, with which token, for which version, under which run id.

The doors share it: it reads the clock and DataHub's own variables, so that sinks need neither settings nor environment.
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
from dh_bridge.ledger import Noted
from dh_bridge.review.completing import CompletingRuns
from dh_bridge.review.merging import Merging
from dh_bridge.settings.datahubenv import accounts, place_of
from dh_bridge.settings.kafka import registry_url
from dh_bridge.sinks.abilities import Around, can_read, names_version
from dh_bridge.sinks.base import (
    METADATA_SERVICE,
    Sink,
    SinkKind,
    SinkOptions,
    address,
    find_kind,
    kind_of,
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

_LOGINS = ("token", "token_file", "oauth")
_ASKED_FIRST = "is that DataHub's address? its version is asked first, unless the setting `profile` tells it"
_SOON = 3.0
"""Seconds that a server may take to say its version where the last one will do: Airflow gives a listener ten for all it does."""
_TIMES = ("message.timeout.ms", "delivery.timeout.ms", "linger.ms", "queue.buffering.max.ms")
"""Names of librdkafka that would win over ``kafka.timeout``, or that it wants to be shorter than that."""


class Destination(NamedTuple):
    """An open sink, the settings with the profile that its server wants, what was said to the sink, and the server's version.

    ``place`` is where the sink leads, fit to be kept: a server's address without secrets, a file's whole path. ``answered``: the
    version is what the server said now, not the last time. ``kind`` is that of the target: the sink of a dry run is another one.
    """

    sink: Sink
    settings: Settings
    options: SinkOptions
    version: str | None
    place: str
    kind: SinkKind
    answered: bool = True

    @property
    def creates(self) -> bool:
        """Whether the target can write an aspect only where it is absent."""
        return not self.kind.versioned or drops_creates_silently(self.settings.profile)

    def described(self, target: str, identity: str | None = None) -> str:
        """Return, for people, where ``target`` leads, as what it is written and under which id.

        A target that leaves its address to settings and environment is shown with it.
        """
        target = self.place if self.kind.server and not address(target) else target
        since = "" if self.answered else "does not answer; the last time "
        version = f" ({since}DataHub {self.version})" if self.version else ""
        named = f", identity {identity}" if identity else ""
        return f"{target}{version}: {self._profile()}{named}, run {self.options.run_id}"

    def _profile(self) -> str:
        """Return the profile, and why it was chosen where neither the settings nor the server state a version."""
        chosen = profile(self.settings.profile).name
        if self.settings.profile is None:
            return f"profile {chosen} (the newest: no DataHub version is known; pass --profile VERSION for an older server)"
        parts = parse_version(self.version or self.settings.profile)
        newer = is_newer_cloud(self.version) or (parts is not None and parts[:2] > profile(chosen).version[:2])
        return f"profile {chosen} (the newest that dh-bridge knows)" if newer else f"profile {chosen}"


class Guarded(Around):
    """A sink that takes only what ``writes`` lets be written; the rest is counted in ``left_out`` by its rule."""

    def __init__(self, sink: Sink, writes: WritesSettings) -> None:
        super().__init__(sink)
        self._writes = writes

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver what may be written."""
        kept = []
        for one in proposals:
            rule = self._writes.refusal(one.entity_type, one.aspect_name)
            if rule is None:
                kept.append(one)
            else:
                self.left_out[rule] += 1
        return self._sink.emit(kept)


def new_run_id() -> str:
    """Return an id for what is written now: ``dh_bridge-2026_11_22-01_02_03-9f3a1c``."""
    return f"dh_bridge-{datetime.now(timezone.utc):%Y_%m_%d-%H_%M_%S}-{secrets.token_hex(3)}"


def open_destination(  # noqa: PLR0913 - what flags may say
    target: str,
    settings: Settings,
    *,
    file_format: str | None = None,
    run_id: str | None = None,
    dry_run: bool = False,
    known: Noted | None = None,
    ledger: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Destination:
    """Open ``target``; its server is asked for its version unless the settings choose a profile.

    ``known``: what the ledger of this destination noted. If it holds the server's version, the server is asked once and briefly,
    and the noted version is used when the server does not answer. ``dry_run`` opens no place that opening would change: the sink
    is then one in memory. ``ledger``: as of :func:`around`. A SettingsError names what cannot be used, a SinkError says why the place cannot be written or the
    server not be asked.
    """
    environ = os.environ if environ is None else environ
    known = known or Noted()
    kind = target_kind(target)
    options = SinkOptions(
        **_areas(kind, settings, target, environ),
        file_format=file_format,
        run_id=run_id or new_run_id(),
        pipeline_name=settings.pipeline_name,
        profile=settings.profile,
        patch_forms=known.patch_forms,
    )
    version, answered = None, True
    asks = settings.profile is None and bool(options.rest.get("server"))
    if asks and not kind.names_version:  # before its sink is opened, which writes patches in the form of that version
        version, answered = _server_version(options, known.version)
        settings = written_for(version, settings)
        options = msgspec.structs.replace(options, profile=settings.profile)
    in_memory = dry_run and not kind.names_version
    sink = MemorySink() if in_memory else open_sink(target, options)
    if asks and kind.names_version:
        try:
            version, answered = _server_version(options, known.version, sink)
            settings = written_for(version, settings)
        except BaseException:
            sink.close()
            raise
    place = f"{kind.scheme}:{kind.located(address(target), options)}"
    kind = kind if in_memory else kind_of(sink)  # of a file the format may decide
    return Destination(around(sink, settings, ledger=ledger), settings, options, version, place, kind, answered)


def _areas(kind: SinkKind, settings: Settings, target: str, environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the areas of the settings that the sinks of a kind read."""
    areas: dict[str, Callable[[], dict[str, Any]]] = {
        "rest": lambda: rest_area(settings, target, environ),
        "kafka": lambda: registry_url(plain(settings.kafka), environ),
    }
    return {name: areas[name]() for name in kind.areas}


def written_for(version: str | None, settings: Settings) -> Settings:
    """Return the settings with the version of a server; as they are where it names none.

    A server that is newer than every profile gets the newest one. A SettingsError when it is older than the oldest.
    """
    if version is None:
        return settings
    newest = server_profile(version).name == newest_profile()
    return settings.model_copy(update={"profile": newest_profile() if newest else version})


def need_ledger(target: str, settings: Settings) -> None:
    """Refuse, with a SettingsError, to deliver without a ledger what only a ledger can hold back; those call it who have none."""
    if settings.max_new_entities_per_hour is not None and target_kind(target).server:
        raise SettingsError(
            "what is too much waits in a ledger, and there is none",
            where="max_new_entities_per_hour",
            now="name one: dh-bridge emit --ledger FILE",
        )


def refused(failed: Sequence[Failure], of: int) -> SinkError:
    """Return the error that ``failed`` of ``of`` proposals come to; it is retryable when all of them are."""
    first = failed[0]
    return SinkError(
        f"{len(failed)} of {of} proposals were refused, first: {first.reason}",
        where=f"{first.proposal.entity_urn} {first.proposal.aspect_name}",
        retryable=all(failure.retryable for failure in failed),
    )


def around(sink: Sink, settings: Settings, *, ledger: bool = False) -> Sink:
    """Put around a sink what the settings want to happen before anything is written.

    ``ledger``: a ledger knows the runs, so that nothing of them needs to be read from the target.
    """
    join, keep_schemas = settings.state == "read", settings.schema_.write == "if_absent"
    if (join or keep_schemas) and can_read(sink):
        sink = Merging(sink, join=join, keep_schemas=keep_schemas, pipeline=settings.pipeline_name)
    elif join and kind_of(sink).persistent:
        with sink:  # left by an error, it leaves what is there alone
            raise SettingsError(
                f"{sink.name}: cannot be read", where="state", now="deliver to rest: or catalog:, or set none"
            )
    if not ledger and can_read(sink):
        sink = CompletingRuns(sink, prefix=settings.properties.prefix + ".")
    if settings.writes.entities or settings.writes.aspects:
        sink = Guarded(sink, settings.writes)
    return sink


def _server_version(options: SinkOptions, last: str | None, sink: Sink | None = None) -> tuple[str | None, bool]:
    """Return the version of the configured server, None where it names none, and whether the server named it now.

    Args:
        options: with the server in ``options.rest``.
        last: the version that the server named before. If it is known, the server is asked once and briefly, and ``last`` is
            returned when it does not answer.
        sink: the open sink of that server, which is as patient as the settings.

    Raises:
        SinkError: the server does not answer and ``last`` is not known, or the server refuses to answer.
    """
    try:
        if sink is not None and not last:
            return (sink.version() if names_version(sink) else None), True
        rest = dict(options.rest)
        if last:
            rest |= {"retries": 0, "timeout": min(rest["timeout"], _SOON)}
        with open_sink(METADATA_SERVICE, msgspec.structs.replace(options, file_format=None, rest=rest)) as server:
            return (server.version() if names_version(server) else None), True
    except SinkError as error:
        if not error.retryable:
            raise
        if not last:
            error.now = error.now or _ASKED_FIRST
            raise
        return last, False


def rest_area(settings: Settings, target: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the area ``rest`` with the server and the token that DataHub's own places name, where it names none.

    A login of the area, and its headers, are for the server that it names: a ``target`` elsewhere does not see them.
    """
    area = plain(settings.rest)
    found = accounts(environ, Path(environ.get("HOME") or Path.home()))
    kind = find_kind(target)
    named = address(target) if kind is not None and kind.names_version else ""
    if named and area["server"] and place_of(named) != place_of(area["server"]):
        area |= dict.fromkeys(_LOGINS)
        area["headers"] = {}
    if not named:
        area["named_by"] = "rest.server" if area["server"] else next((one.origin for one in found if one.server), "")
    area["server"] = named or area["server"] or next((one.server for one in found if one.server), None)
    if area["server"] and not any(area[name] for name in _LOGINS):
        logins = (one.login_for(area["server"]) for one in found)
        area |= next((login for login in logins if login), {})
    return area


def hurried_settings(settings: Settings, left: float) -> Settings:
    """Return the settings with no wait longer than the seconds that are ``left``, and no tries but those of who delivers.

    A sink that waits and tries by itself would go on doing so when nobody waits for it any more.
    """
    rest, kafka = settings.rest, settings.kafka
    producer = {name: value for name, value in kafka.producer.items() if name not in _TIMES}
    hurried_rest = {"timeout": min(rest.timeout, left), "retries": 0}
    hurried_kafka = {"timeout": min(kafka.timeout, left), "producer": producer}
    areas = {"rest": rest.model_copy(update=hurried_rest), "kafka": kafka.model_copy(update=hurried_kafka)}
    return settings.model_copy(update=areas)


def plain(area: BaseModel) -> dict[str, Any]:
    """Return a settings area as plain values, secrets as text."""
    return {field.alias or name: _plain(getattr(area, name)) for name, field in type(area).model_fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, BaseModel):
        return plain(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
