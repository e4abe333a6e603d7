"""Runs of the pipeline and its tasks: who they are, what their facets say, what their events say."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import shop
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    documentation_job,
    error_message_run,
    job_dependencies_run,
    job_type_job,
    nominal_time_run,
    ownership_job,
    parent_run,
    processing_engine_run,
    source_code_location_job,
    tags_job,
    tags_run,
)

if TYPE_CHECKING:
    from openlineage.client.client import Event

REPOSITORY = "https://git.shop.example/data/pipeline"
COMMIT = "9f3c1d7a5b2e4806c1d9e7f3a2b4c6d8e0f1a3b5"
LAST_ATTEMPT = {f"{shop.PIPELINE}.load_staging": 2}
ABOUT = {
    shop.PIPELINE: "Every night: orders and customers from the shop to the lake, the warehouse and the marts.\n\nWhat fails after staging stops nobody.",
    "land_orders": "Copies a day of the topic `shop.orders` to the lake.",
    "land_customers": "Copies the customers of the shop's own database to the lake.",
    "load_staging": "Loads the lake into the warehouse; addresses are hashed on the way.",
    "check_orders": "Checks the staged orders; its warnings stop nobody.",
    "check_customers": "Checks the staged customers.",
    "daily_revenue": "Revenue by day and country.",
    "swap_loyalty": "Puts the new loyalty table in the place of the old one.",
    "copy_to_lake": "Copies orders and customers to the files that Spark reads.",
    "order_totals": "Starts the Spark application `order_totals`.",
    "refund_notes": "Starts the Spark application `refund_notes`.",
    "dbt_build": "Runs the dbt project `shop`.",
    "validate_orders": "Validates the staged orders with Great Expectations.",
    "send_report": "Sends the report, unless a check has failed.",
    "load_duckdb": "Copies orders and customers to the tables that dbt reads.",
}


@dataclass
class TaskRun:
    """One run of the pipeline (no task), of one of its tasks, or of a job outside of it."""

    diary: list[Event]
    task: str = ""
    night: datetime = shop.NIGHT
    attempt: int = 1
    after: tuple[str, ...] = ()
    job_facets: dict[str, Any] = field(default_factory=dict)
    alone: bool = False  # a job outside of the pipeline: no parent

    @property
    def name(self) -> str:
        """Name of the job."""
        if self.alone:
            return self.task
        return f"{shop.PIPELINE}.{self.task}" if self.task else shop.PIPELINE

    def say(
        self,
        state: RunState,
        at: str,
        reads: list[Any] | None = None,
        writes: list[Any] | None = None,
        **run_facets: Any,
    ) -> None:
        """Note one event; `at` is minutes and seconds after the night began, such as `3:07.250`."""
        minutes, seconds = at.split(":")
        moment = self.night + timedelta(minutes=int(minutes), seconds=float(seconds))
        self.diary.append(
            RunEvent(
                eventType=state,
                eventTime=moment.isoformat(timespec="milliseconds"),
                run=Run(shop.run_id(self.name, self.night, self.attempt), facets=self.run_facets() | run_facets),
                job=Job(shop.NAMESPACE, self.name, facets=self.standing_facets() | self.job_facets),
                inputs=reads or [],
                outputs=writes or [],
            ),
        )

    def start(
        self, at: str, reads: list[Any] | None = None, writes: list[Any] | None = None, **run_facets: Any
    ) -> None:
        """Note START."""
        self.say(RunState.START, at, reads, writes, **run_facets)

    def complete(
        self, at: str, reads: list[Any] | None = None, writes: list[Any] | None = None, **run_facets: Any
    ) -> None:
        """Note COMPLETE."""
        self.say(RunState.COMPLETE, at, reads, writes, **run_facets)

    def fail(
        self,
        at: str,
        error: tuple[str, str | None],
        reads: list[Any] | None = None,
        writes: list[Any] | None = None,
        **run_facets: Any,
    ) -> None:
        """Note FAIL with its error: message and stack trace."""
        message = error_message_run.ErrorMessageRunFacet(error[0], "python", error[1])
        self.say(RunState.FAIL, at, reads, writes, errorMessage=message, **run_facets)

    def run_facets(self) -> dict[str, Any]:
        """Facets of every event of the run."""
        facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet("1.4.0", "shop-pipeline", "1.54.0"),
            "tags": tags_run.TagsRunFacet([tags_run.TagsRunFacetFields("cluster", "eu-1", "PIPELINE")]),
        }
        if self.alone:
            return facets
        facets["nominalTime"] = nominal_time_run.NominalTimeRunFacet(
            self.night.isoformat(timespec="milliseconds"),
            (self.night + timedelta(days=1)).isoformat(timespec="milliseconds"),
        )
        if self.task:
            facets["parent"] = self.parent()
        if self.after:
            facets["jobDependencies"] = self.dependencies()
        return facets

    def parent(self) -> parent_run.ParentRunFacet:
        """The run of the pipeline, as parent and as root."""
        above = shop.run_id(shop.PIPELINE, self.night)
        return parent_run.ParentRunFacet(
            run=parent_run.Run(above),
            job=parent_run.Job(shop.NAMESPACE, shop.PIPELINE),
            root=parent_run.Root(parent_run.RootRun(above), parent_run.RootJob(shop.NAMESPACE, shop.PIPELINE)),
        )

    def dependencies(self) -> job_dependencies_run.JobDependenciesRunFacet:
        """The tasks that had to end before this one began."""
        names = [f"{shop.PIPELINE}.{task}" for task in self.after]
        return job_dependencies_run.JobDependenciesRunFacet(
            upstream=[
                job_dependencies_run.JobDependency(
                    job=job_dependencies_run.JobIdentifier(shop.NAMESPACE, name),
                    run=job_dependencies_run.RunIdentifier(shop.run_id(name, self.night, LAST_ATTEMPT.get(name, 1))),
                    dependency_type="DIRECT_INVOCATION",
                    sequence_trigger_rule="FINISH_TO_START",
                    status_trigger_rule="EXECUTE_ON_SUCCESS",
                )
                for name in names
            ],
            trigger_rule="ALL_SUCCESS",
        )

    def standing_facets(self) -> dict[str, Any]:
        """Facets of the job that hold for each of its runs."""
        kind = "DAG" if not self.task else "TASK"
        facets: dict[str, Any] = {
            "jobType": job_type_job.JobTypeJobFacet("BATCH", "SHOP_PIPELINE", kind),
            "ownership": ownership_job.OwnershipJobFacet([ownership_job.Owner("team:data", "MAINTAINER")]),
            "sourceCodeLocation": source_code_location_job.SourceCodeLocationJobFacet(
                type="git",
                url=f"{REPOSITORY}/blob/{COMMIT}/{shop.PIPELINE}.py",
                repoUrl=f"{REPOSITORY}.git",
                path=f"{shop.PIPELINE}.py",
                version=COMMIT,
                branch="main",
            ),
            "tags": tags_job.TagsJobFacet([tags_job.TagsJobFacetFields("tier", "1", "PIPELINE")]),
        }
        if about := ABOUT.get(self.task or shop.PIPELINE):
            facets["documentation"] = documentation_job.DocumentationJobFacet(about, "text/markdown")
        return facets
