"""The options of the REST sink: the settings area ``rest``, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from dh_bridge.errors import SettingsError
from dh_bridge.msgspec_threads import prepare_type
from dh_bridge.sinks.base import strip_credentials

MAX_GMS_BYTES = 16_000_000
"""Bytes of a body, or of one text in it, that a server accepts by default."""
MAX_BODY_BYTES = 15 * 1024 * 1024
"""Bytes of a request with several proposals."""
CONNECT_TIMEOUT = 10.0
"""Seconds for connecting, and no more than `timeout`."""

MAX_RETRY_AFTER = 300.0
"""The longest pause that a server may ask for, in seconds; if it asks for more, the delivery fails."""

TARGET_OPTION = "--to"
_NO_PORT = re.compile(r":(?!//|\d{1,5}(?:/|$)).*", re.DOTALL)  # it may be a password, of a URL that lost its @


class OAuthOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client of an identity provider (OAuth 2.0), from the variables ``DATAHUB_AUTH_*``."""

    token_endpoint: str
    client_id: str
    client_secret: str
    scope: str | None = None
    audience: str | None = None


@prepare_type
class RestOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``dh_bridge.settings.rest`` describes the fields; times in seconds, sizes in bytes, ``max_rate`` in proposals a second.

    ``named_by``: what names the server.
    """

    server: str | None = None
    named_by: str = TARGET_OPTION
    token: str | None = None
    token_file: str | None = None
    oauth: OAuthOptions | None = None
    headers: Mapping[str, str] = {}
    ca_bundle: str | None = None
    verify: bool = True
    client_certificate: tuple[str, ...] = ()
    timeout: float = 30.0
    retries: int = 4
    conditional_writes: bool = False
    max_rate: float | None = None

    @property
    def connect_timeout(self) -> float:
        """Seconds for connecting."""
        return min(CONNECT_TIMEOUT, self.timeout)


def server_url(url: str | None, named_by: str = TARGET_OPTION) -> str:
    """Return the address of GMS without its last slash; a SettingsError if it is invalid or contains a password."""
    if not url:
        raise SettingsError(
            "no DataHub server is set",
            location=TARGET_OPTION,
            remedy="use rest:http://localhost:8080, or set DATAHUB_GMS_URL or rest.server",
        )
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        shown_url = (
            strip_credentials(url) if "://" in url else strip_credentials(f"http://{url}").removeprefix("http://")
        )
        shown_url = _NO_PORT.sub(":…", shown_url)
        raise SettingsError(
            f"{shown_url!r} is not the address of a DataHub server",
            location=named_by,
            remedy=f"use an address such as {'rest:' if named_by == TARGET_OPTION else ''}http://localhost:8080",
        )
    if parts.username or parts.password:
        raise SettingsError(
            "the address contains a user or a password, which messages would show",
            location=named_by,
            remedy="use rest.token or rest.headers",
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            f"the address {strip_credentials(url)} has a query, which is not allowed",
            location=named_by,
            remedy="remove it; set a token in rest.token",
        )
    return url.rstrip("/")
