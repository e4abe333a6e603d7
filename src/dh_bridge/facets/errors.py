"""Facets of what failed: the run, or the producer's extraction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import RUN_COUNT, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import json_text, truncate, truncate_middle

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- errorMessage (run): why it failed. https://openlineage.io/docs/spec/facets/run-facets/error_message


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
    """Properties of the run. The result of the run depends only on the event type."""
    properties = error_properties(facet.message, facet.stackTrace, facet.programmingLanguage)
    if properties:
        yield property_fact(ctx, properties)


# -- extractionError (run): the producer could not parse a statement. https://openlineage.io/docs/spec/facets/run-facets/extraction_error

_MAX_TASK_CHARS = 500
_MAX_MESSAGE_CHARS = 1000


class ExtractionTaskError(Facet):
    """One task that could not be read; the task may be a whole SQL statement."""

    errorMessage: str | None = None
    stackTrace: str | None = None
    task: str | None = None
    taskNumber: int | None = None


class ExtractionError(Facet):
    """How many tasks there were and how many failed, and how."""

    totalTasks: int | None = None
    failedTasks: int | None = None
    errors: list[ExtractionTaskError] | None = None


_OUTCOME = as_property(RUN_PROPERTIES, RUN_COUNT)


@facet(
    "extractionError",
    attach="run",
    struct=ExtractionError,
    outcomes={
        "totalTasks": _OUTCOME,
        "failedTasks": _OUTCOME,
        **{f"errors[].{field_name}": _OUTCOME for field_name in ("errorMessage", "task", "taskNumber")},
        "errors[].stackTrace": as_property(RUN_PROPERTIES["extractionError.stackTrace"]),
    },
)
def extraction_error(facet: ExtractionError, ctx: FacetContext) -> Facts:
    """Properties of the run: largest counts, last errors, one stack trace. The result is not changed, because the run may have succeeded."""
    for field_name in ("totalTasks", "failedTasks"):
        count = getattr(facet, field_name)
        if count is not None and count >= 0:
            yield ctx.run_urn, RUN_COUNT, f"extractionError.{field_name}", count
        elif count is not None:
            ctx.note_dropped(field_name, "malformed")
    errors = [_error_entry(task_error) for task_error in facet.errors or ()]
    properties = {}
    if any(errors):
        properties["extractionError.errors"] = truncate(json_text([error for error in errors if error]))
    traces = [
        (position, task_error.stackTrace)
        for position, task_error in enumerate(facet.errors or ())
        if task_error.stackTrace
    ]
    if traces:
        properties["extractionError.stackTrace"] = truncate_middle(str(traces[0][1]))
        for position, _ in traces[1:]:
            ctx.note_dropped(f"errors[{position}].stackTrace", "too-large")
    if properties:
        yield property_fact(ctx, properties)


def _error_entry(task_error: ExtractionTaskError) -> dict[str, Any]:
    """Return one error for the list; each text is cut by itself, so that one of them does not push out the others."""
    entry = {
        "message": truncate(task_error.errorMessage, _MAX_MESSAGE_CHARS) if task_error.errorMessage else None,
        "task": truncate(task_error.task, _MAX_TASK_CHARS) if task_error.task else None,
        "taskNumber": task_error.taskNumber,
    }
    return {field_name: value for field_name, value in entry.items() if value is not None}
