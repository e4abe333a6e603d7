"""errorMessage (run): why it failed. https://openlineage.io/docs/spec/facets/run-facets/error_message"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.properties import capped, head_and_tail

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class ErrorMessage(Facet):
    """Message, language and stack trace."""

    message: str | None = None
    programmingLanguage: str | None = None
    stackTrace: str | None = None


def error_properties(message: str | None, trace: str | None, language: str | None = None) -> dict[str, str]:
    """Return the properties of an error: message capped, trace cut in the middle."""
    properties = {}
    if message:
        properties["errorMessage.message"] = capped(message)
    if language:
        properties["errorMessage.programmingLanguage"] = capped(language)
    if trace:
        properties["errorMessage.stackTrace"] = head_and_tail(trace)
    return properties


@facet(
    "errorMessage",
    at="run",
    reads=ErrorMessage,
    leaves={"message": kept(), "programmingLanguage": kept(), "stackTrace": kept()},
)
def error_message(facet: ErrorMessage, at: Place) -> Statements:
    """Properties of the run; the result of a run is the event type's, never this facet's."""
    properties = error_properties(facet.message, facet.stackTrace, facet.programmingLanguage)
    if properties:
        yield property_statement(at, properties)
