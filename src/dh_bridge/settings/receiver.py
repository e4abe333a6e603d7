"""The web door: where it listens, and for whom."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

_MAX_PORT = 65_535
_ADDRESS = re.compile(r"^[^\s/]+:\d{1,5}$")


class ReceiverSettings(BaseModel):
    """The web server that takes events over HTTP (``dh-bridge serve``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    listen: str = Field(
        default="127.0.0.1:5000",
        json_schema_extra={"pattern": _ADDRESS.pattern},
        description="HOST:PORT that it listens on; `0.0.0.0:5000` for other machines, `[::1]:5000` for IPv6, port 0 for a free"
        " one.",
    )
    token: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="Key that senders must show (`Authorization: Bearer KEY`, OpenLineage's `apiKey`); none takes events of"
        " everybody who can reach it.",
    )
    threads: int = Field(
        default=16, ge=1, description="Requests that are answered at a time; what comes together is folded together."
    )
    body_bytes: int = Field(
        default=64 * 1024 * 1024, ge=1024, description="Bytes of one request, at most, before and after unzipping."
    )
    event_values: int = Field(
        default=300_000,
        ge=1000,
        description="JSON values of one event, at most (keys count, too); a request may hold eight times as many.",
    )
    trusted_proxy: str | None = Field(
        default=None,
        min_length=1,
        description="Address of a proxy in front: senders behind it are told apart by the last address of its `X-Forwarded-For`.",
    )

    @field_validator("token")
    @classmethod
    def _check_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is None:
            return None
        key = token.get_secret_value().strip()  # a file of secrets ends its line
        if not (key and key.isprintable()):
            raise ValueError("is a text that no header can hold")
        return SecretStr(key)

    @field_validator("listen")
    @classmethod
    def _check_address(cls, listen: str) -> str:
        if not _ADDRESS.search(listen):
            raise ValueError("should be HOST:PORT")
        if int(listen.rpartition(":")[2]) > _MAX_PORT:  # sockets would take another one
            raise ValueError(f"names a port beyond {_MAX_PORT:,}")
        return listen
