"""The connection to GMS: sends one request until there is a final response, or raises the SinkError that ended it.

The only module of the REST sink that imports requests.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from time import monotonic, sleep, time
from typing import TYPE_CHECKING, Any

import requests
from requests import exceptions
from requests.utils import get_environ_proxies
from urllib3.util import Timeout

from dh_bridge.errors import SettingsError, SinkError, empty_frames
from dh_bridge.sinks.bounded_http import (
    ACCEPT_ENCODING,
    MAX_RESPONSE_BYTES,
    BoundedAdapter,
    ResponseTooLargeError,
    read_response,
)
from dh_bridge.sinks.rest.backoff import RateLimiter, backoff_seconds
from dh_bridge.sinks.rest.login import TokenAuth
from dh_bridge.sinks.rest.options import MAX_RETRY_AFTER, server_url
from dh_bridge.sinks.rest.responses import PROXY_LOGIN_REMEDY, GmsResponse, RetryLaterError, parse_response
from dh_bridge.sinks.rest.stale_writes import WriteDeadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.sinks.rest.options import RestOptions

_HEADERS = {
    "User-Agent": "dh-bridge",
    "X-RestLi-Protocol-Version": "2.0.0",
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": ACCEPT_ENCODING,
}

_INVALID_REQUEST_ERRORS = (exceptions.InvalidURL, exceptions.InvalidHeader, exceptions.InvalidProxyURL, UnicodeError)
"""Errors of requests before anything is sent: an invalid address, or an invalid character in a header."""
_PROXY_LOGIN_ERROR = "Tunnel connection failed: 407"
"""http.client's message if a proxy rejects the tunnel to an https server."""


class GmsConnection:
    """One session with the server at ``location`` (``rest:http://host:8080``); one request at a time, in order."""

    def __init__(self, options: RestOptions) -> None:
        self._url = server_url(options.server, options.named_by)
        self.location = f"rest:{self._url}"
        self._options = options
        self._pace = RateLimiter(options.max_rate)
        #: the moment of the monotonic clock after which nothing is sent, and no answer waited for
        self.send_deadline = inf
        #: the time by which the server must have written, else it rejects; None: no limit
        self.write_deadline = WriteDeadline(options.timeout) if options.conditional_writes else None
        self._verify: bool | str | None = (
            (_check_file(options.ca_bundle, "rest.ca_bundle") or True) if options.verify else False
        )
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, BoundedAdapter())
        self._session.headers.update({**_HEADERS, **options.headers})
        # Without an auth object, requests would replace our header by that of ~/.netrc.
        self._login = TokenAuth(options, self._post_form)
        self._session.auth = self._login
        for path in options.client_certificate:
            _check_file(path, "rest.client_certificate")
        certificate, key = [*options.client_certificate, None, None][:2]
        if certificate:
            self._session.cert = (certificate, key) if key else certificate
        # Proxies and certificates of the environment; requests would search all variables for each request.
        environment = self._session.merge_environment_settings(self._url, {}, None, self._verify, None)
        self._verify, self._proxies = environment["verify"], environment["proxies"]
        self._session.trust_env = False

    def seconds_left(self) -> float:
        """Return the seconds until ``send_deadline``."""
        return self.send_deadline - monotonic()

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Callable[[], bytes] | None = None,
        *,
        count: int = 0,
        is_repeated: bool = False,
    ) -> GmsResponse:
        """Send a request and return its final response; it is retried while the server is busy.

        ``body`` is called for each try if it is a function. ``count``: proposals in it, for the rate. ``is_repeated``: its
        proposals have met a server error more than once, so another server error is final. A SinkError if there is no response,
        if the server asks for a longer pause than the limit, or if the deadline is reached.
        """
        retries = self._options.retries
        failure_count = 0.0
        is_renewed = False
        while True:
            if (delay := self._pace.delay()) >= self.seconds_left():
                raise self._deadline_error(delay)
            self._pace.wait(count)
            response, error = self._send_once(method, path, body() if callable(body) else body)
            if response is not None and response.status == 401:
                if not is_renewed and self._login.renew():
                    is_renewed = True
                    continue
                response = response._replace(remedy=self._login.remedy)
            if response is not None and (
                not response.is_retryable or response.is_data_failure or (is_repeated and response.is_server_failure)
            ):
                return response
            failure_count += (
                0.5 if response is not None and response.status == 429 else 1
            )  # 429: it works, it is only busy
            retry_after = response.retry_after if response is not None else None
            wait = max(retry_after or 0.0, backoff_seconds(int(failure_count + 0.5)))
            if failure_count > retries or wait >= self.seconds_left() or (error is not None and not error.retryable):
                if response is not None:
                    return response
                try:
                    raise (
                        error if error is not None else SinkError("no response", location=self.location, retryable=True)
                    )
                finally:
                    del error  # it leads to this frame, and this frame to the body
            if wait > MAX_RETRY_AFTER:
                raise RetryLaterError(
                    f"the server asks to wait for {wait:,.0f} seconds",
                    location=self.location,
                    remedy="try again after that",
                    retry_after=wait,
                )
            sleep(wait)

    def _send_once(self, method: str, path: str, body: bytes | None) -> tuple[GmsResponse | None, SinkError | None]:
        """Send once; return the response, or the error."""
        sent_at = time() if self.write_deadline is not None else 0.0
        try:
            request = requests.Request(method, self._url + path, data=body)
            response = self._session.send(
                self._session.prepare_request(request),  # with the token, which may have to be requested first
                timeout=self._timeout(),
                allow_redirects=False,  # a redirected POST would become a GET
                verify=self._verify,
                proxies=self._proxies,
                stream=True,
            )
            content = read_response(response)
        except SinkError as error:  # of the identity provider, which may be as busy as the server
            return None, error
        except (exceptions.RequestException, OSError, ValueError) as error:
            empty_frames(error)
            return None, self._connection_error(error)
        if self.write_deadline is not None:
            self.write_deadline.observe_date(response.headers.get("Date"), sent_at, time())
        return parse_response(response.status_code, response.headers, content, response.reason or ""), None

    def _timeout(self) -> Any:
        """Return the timeouts for connecting and for the response, in the form of requests, within ``send_deadline``."""
        connect, read, seconds_left = self._options.connect_timeout, self._options.timeout, self.seconds_left()
        if seconds_left <= 0:
            raise self._deadline_error()
        return (connect, read) if seconds_left == inf else Timeout(total=seconds_left, connect=connect, read=read)

    def _deadline_error(self, retry_after: float = 0.0) -> RetryLaterError:
        """Return the error if the next try is ``retry_after`` seconds away, which is after the deadline."""
        return RetryLaterError(
            "not sent: the timeout has passed",
            location=self.location,
            remedy="try again later",
            retry_after=retry_after,
        )

    def _post_form(self, url: str, form: bytes) -> tuple[int, bytes]:
        """Send a form to an address whose login is in the form."""
        try:
            response = self._session.post(
                url,
                data=form,
                headers={
                    **dict.fromkeys(self._options.headers),  # they are for the server; None leaves one out
                    **_HEADERS,
                    "X-RestLi-Protocol-Version": None,
                    "Content-Type": "application/x-www-form-urlencoded",
                },
                auth=lambda request: request,
                timeout=self._timeout(),
                allow_redirects=False,
                verify=self._verify,
                proxies=get_environ_proxies(url),
                stream=True,
            )
            return response.status_code, read_response(response)
        except (exceptions.RequestException, OSError) as error:
            empty_frames(error)
            raise self._connection_error(error, "DATAHUB_AUTH_TYPE") from error

    def _connection_error(self, error: Exception, location: str = "") -> SinkError:  # noqa: PLR0911 - one for each kind
        """Return the error of a request without a response.

        All errors except certificates, logins and addresses are retryable.
        """
        location = location or self.location
        is_late = self.seconds_left() <= 0
        if isinstance(error, ResponseTooLargeError):
            return SinkError(
                f"the response has more than {MAX_RESPONSE_BYTES:,} bytes",
                location=location,
                remedy="check that this is the address of DataHub's metadata service",
            )
        if isinstance(error, exceptions.SSLError):
            return SinkError(
                f"the certificate of the server is not trusted: {_innermost_cause(error)}",
                location=location,
                remedy="set rest.ca_bundle to the certificates of your authority (CA)",
            )
        if _PROXY_LOGIN_ERROR in _innermost_cause(error):
            return SinkError(
                f"connection failed: {_innermost_cause(error)}", location=location, remedy=PROXY_LOGIN_REMEDY
            )
        if isinstance(error, exceptions.ConnectTimeout):
            duration = "in the remaining time" if is_late else f"within {self._options.connect_timeout:g} s"
            return SinkError(f"no connection {duration}", location=location, retryable=True)
        if isinstance(error, exceptions.Timeout | TimeoutError):
            duration = "in the remaining time" if is_late else f"within {self._options.timeout:g} s"
            return SinkError(
                f"no response {duration}",
                location=location,
                remedy="the server may have written the proposals; it is safe to send them again",
                retryable=True,
            )
        # no error of requests, nor of the system: http.client's, whose text shows the header
        if isinstance(error, _INVALID_REQUEST_ERRORS) or not isinstance(error, exceptions.RequestException | OSError):
            return SinkError(
                f"cannot send the request: {type(error).__name__}",
                location=location,
                remedy="check rest.server, rest.headers and the token",
            )
        return SinkError(f"connection failed: {_innermost_cause(error)}", location=location, retryable=True)

    def close(self) -> None:
        """Close the session."""
        self._session.close()


def _innermost_cause(error: BaseException) -> str:
    """Return the innermost reason as text: requests wraps urllib3, which wraps the system's errors."""
    seen_ids = {id(error)}
    while True:
        cause = getattr(error, "reason", None) or error.__cause__ or error.__context__ or next(iter(error.args), None)
        if not isinstance(cause, BaseException) or id(cause) in seen_ids:
            break
        seen_ids.add(id(cause))
        error = cause
    text = getattr(error, "strerror", None) or str(error)
    return text.partition(" at 0x")[0] if " at 0x" in text else text


def _check_file(path: str | None, key: str) -> str | None:
    """Return the path; a SettingsError if it does not exist."""
    if path is not None and not Path(path).exists():
        raise SettingsError(
            f"{path} does not exist", location=key, remedy="set it to a file of certificates in PEM format"
        )
    return path
