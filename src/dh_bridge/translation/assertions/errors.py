"""Why a check could not be evaluated: ``assertionRunEvent.result.error``, by ``mappings/tables/assertion_errors.yaml``."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from dh_bridge import bundled
from dh_bridge.errors import MappingError
from dh_bridge.translation.properties import capped
from dh_bridge.translation.redaction import redacted_words

_LONGEST = 20_000  # characters of a message that are looked at


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row: messages with one of ``words`` are errors of this type."""

    type: str
    words: list[str]
    examples: list[str]


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    otherwise: str
    errors: list[Kind]


class ErrorTable:
    """The table, compiled: ``table(message)`` is the type."""

    def __init__(self, document: Any, where: str = "") -> None:
        try:
            words = msgspec.convert(document, Document)
        except msgspec.ValidationError as error:
            raise MappingError(
                str(error), where=where, now="see mappings/schema/assertion_errors.schema.json"
            ) from error
        self._otherwise = words.otherwise
        self._kinds = [(row.type, _pattern(row.words)) for row in words.errors]

    def __call__(self, message: str) -> str:
        """Return the AssertionResultErrorType of a message."""
        text = message[:_LONGEST].lower()
        return next((kind for kind, search in self._kinds if search(text)), self._otherwise)


def _pattern(words: list[str]) -> Any:
    """Return the search for any of the words, standing alone."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word.lower()) for word in words)})(?!\w)").search


@cache
def default_errors() -> ErrorTable:
    """Return the bundled table, loaded once."""
    return ErrorTable(bundled.table("assertion_errors"), "tables/assertion_errors.yaml")


def result_error(message: str) -> dict[str, Any]:
    """Return the error of a result: its type by the message, the message redacted and capped."""
    return {"type": default_errors()(message), "properties": {"message": capped(redacted_words(message))}}
