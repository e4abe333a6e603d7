"""The options of the Kafka sink: the settings area ``kafka``, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from dh_bridge.errors import SettingsError
from dh_bridge.msgspec_threads import prepare_type

DEFAULT_TOPIC = "MetadataChangeProposal_v1"
DEFAULT_REGISTRY_URL = "http://localhost:8080/schema-registry/api"
"""The registry that is part of DataHub's metadata service, where acryl-datahub looks for it, too."""
MAX_MESSAGE_BYTES = 5 * 1024 * 1024
"""Maximum bytes of a message in DataHub's own topics."""
REGISTRY_TIMEOUT = 30.0
"""Seconds for a response of the registry, and no more than `timeout` of the area."""
CONNECT_TIMEOUT = 15.0
"""Seconds for the first response of a broker, and no more than `timeout`."""

_match_bootstrap = re.compile(r"[^\s,:/@]+:\d{1,5}(,[^\s,:/@]+:\d{1,5})*|(\[[0-9a-fA-F:.]+\]:\d{1,5},?)+").fullmatch


class RegistryOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``dh_bridge.settings.kafka`` describes each; ``timeout`` in seconds."""

    url: str | None = None
    config: Mapping[str, str] = {}
    timeout: float = REGISTRY_TIMEOUT


@prepare_type
class KafkaOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``dh_bridge.settings.kafka`` describes each; times in seconds. ``producer`` holds settings of librdkafka, by their names."""

    bootstrap: str | None = None
    topic: str = DEFAULT_TOPIC
    failed_topic: str = "FailedMetadataChangeProposal_v1"
    registry: RegistryOptions = RegistryOptions()
    producer: Mapping[str, str] = {}
    timeout: float = 60.0

    @property
    def connect_timeout(self) -> float:
        """Seconds for the first response."""
        return min(CONNECT_TIMEOUT, self.timeout)


def kafka_options(address: str, area: Mapping[str, object]) -> KafkaOptions:
    """Return the options of ``kafka:BOOTSTRAP``; a SettingsError for invalid ones."""
    try:
        options = msgspec.convert({**area, **({"bootstrap": address} if address else {})}, KafkaOptions)
    except msgspec.ValidationError as error:
        raise SettingsError(str(error), location="kafka") from error
    if not options.bootstrap:
        raise SettingsError(
            "no Kafka broker is set",
            location="--to",
            remedy="use kafka:localhost:9092, or set kafka.bootstrap",
        )
    if not _match_bootstrap(options.bootstrap):
        raise SettingsError(
            "kafka: requires brokers as host:port", location="--to", remedy="e.g. kafka:broker1:9092,broker2:9092"
        )
    registry = msgspec.structs.replace(options.registry, timeout=min(options.registry.timeout, options.timeout))
    return msgspec.structs.replace(options, registry=registry)


def import_function(path: str) -> Any:
    """Return the function ``module:function``, as DataHub's own recipes name theirs for ``oauth_cb``."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"{path!r} is not a function", location="kafka.producer, oauth_cb", remedy="use module:function"
        ) from error
