"""The connection to DataHub's metadata service (GMS): address, authentication, TLS, timeouts and retries."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class RestSettings(BaseModel):
    """Connection to DataHub over REST. Values that are not set come from `DATAHUB_GMS_*`, `DATAHUB_AUTH_*` and `~/.datahubenv`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str | None = Field(
        default=None,
        description="URL of the metadata service, such as `http://localhost:8080`. Default: `DATAHUB_GMS_URL`, else the server of"
        " `~/.datahubenv`.",
    )
    token: SecretStr | None = Field(
        default=None,
        description="Access token. Default: `DATAHUB_GMS_TOKEN`, else the token of `~/.datahubenv`; each is sent only to the"
        " server that it belongs to. For OAuth 2.0, set `DATAHUB_AUTH_TYPE` and its variables.",
    )
    token_file: Path | None = Field(
        default=None, description="File with the token. It is read for each request, so that it can be renewed."
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict,
        description="Additional headers of each request, for example for a proxy. Values are masked in output.",
    )
    ca_bundle: Path | None = Field(
        default=None, description="File with the certificates of the authorities that issue the server's certificate."
    )
    verify: bool = Field(default=True, description="Verify the server's certificate.")
    client_certificate: tuple[Path, ...] = Field(
        default=(),
        max_length=2,
        description="Client certificate for mutual TLS: one PEM file with certificate and key (`[client.pem]`), or two files"
        " (`[tls.crt, tls.key]`).",
    )
    timeout: float = Field(
        default=30.0,
        gt=0,
        description="Seconds until a response must be complete. Opening the connection takes at most 10 of them.",
    )
    retries: int = Field(
        default=4,
        ge=0,
        description="Number of retries if the connection fails or the server answers 429 (which counts half) or 5xx. The pauses"
        " grow, or are as long as the server requests.",
    )
    conditional_writes: bool = Field(
        default=False,
        description="Send each proposal with `If-Unmodified-Since`, so that the server rejects a write that it processes after"
        " `timeout` if a newer value is present. DataHub 0.14 and later.",
    )
    max_rate: float | None = Field(
        default=None, gt=0, description="Maximum number of proposals per second. Default: no limit."
    )
