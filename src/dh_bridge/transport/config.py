"""The configuration of the transport in ``openlineage.yml``, beside ``type``."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from openlineage.client.transport.transport import Config

from dh_bridge.datahub.profiles import profile
from dh_bridge.delivery import require_ledger
from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import flags_of, load
from dh_bridge.sinks.base import METADATA_SERVICE_TARGET, target_kind

_LOCATION = "transport"
_KEYS = ("to", "config", "ledger", "settings")
_CLIENT_KEYS = ("type", "transports")
"""A key that the client adds: with a variable OPENLINEAGE_URL it makes a composite of any transport."""


@dataclass
class DataHubConfig(Config):
    """``to``: a target as of ``dh-bridge emit --to``; ``settings``: as of the command line.

    In a file: ``to`` (default ``rest:``, the server that DataHub's own tools use), ``config`` (a settings file, instead of
    ``dh_bridge.yml``), ``ledger`` (a file with the states of runs, as ``--ledger``) and ``settings`` (any settings by their
    keys).
    """

    to: str = METADATA_SERVICE_TARGET
    settings: Settings = field(default_factory=Settings)

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> DataHubConfig:
        """Return the configuration of a file or of variables; a SettingsError names an invalid key."""
        options = {key: value for key, value in params.items() if key not in _CLIENT_KEYS}
        for key in options:
            if key not in _KEYS:
                suggestions = get_close_matches(key, _KEYS, 1)
                remedy = f"did you mean `{suggestions[0]}`?" if suggestions else f"use one of {', '.join(_KEYS)}"
                raise SettingsError(f"unknown key `{key}`", location=_LOCATION, remedy=remedy)
        target = options.get("to") or cls.to
        if not isinstance(target, str):
            raise SettingsError("`to` is not a string", location=_LOCATION, remedy="e.g. rest:http://localhost:8080")
        target_kind(target)
        file = options.get("config") or None
        if not isinstance(file, str | None):
            raise SettingsError("`config` is not a string", location=_LOCATION, remedy="e.g. dh_bridge.yml")
        flags = flags_of(options.get("settings") or None, _LOCATION, ledger=options.get("ledger"))
        settings = load(file, flags=[*flags]).settings
        if settings.datahub_version is not None:
            profile(settings.datahub_version)
        if settings.ledger.file is None:
            require_ledger(target, settings)
        return cls(target, settings)
