"""airflowState (run): how a DAG run and its tasks ended (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import OUTCOME, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place


@facet(
    "airflowState",
    at="run",
    leaves={
        "dagRunState": mapped("dataProcessInstanceRunEvent.result", "dataProcessInstanceProperties.customProperties"),
        "**": kept(),
    },
    producer="Airflow",
)
def airflow_state(opened: Open, at: Place) -> Statements:
    """The word refines the result (skipped, up_for_retry); the tasks' states are kept, their own events tell the rest."""
    properties = {}
    for name, value in opened.body.items():
        written = kept_text(f"airflowState.{name}", value) if value not in ({}, []) else None
        if written:
            properties[f"airflowState.{name}"] = written
    if properties:
        yield property_statement(at, properties)
    state = opened.body.get("dagRunState")
    if isinstance(state, str) and state:
        yield at.run, OUTCOME, "", f"airflow:{state}"
