"""Airflow: events of Airflow, and the callbacks that run inside Airflow."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AirflowSettings(BaseModel):
    """Events of Airflow, and callbacks of tasks and DAGs inside it (``dh_bridge.airflow``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_graph: bool = Field(
        default=True,
        description="Write the order of tasks as upstream jobs: the edges of the DAG, and the tasks of other DAGs that a sensor"
        " waits for. Tasks that send no events are included.",
    )
    tasks_without_events: Literal["jobs", "runs"] = Field(
        default="jobs",
        description="What is written for tasks that send no events, such as empty operators and skipped tasks: `jobs` only, or"
        " also `runs` with the state that the end of the DAG run reports.",
    )
    remote_logs: Literal["drop", "keep"] = Field(
        default="drop",
        description="Files of Airflow's remote logging that tasks report as inputs or outputs: left out (`drop`), or written as"
        " other datasets (`keep`).",
    )
    to: str = Field(
        default="rest:",
        min_length=1,
        description="Target of the callbacks, in the form of `emit --to`: `rest:` (the server of `rest.server`,"
        " `DATAHUB_GMS_URL` or `~/.datahubenv`), `rest:URL`, `kafka:BOOTSTRAP` or `catalog:FILE`.",
    )
    namespace: str | None = Field(
        default=None,
        description="Namespace of the jobs that callbacks report. Default: Airflow's option `[openlineage] namespace`, else the"
        " variable `OPENLINEAGE_NAMESPACE`, else `default`, as in the OpenLineage provider.",
    )
    timeout: float = Field(default=8, gt=0, lt=10, description="Seconds that a callback may take, retries included.")
    run_alongside: bool = Field(
        default=False,
        description="Run the callbacks even if the OpenLineage provider or DataHub's plugin is active. Set it only if those send"
        " to another system: otherwise each run is reported twice.",
    )
