"""Why a check could not be evaluated: ``assertionRunEvent.result.error``, by ``mappings/tables/assertion_errors.yaml``."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dh_bridge.bundled import convert_document
from dh_bridge.model.properties import truncate
from dh_bridge.redaction import redact

ErrorType = Literal[
    "SOURCE_CONNECTION_ERROR", "SOURCE_QUERY_FAILED", "INSUFFICIENT_DATA", "INVALID_PARAMETERS", "INVALID_SOURCE_TYPE",
    "UNSUPPORTED_PLATFORM", "CUSTOM_SQL_ERROR", "FIELD_ASSERTION_ERROR", "UNKNOWN_ERROR",
]  # fmt: skip
_MAX_MESSAGE_CHARS = 20_000  # characters of a message that are looked at


class AssertionErrorRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row: messages with one of ``words`` are errors of this type."""

    type: ErrorType
    words: list[str]
    examples: list[str] = []


class AssertionErrorsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    otherwise: ErrorType
    errors: list[AssertionErrorRow]


class ErrorTable:
    """The table, compiled: ``table(message)`` is the type."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, AssertionErrorsDocument, "assertion_errors", location)
        self._default_type = rows.otherwise
        self._matchers = [(row.type, _compile_words(row.words)) for row in rows.errors]

    def __call__(self, message: str) -> ErrorType:
        """Return the AssertionResultErrorType of a message."""
        text = message[:_MAX_MESSAGE_CHARS].lower()
        return next((error_type for error_type, search in self._matchers if search(text)), self._default_type)

    def build_error(self, message: str) -> dict[str, Any]:
        """Return the error of a result: its type by the message, the message redacted and capped."""
        return {"type": self(message), "properties": {"message": truncate(redact(message))}}


def _compile_words(words: list[str]) -> Any:
    """Return the search for any of the words, standing alone."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word.lower()) for word in words)})(?!\w)").search
