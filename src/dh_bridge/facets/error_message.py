"""errorMessage (run): why it failed. https://openlineage.io/docs/spec/facets/run-facets/error_message"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.properties import truncate, truncate_middle

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class ErrorMessage(Facet):
    """Message, language and stack trace."""

    message: str | None = None
    programmingLanguage: str | None = None
    stackTrace: str | None = None


def error_properties(message: str | None, trace: str | None, language: str | None = None) -> dict[str, str]:
    """Return the properties of an error: message capped, trace cut in the middle."""
    properties = {}
    if message:
        properties["errorMessage.message"] = truncate(message)
    if language:
        properties["errorMessage.programmingLanguage"] = truncate(language)
    if trace:
        properties["errorMessage.stackTrace"] = truncate_middle(trace)
    return properties


@facet(
    "errorMessage",
    attach="run",
    struct=ErrorMessage,
    outcomes={"message": as_property(), "programmingLanguage": as_property(), "stackTrace": as_property()},
)
def error_message(facet: ErrorMessage, ctx: FacetContext) -> Facts:
    """Properties of the run; the result of a run is the event type's, never this facet's."""
    properties = error_properties(facet.message, facet.stackTrace, facet.programmingLanguage)
    if properties:
        yield property_fact(ctx, properties)
