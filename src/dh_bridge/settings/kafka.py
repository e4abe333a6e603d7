"""The connection to Kafka: brokers, topic, schema registry, security."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODEL = ConfigDict(extra="forbid", frozen=True)
_REGISTRY_VARIABLE = "KAFKA_SCHEMAREGISTRY_URL"


class RegistrySettings(BaseModel):
    """How the schema registry is reached."""

    model_config = _MODEL

    url: str | None = Field(
        default=None,
        description="Address with its path; none means `KAFKA_SCHEMAREGISTRY_URL`, else that of DataHub's own registry,"
        " `http://localhost:8080/schema-registry/api`.",
    )
    user: str | None = Field(default=None, description="User, or the key of an API.")
    password: SecretStr | None = Field(default=None, description="Password, or the secret of an API.")
    token: SecretStr | None = Field(default=None, description="Bearer token, where there is no user.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="More headers; shown as stars.")
    ca_bundle: Path | None = Field(
        default=None, description="Certificates of the authorities that the registry's own is checked against."
    )
    verify: bool = Field(default=True, description="Check the registry's certificate.")
    client_certificate: Path | None = Field(default=None, description="Our certificate, where the registry wants one.")
    client_key: Path | None = Field(
        default=None, description="Key of our certificate, when it is in a file of its own."
    )
    register_: bool = Field(
        default=True,
        alias="register",
        description="Register the envelope of proposals where the registry has none; `false` where we may only read.",
    )


class KafkaSettings(BaseModel):
    """How proposals reach DataHub through Kafka."""

    model_config = _MODEL

    bootstrap: str | None = Field(
        default=None, description="Brokers as `host:port`, with commas; those of `--to kafka:BROKERS` win."
    )
    topic: str = Field(
        default="MetadataChangeProposal_v1", min_length=1, description="Topic that DataHub reads proposals from."
    )
    failed_topic: str = Field(
        default="FailedMetadataChangeProposal_v1",
        min_length=1,
        description="Topic that DataHub tells refused proposals in (`dh-bridge queue import`).",
    )
    registry: RegistrySettings = Field(default=RegistrySettings(), description="Schema registry.")
    producer: dict[str, str] = Field(
        default_factory=dict,
        description="Settings of librdkafka by their names, such as `security.protocol`, `sasl.username`,"
        " `ssl.ca.location`; `oauth_cb` names a function as `module:function`.",
    )
    timeout: float = Field(
        default=60.0,
        gt=0,
        description="Seconds until a message that no broker has counts as lost; the first answer may take 15 of them.",
    )


def registry_url(area: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the area, as plain values, with the registry that DataHub's own variable names where it names none."""
    registry = area["registry"]
    return {**area, "registry": {**registry, "url": registry["url"] or environ.get(_REGISTRY_VARIABLE) or None}}
