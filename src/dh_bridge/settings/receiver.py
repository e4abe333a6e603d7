"""The HTTP receiver: address, authentication and limits."""

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
        description="Address to listen on, HOST:PORT. `0.0.0.0:5000` accepts connections from other machines, `[::1]:5000` is"
        " IPv6, port 0 selects a free port.",
    )
    token: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="Key that clients must send (`Authorization: Bearer KEY`, OpenLineage's `apiKey`). Default: no"
        " authentication.",
    )
    threads: int = Field(
        default=16,
        ge=1,
        description="Number of requests that are handled at the same time. Their events share transactions of the ledger.",
    )
    body_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024,
        description="Maximum size of a request in bytes, before and after decompression.",
    )
    trusted_proxy: str | None = Field(
        default=None,
        min_length=1,
        description="Address of a reverse proxy. Limits per client then use the last address of its header `X-Forwarded-For`.",
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
