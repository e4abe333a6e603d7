"""Why a check could not be evaluated: ``assertionRunEvent.result.error``, by ``mappings/tables/assertion_errors.yaml``."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dh_bridge.bundled import typed
from dh_bridge.redaction import redacted
from dh_bridge.translation.properties import capped

ErrorType = Literal[
    "SOURCE_CONNECTION_ERROR", "SOURCE_QUERY_FAILED", "INSUFFICIENT_DATA", "INVALID_PARAMETERS", "INVALID_SOURCE_TYPE",
    "UNSUPPORTED_PLATFORM", "CUSTOM_SQL_ERROR", "FIELD_ASSERTION_ERROR", "UNKNOWN_ERROR",
]  # fmt: skip
_LONGEST = 20_000  # characters of a message that are looked at


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row: messages with one of ``words`` are errors of this type."""

    type: ErrorType
    words: list[str]
    examples: list[str] = []


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    otherwise: ErrorType
    errors: list[Kind]


class ErrorTable:
    """The table, compiled: ``table(message)`` is the type."""

    def __init__(self, document: Any, where: str = "") -> None:
        rows = typed(document, Document, "assertion_errors", where)
        self._otherwise = rows.otherwise
        self._kinds = [(row.type, _pattern(row.words)) for row in rows.errors]

    def __call__(self, message: str) -> ErrorType:
        """Return the AssertionResultErrorType of a message."""
        text = message[:_LONGEST].lower()
        return next((kind for kind, search in self._kinds if search(text)), self._otherwise)

    def error(self, message: str) -> dict[str, Any]:
        """Return the error of a result: its type by the message, the message redacted and capped."""
        return {"type": self(message), "properties": {"message": capped(redacted(message))}}


def _pattern(words: list[str]) -> Any:
    """Return the search for any of the words, standing alone."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word.lower()) for word in words)})(?!\w)").search
