"""Airflow: what is told of its tasks, and the callbacks inside it: where they send, and what when something is in the way."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AirflowSettings(BaseModel):
    """Events of Airflow, and callbacks of tasks and DAGs inside it (``dh_bridge.airflow``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_graph: bool = Field(
        default=True,
        description="Edges from task to task, as the DAG has them and as sensors wait for tasks of other DAGs; also of tasks"
        " that send no events.",
    )
    silent_tasks: Literal["jobs", "runs"] = Field(
        default="jobs",
        description="Tasks that send no events of their own (empty operators, skipped tasks): `jobs` alone, or `runs`, too, as"
        " the end of the DAG run tells how they ended.",
    )
    to: str = Field(
        default="rest:",
        min_length=1,
        description="Where the callbacks send, as `emit --to`: `rest:` (the server of `rest.server`, `DATAHUB_GMS_URL` or"
        " `~/.datahubenv`), `rest:URL`, `kafka:BOOTSTRAP`, `catalog:FILE`.",
    )
    namespace: str | None = Field(
        default=None,
        description="Namespace of the jobs; none means Airflow's own `[openlineage] namespace`, else `OPENLINEAGE_NAMESPACE`,"
        " else `default`, as the OpenLineage provider has it.",
    )
    on_error: Literal["warn", "raise"] = Field(
        default="warn",
        description="What a callback does when nothing could be told: `warn` in the log, or `raise`, which Airflow logs as a"
        " failed callback; neither fails the task.",
    )
    timeout: float = Field(
        default=8, gt=0, lt=10, description="Seconds that a callback may take in all, retries included."
    )
    beside_others: bool = Field(
        default=False,
        description="Tell also while the OpenLineage provider or DataHub's plugin is active, because they send elsewhere;"
        " into one DataHub every run would be told twice.",
    )
