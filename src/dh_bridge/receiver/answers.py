"""Answers to requests: a status, and what happened to each event, as JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import DeadLetter

_MAX_FAILURES = 1_000
"""Events that an answer lists with their reasons, at most; all are counted."""
_MAX_REASON_CHARS = 500
"""Characters of a reason in an answer, at most: it may quote a value."""


class ReceiverResponse(NamedTuple):
    """A status, a body that is JSON or text, and headers beside its type."""

    status: HTTPStatus
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


class RequestOutcome:
    """What became of the events of a request."""

    def __init__(self) -> None:
        self.dead_letters: list[DeadLetter] = []
        self._failures: list[dict[str, Any]] = []
        self._received = self._failed = 0

    def add(self, reason: str | None) -> None:
        """Count an event; a reason says why it is invalid."""
        if reason is not None:
            self._failed += 1
            if len(self._failures) < _MAX_FAILURES:
                self._failures.append({"index": self._received, "error": encodable_text(reason[:_MAX_REASON_CHARS])})
        self._received += 1

    def to_response(self) -> ReceiverResponse:
        """Return the answer to the request."""
        counts = {"received": self._received, "successful": self._received - self._failed, "failed": self._failures}
        if not self._failed:
            return ReceiverResponse(HTTPStatus.OK, counts)
        return ReceiverResponse(
            HTTPStatus.MULTI_STATUS if self._failed < self._received else HTTPStatus.BAD_REQUEST, counts
        )


def to_json(body: Any) -> bytes:
    """Return a body as a line of JSON."""
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)


def encodable_text(text: str) -> str:
    """Return a text that JSON can hold: an event may have quoted half a character."""
    return text.encode("utf-8", "replace").decode()
