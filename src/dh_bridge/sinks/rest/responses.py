"""What an answer of the server means: fine, come back later, not like this, or not at all; with the server's own words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import shown
from dh_bridge.sinks.rest.backoff import asked_for

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = 400
"""Characters of the server's words that are kept: they may quote what was sent."""

_LATER = frozenset([408, 425, 429])
_CONTENT = frozenset([400, 409, 412, 413, 422])
_RATE_LIMIT = ("X-DataHub-RateLimit-Type", "X-DataHub-RateLimit-Rule", "X-DataHub-RateLimit-Source")
PROXY_LOGIN = (
    "the proxy wants its user and password: in HTTPS_PROXY, or HTTP_PROXY for http:, as http://user:password@proxy:3128"
)
_UNAUTHORIZED = {
    401: "set DATAHUB_GMS_TOKEN or rest.token: a personal access token that has not expired",
    403: "the token's user may not do this: give it the privileges, or use another token",
    407: PROXY_LOGIN,
}
_DATA_ERROR = re.compile(
    r"Json[A-Za-z]*Exception|NumberFormatException|URISyntaxException|RequiredFieldNotPresentException"
    r"|TemplateOutputCastException|ValidationException|StreamConstraintsException|field is required but not found"
).search
"""Errors over the data of a request, by the Java class in a server's words: the proposal is at fault.

A patch that a template cannot apply ends in them (``PatchItemImpl``, ``GenericPatchTemplate`` and ``ArrayMergingTemplate`` of
datahub-project/datahub wrap them), and ``RestliUtils.toTask`` answers 500 for all but ``IllegalArgumentException``.
"""
_CODE_ERROR = re.compile(
    r"NullPointerException|ClassCastException|IllegalArgumentException|IndexOutOfBoundsException"
    r"|UnsupportedOperationException|NoSuchElementException"
).search
"""Errors of a server's code that a second try does not mend; the proposal, or the server, may be at fault."""
_tags = re.compile(r"<[^>]*>|\s+")
_asked = re.compile(r"/(config|aspects|entitiesV2(/.*)?|openapi/.*|runs)/?$")


class LaterError(SinkError):
    """The same may be taken later, but not before ``after`` seconds are over; 0 when nobody says how long."""

    def __init__(self, what: str, *, where: str = "", now: str = "", after: float = 0.0) -> None:
        super().__init__(what, where=where, now=now, retryable=True)
        self.after = after


class TooOldError(Exception):
    """The server has no batches."""


class Answer(NamedTuple):
    """A response, read: its status and body, the server's words, which limit was hit, and for how many seconds to wait.

    ``remedy``: what to do about a refused login, where that is known. ``ours``: whether the body is rest.li's error; ``value``: whether it has what rest.li answers an action with.
    """

    status: int
    content: bytes
    words: str
    ours: bool
    value: bool
    limit: str
    asked: float | None
    page: bool
    location: str
    remedy: str = ""

    @property
    def fine(self) -> bool:
        """Whether the server did what it was asked for."""
        return self.status < 300 and not self.page

    @property
    def taken(self) -> bool:
        """Whether proposals were taken.

        Every version of GMS since 0.14 answers both actions with ``{"value": "success"}`` (its AspectResource). An empty answer
        is that of a gateway.
        """
        return self.fine and self.value

    @property
    def later(self) -> bool:
        """Whether the same request may get through later."""
        return self.status in _LATER or (self.status >= 500 and self.status not in (501, 505))

    @property
    def refused_inside(self) -> bool:
        """Whether a 500 is in truth a refusal: the server failed over the data, and would fail over them again."""
        return self.failed_inside and (_DATA_ERROR(self.words) or _CODE_ERROR(self.words)) is not None

    @property
    def failed_inside(self) -> bool:
        """Whether the server works, and failed over this request: a patch that its template cannot apply does that."""
        return self.status == 500 and self.ours

    def error(self, where: str) -> SinkError:
        """Return the error of a delivery that ends with this answer."""
        said = f"answers {self.status}" + (f": {self.words}" if self.words else "")
        if self.status < 300 and not self.page:
            return SinkError(
                f"{said}: that is not how DataHub says that it took something",
                where=where,
                now="is this the address of DataHub's metadata service, and does a gateway before it want a login?",
            )
        if self.status < 300:
            return SinkError(
                "answers with a page, as DataHub's web interface does",
                where=where,
                now="name the metadata service: port 8080, or the interface's address with /api/gms",
            )
        if self.status < 400:
            to = f" to {_without_path(self.location)}" if self.location else ""
            return SinkError(
                f"answers {self.status} and sends us on{to}",
                where=where,
                now="name that address; where a gateway logs people in, it wants something in rest.headers",
            )
        if self.later:
            limit = f" ({self.limit})" if self.limit else ""
            now = f"it asks to be left alone for {self.asked:,.0f} s" if self.asked else "send it again later"
            return LaterError(said + limit, where=where, now=now, after=self.asked or 0.0)
        now = self.remedy or _UNAUTHORIZED.get(self.status, "")
        if self.status in (404, 405):
            now = "is this the address of DataHub's metadata service?"
        return SinkError(said, where=where, now=now)

    def refusal(self) -> Refusal | None:
        """Return the refusal when the answer is about what was sent: then others of the batch may get through."""
        said = f"{self.status}: {self.words}"
        if self.status in _CONTENT or (self.failed_inside and _DATA_ERROR(self.words)):
            return Refusal(said, None)
        about_some = (self.status == 403 and "Urn:" in self.words) or self.failed_inside
        return Refusal(said, self) if about_some else None


class Refusal(NamedTuple):
    """The server did not take what was sent; ``words`` say why.

    ``whole`` is set when it may have nothing to do with the proposals: the answer to end with if no proposal gets through.
    """

    words: str
    whole: Answer | None


def answer(status: int, headers: Mapping[str, str], content: bytes, reason: str = "") -> Answer:
    """Read a response; ``headers`` are looked up in any case."""
    body = _body(content)
    words, ours = _words(content, body)
    return Answer(
        status,
        content,
        words or (reason if status >= 400 else ""),
        ours,
        isinstance(body, dict) and "value" in body,
        ", ".join(f"{name}: {value}" for name in _RATE_LIMIT if (value := headers.get(name))),
        asked_for(headers),
        "text/html" in headers.get("Content-Type", "") or content.lstrip()[:1] == b"<",
        headers.get("Location", ""),
    )


def too_old(found: Answer) -> bool:
    """Say whether the answer is that of rest.li to an action that it does not have."""
    return found.status in (400, 404) and "ingestProposalBatch" in found.words and "not " in found.words


def _without_path(location: str) -> str:
    """Return an address that we are sent to as one may name it: without what we asked for there, and a login's parameters."""
    return _asked.sub("", shown(location.partition("?")[0])) or location[:1]


def _body(content: bytes) -> Any:
    """Return the body as JSON, or as it is where it is none."""
    try:
        return load_json(content)
    except ValueError:
        return content


def _words(content: bytes, body: Any) -> tuple[str, bool]:
    """Return what the body says in short, and whether it is an error object of rest.li."""
    if body is content:
        return _short(_tags.sub(" ", content[: 16 * _WORDS].decode("utf-8", "replace"))), False
    if not isinstance(body, dict):
        return "", False
    said = next((body[key] for key in ("message", "error", "detail") if isinstance(body.get(key), str)), "")
    return _short(said), "exceptionClass" in body or "message" in body


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WORDS else text[: _WORDS - 1] + "…"
