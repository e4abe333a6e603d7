"""Classifies responses of the server: success, retry later, a rejected proposal, or a permanent error.

With the server's message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import strip_credentials
from dh_bridge.sinks.rest.backoff import retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_MESSAGE_CHARS = 400
"""Characters of the server's message that are stored: it may quote the payload."""

_RETRYABLE_STATUSES = frozenset([408, 425, 429])
_CONTENT_STATUSES = frozenset([400, 409, 412, 413, 422])
_RATE_LIMIT_HEADERS = ("X-DataHub-RateLimit-Type", "X-DataHub-RateLimit-Rule", "X-DataHub-RateLimit-Source")
PROXY_LOGIN_REMEDY = "the proxy requires a user and a password: set HTTPS_PROXY (HTTP_PROXY for http:) to http://user:password@proxy:3128"
_LOGIN_REMEDIES = {
    401: "set DATAHUB_GMS_TOKEN or rest.token to a personal access token that has not expired",
    403: "the user of the token lacks privileges: grant them, or use another token",
    407: PROXY_LOGIN_REMEDY,
}
_find_data_error = re.compile(
    r"Json[A-Za-z]*Exception|NumberFormatException|URISyntaxException|RequiredFieldNotPresentException"
    r"|TemplateOutputCastException|ValidationException|StreamConstraintsException|field is required but not found"
).search
"""Errors about the data of a request, by the Java class in the server's message: the proposal is at fault.

A patch that a template cannot apply ends in them (``PatchItemImpl``, ``GenericPatchTemplate`` and ``ArrayMergingTemplate`` of
datahub-project/datahub wrap them), and ``RestliUtils.toTask`` answers 500 for all but ``IllegalArgumentException``.
"""
_find_code_error = re.compile(
    r"NullPointerException|ClassCastException|IllegalArgumentException|IndexOutOfBoundsException"
    r"|UnsupportedOperationException|NoSuchElementException"
).search
"""Errors of the server's code that a retry does not fix; the proposal, or the server, may be at fault."""
_TAGS_AND_SPACES = re.compile(r"<[^>]*>|\s+")
_REQUEST_PATH = re.compile(r"/(config|aspects|entitiesV2(/.*)?|openapi/.*|runs)/?$")


class RetryLaterError(SinkError):
    """The same request may succeed later, but not before ``retry_after`` seconds are over; 0 if the server names no time."""

    def __init__(self, problem: str, *, location: str = "", remedy: str = "", retry_after: float = 0.0) -> None:
        super().__init__(problem, location=location, remedy=remedy, retryable=True)
        self.retry_after = retry_after


class BatchesUnsupportedError(Exception):
    """The server has no batches."""


class GmsResponse(NamedTuple):
    """A parsed response: status, body, the server's message, the rate limit that was hit, and the seconds to wait.

    ``remedy``: what to do about a rejected login, if that is known. ``is_restli_error``: whether the body is rest.li's error;
    ``has_value``: whether it has the value that rest.li returns for an action.
    """

    status: int
    content: bytes
    message: str
    is_restli_error: bool
    has_value: bool
    rate_limit: str
    retry_after: float | None
    is_page: bool
    location: str
    remedy: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the request succeeded."""
        return self.status < 300 and not self.is_page

    @property
    def is_accepted(self) -> bool:
        """Whether proposals were accepted.

        Every version of GMS since 0.14 answers both actions with ``{"value": "success"}`` (its AspectResource). An empty
        response is that of a gateway.
        """
        return self.is_success and self.has_value

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _RETRYABLE_STATUSES or (self.status >= 500 and self.status not in (501, 505))

    @property
    def is_data_failure(self) -> bool:
        """Whether a 500 is in fact a rejection: the server failed because of the data, and would fail again."""
        return self.is_server_failure and (_find_data_error(self.message) or _find_code_error(self.message)) is not None

    @property
    def is_server_failure(self) -> bool:
        """Whether the server works, and failed because of this request.

        A patch that its template cannot apply, for example.
        """
        return self.status == 500 and self.is_restli_error

    def to_error(self, error_location: str) -> SinkError:
        """Return the error of a delivery that ends with this response."""
        text = f"HTTP {self.status}" + (f": {self.message}" if self.message else "")
        if self.status < 300 and not self.is_page:
            return SinkError(
                f"{text}: not a response of DataHub to proposals",
                location=error_location,
                remedy="check that this is the address of DataHub's metadata service, and whether a gateway requires a login",
            )
        if self.status < 300:
            return SinkError(
                "the response is a web page, as of DataHub's web interface",
                location=error_location,
                remedy="use the metadata service: port 8080, or the address of the web interface with /api/gms",
            )
        if self.status < 400:
            suffix = f" to {_without_path(self.location)}" if self.location else ""
            return SinkError(
                f"HTTP {self.status}, redirected{suffix}",
                location=error_location,
                remedy="use that address; if a gateway requires a login, set rest.headers",
            )
        if self.is_retryable:
            limit = f" ({self.rate_limit})" if self.rate_limit else ""
            remedy = f"the server asks to wait for {self.retry_after:,.0f} s" if self.retry_after else "try again later"
            return RetryLaterError(
                text + limit, location=error_location, remedy=remedy, retry_after=self.retry_after or 0.0
            )
        remedy = self.remedy or _LOGIN_REMEDIES.get(self.status, "")
        if self.status in (404, 405):
            remedy = "check that this is the address of DataHub's metadata service"
        return SinkError(text, location=error_location, remedy=remedy)

    def refusal(self) -> Refusal | None:
        """Return the rejection if the response is about the proposals: others of the batch may then be accepted."""
        text = f"HTTP {self.status}: {self.message}"
        if self.status in _CONTENT_STATUSES or (self.is_server_failure and _find_data_error(self.message)):
            return Refusal(text, None)
        is_about_proposal = (self.status == 403 and "Urn:" in self.message) or self.is_server_failure
        return Refusal(text, self) if is_about_proposal else None


class Refusal(NamedTuple):
    """The server rejected what was sent; ``reason`` has its message.

    ``response`` is set if the reason may not be the proposals: the response to end with if no proposal is accepted.
    """

    reason: str
    response: GmsResponse | None


def parse_response(status: int, headers: Mapping[str, str], content: bytes, reason: str = "") -> GmsResponse:
    """Read a response; ``headers`` are looked up in any case."""
    document = _parse_body(content)
    message, is_restli_error = _message_of(content, document)
    return GmsResponse(
        status,
        content,
        message or (reason if status >= 400 else ""),
        is_restli_error,
        isinstance(document, dict) and "value" in document,
        ", ".join(f"{name}: {value}" for name in _RATE_LIMIT_HEADERS if (value := headers.get(name))),
        retry_after_seconds(headers),
        "text/html" in headers.get("Content-Type", "") or content.lstrip()[:1] == b"<",
        headers.get("Location", ""),
    )


def lacks_batches(response: GmsResponse) -> bool:
    """Return whether rest.li reports an unknown action."""
    return response.status in (400, 404) and "ingestProposalBatch" in response.message and "not " in response.message


def _without_path(location: str) -> str:
    """Return the target of a redirect without the path that was requested and the parameters of a login."""
    return _REQUEST_PATH.sub("", strip_credentials(location.partition("?")[0])) or location[:1]


def _parse_body(content: bytes) -> Any:
    """Return the body as JSON; unchanged if it is not JSON."""
    try:
        return load_json(content)
    except ValueError:
        return content


def _message_of(content: bytes, document: Any) -> tuple[str, bool]:
    """Return a short form of the body, and whether it is an error object of rest.li."""
    if document is content:
        return _shorten(_TAGS_AND_SPACES.sub(" ", content[: 16 * _MAX_MESSAGE_CHARS].decode("utf-8", "replace"))), False
    if not isinstance(document, dict):
        return "", False
    text = next((document[key] for key in ("message", "error", "detail") if isinstance(document.get(key), str)), "")
    return _shorten(text), "exceptionClass" in document or "message" in document


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1] + "…"
