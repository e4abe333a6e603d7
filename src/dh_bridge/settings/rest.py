"""The connection to DataHub's metadata service (GMS): address, token, certificates, patience."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class OAuthSettings(BaseModel):
    """A token that an identity provider lends for the credentials of a client (OAuth 2.0, client credentials)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token_endpoint: str = Field(description="Address that tokens are asked for at.")
    client_id: str = Field(description="The client's id.")
    client_secret: SecretStr = Field(description="The client's secret.")
    scope: str | None = Field(default=None, description="Scopes, where the provider wants them named.")
    audience: str | None = Field(default=None, description="Audience, where the provider wants it named.")


class RestSettings(BaseModel):
    """How proposals reach a server by REST; what is not said here, DATAHUB_GMS_* and ~/.datahubenv may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str | None = Field(
        default=None,
        description="Address of the metadata service, such as `http://localhost:8080`; none means that of"
        " `DATAHUB_GMS_URL`, else that of `~/.datahubenv`.",
    )
    token: SecretStr | None = Field(
        default=None,
        description="Access token; none means `DATAHUB_GMS_TOKEN`, else that of `~/.datahubenv`, for their server.",
    )
    token_file: Path | None = Field(
        default=None, description="File that holds the token, read for each request: whoever mounts it may renew it."
    )
    oauth: OAuthSettings | None = Field(
        default=None,
        description="Ask an identity provider for the token; none means what `DATAHUB_AUTH_TYPE` and its variables say.",
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="More headers for each request, for a proxy for example; shown as stars."
    )
    ca_bundle: Path | None = Field(
        default=None, description="Certificates of the authorities that the server's own is checked against."
    )
    verify: bool = Field(default=True, description="Check the server's certificate.")
    client_certificate: Path | None = Field(default=None, description="Our certificate, where the server wants one.")
    client_key: Path | None = Field(
        default=None, description="Key of our certificate, when it is in a file of its own."
    )
    timeout: float = Field(
        default=30.0, gt=0, description="Seconds that a whole answer may take; a connection may take 10 of them."
    )
    retries: int = Field(
        default=4,
        ge=0,
        description="How often a request is sent again when the connection fails or the server answers 429 (which counts"
        " half) or 5xx; the pauses grow, and are as long as the server asks for.",
    )
    refuse_late: bool = Field(
        default=False,
        description="Let the server refuse what it comes to write only after `timeout`, when something newer is there"
        " (`If-Unmodified-Since` on each proposal; DataHub 0.14 and later).",
    )
    max_rate: float | None = Field(default=None, gt=0, description="Proposals a second, at most; none is no limit.")
    batch_size: int = Field(default=200, ge=1, description="Proposals in one request, at most.")
