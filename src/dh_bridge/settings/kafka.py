"""The connection to Kafka: brokers, topic, schema registry, security."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODEL = ConfigDict(extra="forbid", frozen=True)
_REGISTRY_VARIABLE = "KAFKA_SCHEMAREGISTRY_URL"
_REGISTRY_OPTIONS = (
    "basic.auth.user.info",
    "bearer.auth.token",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "enable.ssl.certificate.verification",
    "auto.register.schemas",
)


class RegistrySettings(BaseModel):
    """Connection to the schema registry."""

    model_config = _MODEL

    url: str | None = Field(
        default=None,
        description="URL with its path. Default: `KAFKA_SCHEMAREGISTRY_URL`, else DataHub's own registry,"
        " `http://localhost:8080/schema-registry/api`.",
    )
    config: dict[str, SecretStr] = Field(
        default_factory=dict,
        description="Options with the names of Confluent's client: `basic.auth.user.info` (`USER:PASSWORD`), `bearer.auth.token`,"
        " `ssl.ca.location`, `ssl.certificate.location`, `ssl.key.location`, `enable.ssl.certificate.verification` (default"
        " `true`), `auto.register.schemas` (default `true`; `false` if the user may only read). Values are masked in output.",
    )

    @field_validator("config")
    @classmethod
    def _check_names(cls, config: dict[str, SecretStr]) -> dict[str, SecretStr]:
        unknown = sorted(config.keys() - set(_REGISTRY_OPTIONS))
        if unknown:
            raise ValueError(f"has no option {unknown[0]} (known are {', '.join(_REGISTRY_OPTIONS)})")
        return config


class KafkaSettings(BaseModel):
    """Connection to DataHub through Kafka."""

    model_config = _MODEL

    bootstrap: str | None = Field(
        default=None,
        description="Brokers as `host:port`, separated by commas. The brokers of `--to kafka:BROKERS` take precedence.",
    )
    topic: str = Field(
        default="MetadataChangeProposal_v1", min_length=1, description="Topic from which DataHub reads proposals."
    )
    failed_topic: str = Field(
        default="FailedMetadataChangeProposal_v1",
        min_length=1,
        description="Topic to which DataHub writes rejected proposals. `dh-bridge queue import` reads it.",
    )
    registry: RegistrySettings = Field(default=RegistrySettings(), description="Schema registry.")
    producer: dict[str, str] = Field(
        default_factory=dict,
        description="Options of librdkafka by name, such as `security.protocol`, `sasl.username`, `ssl.ca.location`."
        " `oauth_cb` names a function as `module:function`.",
    )
    timeout: float = Field(
        default=60.0,
        gt=0,
        description="Seconds after which a message that no broker has acknowledged counts as lost. The first connection takes at"
        " most 15 of them.",
    )


def registry_url(area: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the area, as plain values, with the registry of DataHub's own variable if the area has no URL."""
    registry = area["registry"]
    return {**area, "registry": {**registry, "url": registry["url"] or environ.get(_REGISTRY_VARIABLE) or None}}
