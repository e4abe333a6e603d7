"""extractionError (run): what the producer could not read. https://openlineage.io/docs/spec/facets/run-facets/extraction_error"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_COUNT, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import capped, head_and_tail, text

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_TASK_CAP = 500
_MESSAGE_CAP = 1000


class Error(Facet):
    """One task that could not be read; the task may be a whole SQL statement."""

    errorMessage: str | None = None
    stackTrace: str | None = None
    task: str | None = None
    taskNumber: int | None = None


class ExtractionError(Facet):
    """How many tasks there were and how many failed, and how."""

    totalTasks: int | None = None
    failedTasks: int | None = None
    errors: list[Error] | None = None


_ROW = kept(RUN_PROPERTIES, RUN_COUNT)


@facet(
    "extractionError",
    at="run",
    reads=ExtractionError,
    leaves={
        "totalTasks": _ROW,
        "failedTasks": _ROW,
        **{f"errors[].{leaf}": _ROW for leaf in ("errorMessage", "task", "taskNumber")},
        "errors[].stackTrace": kept(RUN_PROPERTIES["extractionError.stackTrace"]),
    },
)
def extraction_error(facet: ExtractionError, at: Place) -> Statements:
    """Properties of the run: the largest counts, the last errors, one stack trace; never its result (it may have succeeded)."""
    for leaf in ("totalTasks", "failedTasks"):
        count = getattr(facet, leaf)
        if count is not None and count >= 0:
            yield at.run, RUN_COUNT, f"extractionError.{leaf}", count
        elif count is not None:
            at.withheld(leaf, "malformed")
    errors = [_error(one) for one in facet.errors or ()]
    properties = {}
    if any(errors):
        properties["extractionError.errors"] = capped(text([error for error in errors if error]))
    traces = [(position, one.stackTrace) for position, one in enumerate(facet.errors or ()) if one.stackTrace]
    if traces:
        properties["extractionError.stackTrace"] = head_and_tail(str(traces[0][1]))
        for position, _ in traces[1:]:
            at.withheld(f"errors[{position}].stackTrace", "too-large")
    if properties:
        yield property_statement(at, properties)


def _error(one: Error) -> dict[str, Any]:
    """Return one error for the list; each text is cut by itself, so that one of them does not push out the others."""
    found = {
        "message": capped(one.errorMessage, _MESSAGE_CAP) if one.errorMessage else None,
        "task": capped(one.task, _TASK_CAP) if one.task else None,
        "taskNumber": one.taskNumber,
    }
    return {leaf: value for leaf, value in found.items() if value is not None}
