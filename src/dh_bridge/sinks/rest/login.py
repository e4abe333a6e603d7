"""The login: a token of the settings, one in a file, or one of an identity provider (OAuth 2.0).

A token of a provider is renewed before it expires, and once when the server rejects it, as acryl-datahub does.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.json_safe import load_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.sinks.rest.options import OAuthOptions, RestOptions

    PostForm = Callable[[str, bytes], tuple[int, bytes]]
    """Sends a form without a login; returns status and body of the response."""

_LOGIN_VARIABLE = "DATAHUB_AUTH_TYPE"
_LOGIN_REMEDY = "check the variables DATAHUB_AUTH_*"
_is_number = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?").fullmatch
_RENEWAL_MARGIN_SECONDS = 300.0
"""Seconds before its end at which a token is renewed, at most; of a shorter one, a tenth of its life."""


class _LeasedToken(NamedTuple):
    token: str
    expires_at: float


class TokenAuth:
    """Adds the token to each request; without a token it does not change the header. requests calls it as ``auth``."""

    def __init__(self, options: RestOptions, post: PostForm, *, clock: Callable[[], float] = time.monotonic) -> None:
        token_settings = [name for name in ("token", "token_file", "oauth") if getattr(options, name)]
        if len(token_settings) > 1:
            raise SettingsError(
                f"{' and '.join(token_settings)} exclude each other", location="rest", remedy="set only one of them"
            )
        if options.oauth is not None and urlsplit(options.oauth.token_endpoint).scheme not in ("http", "https"):
            raise SettingsError(
                "the address of the token service is not a URL",
                location=_LOGIN_VARIABLE,
                remedy="set DATAHUB_AUTH_TOKEN_ENDPOINT, e.g. https://idp.example.com/oauth2/token",
            )
        self._options = options
        self._post = post
        self._clock = clock
        self._leased_token: _LeasedToken | None = None
        self._sent_token: str | None = None

    @property
    def remedy(self) -> str:
        """The remedy if the server rejects the token; empty for a token of the settings, and for none."""
        options = self._options
        if options.oauth is not None:
            return f"{_LOGIN_REMEDY}: the server rejects a token that was just issued"
        if options.token_file is not None:
            return f"write a valid token to {options.token_file} (rest.token_file)"
        return ""

    def __call__(self, request: Any) -> Any:
        """Return the request of requests, with its header."""
        token = self._sent_token = self.token()
        if token:
            request.headers["Authorization"] = token if token.startswith("Basic ") else f"Bearer {token}"
        return request

    def token(self) -> str | None:
        """Return the token for a request that is sent now; a SinkError if there is none."""
        options = self._options
        if options.token_file is not None:  # read each time, because the file is renewed
            return _read_token(options.token_file)
        if options.oauth is None:
            return options.token
        if self._leased_token is None or self._clock() >= self._leased_token.expires_at:
            self._leased_token = self._request_token(options.oauth)
        return self._leased_token.token

    def renew(self) -> bool:
        """Drop the token that the server rejected; return whether another one can be requested."""
        if self._options.token_file is not None:
            return _read_token(self._options.token_file) != self._sent_token
        old_token, self._leased_token = self._leased_token, None
        return old_token is not None

    def _request_token(self, oauth: OAuthOptions) -> _LeasedToken:
        """Request a token with the client's credentials (RFC 6749, 4.4)."""
        form = {"grant_type": "client_credentials", "client_id": oauth.client_id, "client_secret": oauth.client_secret}
        form |= {name: content for name in ("scope", "audience") if (content := getattr(oauth, name))}
        requested_at = self._clock()
        status, body = self._post(oauth.token_endpoint, urlencode(form).encode())
        try:
            content = load_json(body)
        except ValueError:
            content = None
        content = content if isinstance(content, dict) else {}
        token = content.get("access_token")
        if status >= 300 or not isinstance(token, str):
            error_text = f": {content['error']}" if isinstance(content.get("error"), str) else ""
            raise SinkError(
                f"no token in the response: HTTP {status}{error_text}",
                location=_LOGIN_VARIABLE,
                remedy=_LOGIN_REMEDY if status < 500 and status != 429 else "try again later",
                retryable=status >= 500 or status == 429,
            )
        lifetime = content.get("expires_in")
        lifetime = float(lifetime) if isinstance(lifetime, int | float | str) and _is_number(str(lifetime)) else 0.0
        return _LeasedToken(token, requested_at + lifetime - min(_RENEWAL_MARGIN_SECONDS, lifetime / 10))


def _read_token(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SinkError(  # as for an identity provider that is down: the file may come back
            f"cannot read {path}", location="rest.token_file", remedy="set it to the file of the token"
        ) from error
