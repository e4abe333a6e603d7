"""The connection to GMS: sends one request until it is answered for good, or says which kind of SinkError ended it.

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
    MAX_ANSWER_BYTES,
    AnswerTooLargeError,
    BoundedAdapter,
    read_answer,
)
from dh_bridge.sinks.rest.backoff import Pace, backoff
from dh_bridge.sinks.rest.login import Login
from dh_bridge.sinks.rest.options import MAX_RETRY_AFTER, address
from dh_bridge.sinks.rest.responses import PROXY_LOGIN, Answer, LaterError, answer
from dh_bridge.sinks.rest.stale_writes import Deadline

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

_OURS = (exceptions.InvalidURL, exceptions.InvalidHeader, exceptions.InvalidProxyURL, UnicodeError)
"""What requests cannot even send: an address, or a header with a character that none can have."""
_NO_LOGIN = "Tunnel connection failed: 407"
"""How http.client says what a proxy answered that we asked for a tunnel, to a server with https."""


class Connection:
    """One session with the server at ``where`` (``rest:http://host:8080``); one request at a time, in order."""

    def __init__(self, options: RestOptions) -> None:
        self._url = address(options.server, options.named_by)
        self.where = f"rest:{self._url}"
        self._options = options
        self._pace = Pace(options.max_rate)
        #: the moment of the monotonic clock after which nothing is sent, and no answer waited for
        self.end = inf
        #: when the server is to refuse what it comes to write; None: never
        self.deadline = Deadline(options.timeout) if options.refuse_late else None
        self._verify: bool | str | None = (
            (_file(options.ca_bundle, "rest.ca_bundle") or True) if options.verify else False
        )
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, BoundedAdapter())
        self._session.headers.update({**_HEADERS, **options.headers})
        # An auth of our own, else requests would put what ~/.netrc says in the place of our header.
        self._login = Login(options, self._post)
        self._session.auth = self._login
        certificate = _file(options.client_certificate, "rest.client_certificate")
        key = _file(options.client_key, "rest.client_key")
        if certificate:
            self._session.cert = (certificate, key) if key else certificate
        # What the environment says of proxies and certificates; requests would look through all of it for each request.
        said = self._session.merge_environment_settings(self._url, {}, None, self._verify, None)
        self._verify, self._proxies = said["verify"], said["proxies"]
        self._session.trust_env = False

    def left(self) -> float:
        """Return the seconds until ``end``."""
        return self.end - monotonic()

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Callable[[], bytes] | None = None,
        *,
        count: int = 0,
        asked_before: bool = False,
    ) -> Answer:
        """Send a request and return its answer; it is sent again while the server says or shows that it is busy.

        ``body`` is called for each try where it can be. ``count``: proposals in it, for the rate. ``asked_before``: its proposals have met an error of the server more than
        once, so another one is taken for an answer. The last answer comes back as it is; a SinkError when there is none, when
        the server wants to be left alone for longer than we wait, or when no time is left.
        """
        retries = self._options.retries
        failed = 0.0
        renewed = False
        while True:
            if (ahead := self._pace.ahead()) >= self.left():
                raise self._over(ahead)
            self._pace.wait(count)
            found, error = self._once(method, path, body() if callable(body) else body)
            if found is not None and found.status == 401:
                if not renewed and self._login.renew():
                    renewed = True
                    continue
                found = found._replace(remedy=self._login.remedy)
            if found is not None and (
                not found.later or found.refused_inside or (asked_before and found.failed_inside)
            ):
                return found
            failed += 0.5 if found is not None and found.status == 429 else 1  # 429: it works, it is only busy
            asked = found.asked if found is not None else None
            wait = max(asked or 0.0, backoff(int(failed + 0.5)))
            if failed > retries or wait >= self.left() or (error is not None and not error.retryable):
                if found is not None:
                    return found
                try:
                    raise error if error is not None else SinkError("did not answer", where=self.where, retryable=True)
                finally:
                    del error  # it leads to this frame, and this frame to the body
            if wait > MAX_RETRY_AFTER:
                raise LaterError(
                    f"wants to be left alone for {wait:,.0f} seconds",
                    where=self.where,
                    now="send it again then",
                    after=wait,
                )
            sleep(wait)

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[Answer | None, SinkError | None]:
        """Send once; return the answer, or the error."""
        sent = time() if self.deadline is not None else 0.0
        try:
            request = requests.Request(method, self._url + path, data=body)
            response = self._session.send(
                self._session.prepare_request(request),  # with the token, for which somebody may have to be asked first
                timeout=self._timeout(),
                allow_redirects=False,  # a POST would come out as a GET
                verify=self._verify,
                proxies=self._proxies,
                stream=True,
            )
            content = read_answer(response)
        except SinkError as error:  # of who lends the token, which may be as busy as the server
            return None, error
        except (exceptions.RequestException, OSError, ValueError) as error:
            empty_frames(error)
            return None, self._error(error)
        if self.deadline is not None:
            self.deadline.heard(response.headers.get("Date"), sent, time())
        return answer(response.status_code, response.headers, content, response.reason or ""), None

    def _timeout(self) -> Any:
        """Return, as requests takes it, how long to wait for a connection and for an answer, both together not beyond ``end``."""
        connect, read, left = self._options.connect_timeout, self._options.timeout, self.left()
        if left <= 0:
            raise self._over()
        return (connect, read) if left == inf else Timeout(total=left, connect=connect, read=read)

    def _over(self, after: float = 0.0) -> LaterError:
        """Return the error of what can only be sent ``after`` more seconds, and then it is too late."""
        return LaterError("no time is left to send", where=self.where, now="send it again later", after=after)

    def _post(self, url: str, form: bytes) -> tuple[int, bytes]:
        """Send a form to an address that knows us by what is in it."""
        try:
            response = self._session.post(
                url,
                data=form,
                headers={
                    **dict.fromkeys(self._options.headers),  # which are for the server: None leaves one out
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
            return response.status_code, read_answer(response)
        except (exceptions.RequestException, OSError) as error:
            empty_frames(error)
            raise self._error(error, "rest.oauth.token_endpoint") from error

    def _error(self, error: Exception, where: str = "") -> SinkError:  # noqa: PLR0911 - one for each kind
        """Return the error of a request that was not answered; all but those of certificates, logins and addresses may pass."""
        where = where or self.where
        late = self.left() <= 0
        if isinstance(error, AnswerTooLargeError):
            return SinkError(
                f"answers with more than {MAX_ANSWER_BYTES:,} bytes",
                where=where,
                now="is this the address of DataHub's metadata service?",
            )
        if isinstance(error, exceptions.SSLError):
            return SinkError(
                f"its certificate cannot be trusted: {_cause(error)}",
                where=where,
                now="name your authority's certificates in rest.ca_bundle",
            )
        if _NO_LOGIN in _cause(error):
            return SinkError(f"the connection failed: {_cause(error)}", where=where, now=PROXY_LOGIN)
        if isinstance(error, exceptions.ConnectTimeout):
            within = "in the time that was left" if late else f"within {self._options.connect_timeout:g} s"
            return SinkError(f"no connection {within}", where=where, retryable=True)
        if isinstance(error, exceptions.Timeout | TimeoutError):
            within = "in the time that was left" if late else f"within {self._options.timeout:g} s"
            return SinkError(
                f"no answer {within}",
                where=where,
                now="it may have written all the same: sending it again does no harm",
                retryable=True,
            )
        # no error of requests, nor of the system: http.client's, whose text shows the header
        if isinstance(error, _OURS) or not isinstance(error, exceptions.RequestException | OSError):
            return SinkError(
                f"cannot be asked: {type(error).__name__}",
                where=where,
                now="look at rest.server, rest.headers and the token",
            )
        return SinkError(f"the connection failed: {_cause(error)}", where=where, retryable=True)

    def close(self) -> None:
        """Close the session."""
        self._session.close()


def _cause(error: BaseException) -> str:
    """Return the innermost reason, in words: requests wraps urllib3, which wraps the system's."""
    seen = {id(error)}
    while True:
        inner = getattr(error, "reason", None) or error.__cause__ or error.__context__ or next(iter(error.args), None)
        if not isinstance(inner, BaseException) or id(inner) in seen:
            break
        seen.add(id(inner))
        error = inner
    text = getattr(error, "strerror", None) or str(error)
    return text.partition(" at 0x")[0] if " at 0x" in text else text


def _file(path: str | None, key: str) -> str | None:
    """Return the path; a SettingsError when there is nothing."""
    if path is not None and not Path(path).exists():
        raise SettingsError(f"{path} does not exist", where=key, now="name a file of certificates in PEM form")
    return path
