"""airflow (job): the tasks and task groups of a DAG (Airflow provider; on the DAG's START)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.airflow import part
from dh_bridge.translation.facet import Open, facet, kept, property_statement, withheld
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements

_COSMETIC = ("ui_color", "ui_fgcolor", "ui_label")


@facet(
    "airflow",
    at="job",
    leaves={**{f"tasks.*.{leaf}": withheld("no-home:cosmetic") for leaf in _COSMETIC}, "**": kept()},
    producer="Airflow",
)
def airflow_tasks(opened: Open, at: Place) -> Statements:
    """Tasks without their colours, task tree and groups, as properties of the flow."""
    properties = {}
    for name, value in opened.body.items():
        if name == "tasks":
            value = {  # noqa: PLW2901 - the same leaf without its colours
                task: {key: leaf for key, leaf in part(opened.body["tasks"], task).items() if key not in _COSMETIC}
                for task in part(opened.body, "tasks")
            }
        written = kept_text(f"airflow.{name}", value) if value not in ({}, []) else None
        if written:
            properties[f"airflow.{name}"] = written
    if properties:
        yield property_statement(at, properties)
