"""The ladders: where several facets tell one thing, the lowest rung that any of them stands on wins.

A ladder is a priority list, not an arrival order, so the answer is a function of what was said, whenever it was said.
"""

from __future__ import annotations

from typing import Any

# -- RUN_NAME: what a run is called; a run of which nothing is said is called by its run id ----------------------------
NAME_DATA_RENTGEN = 0
NAME_DAG_RUN = 1
NAME_TASK = 2
NAME_COMPOSER = 3
#: names runs of applications only: the SQL jobs inside repeat the facet
NAME_APPLICATION = 4
NAME_FLINK = 5
#: names the run of dbt's invocation only, not those of its nodes
NAME_INVOCATION = 6
NAME_QUERY = 7
#: names runs of jobType QUERY only
NAME_EXTERNAL_QUERY = 8
#: by `spark.run_name` alone: before the application
NAME_DATABRICKS = -1

# -- RUN_URL: the page of a run ----------------------------------------------------------------------------------------
URL_AIRFLOW_LOG = 0
URL_PERSISTENT_LOG = 1
URL_SPARK_HISTORY = 2
URL_SPARK_PROXY = 3
URL_SPARK_UI = 4
URL_RUNNING_LOG = 5
#: computed from the job namespace, the DAG run and the version of Airflow; without a version by guess
URL_AIRFLOW = 6
URL_AIRFLOW_GUESSED = 7
URL_FLINK = 8
#: never the page of the run: what its STARTED events show instead of `URL_FLINK`
URL_FLINK_RUNNING = 9
#: made of an id by an address of `links`: the query, then Dataproc, then Databricks
URL_CONFIGURED = 10
URL_DATAPROC = 11
URL_DATABRICKS = 12
#: where a STARTED event shows the page of the running thing: rung of the run's page -> rung to show instead
URL_WHILE_RUNNING = {URL_PERSISTENT_LOG: URL_RUNNING_LOG, URL_FLINK: URL_FLINK_RUNNING}

# -- RUN_USER: who ran it; the owner of a DAG is not who ran it --------------------------------------------------------
USER_SPARK = 0
USER_HIVE = 1
USER_TRINO = 2
USER_DATABRICKS = 3
USER_DATA_RENTGEN = 4
# -- RUN_TYPE: hints by name; `identity.runs.run_type` weighs them in its order ----------------------------------------
TYPE_PROCESSING = "processing_type"
#: what the parent says of its own job, where the run's own says nothing
TYPE_INHERITED = "inherited_processing_type"
#: what the nearest run above has of both, where states are kept (`ancestry.py`)
TYPE_PROCESSING_OF_ANCESTOR = "processing_type_above"
TYPE_OF_ANCESTOR = "type_above"
TYPE_START_REASON = "start_reason"
TYPE_AIRFLOW_RUN = "airflow_run_type"
TYPE_NOMINAL = "nominal"
TYPE_JOB = "job_type"
TYPE_INTEGRATION = "integration"
TYPE_EXTERNAL_TRIGGER = "external_trigger"
#: not a rung: whether any event said STREAMING or SERVICE
TYPE_STREAMING = "streaming"
#: not a rung: whether it says RUNNING once when it goes on after a failure, and then nothing for a long time (Debezium)
TYPE_RESTARTS = "restarts"
#: not a rung: whether what begins after an end is its next batch, not its next attempt (dbt)
TYPE_BATCHES = "batches"

# -- ATTEMPT: the number of the try ------------------------------------------------------------------------------------
ATTEMPT_DATA_RENTGEN = 0
ATTEMPT_AIRFLOW = 1

# -- OPERATION: what was done to an output; a word that says nothing about it is passed over ---------------------------
OPERATION_LIFECYCLE = 0
OPERATION_ICEBERG = 1
OPERATION_HIVE = 2
OPERATION_DBT = 5
#: here the SQL of the run is asked; what stands above it is asked only if the SQL does not tell
OPERATION_SQL = 6
OPERATION_TRINO = 7
#: streams and Flink insert, unless somebody says otherwise
OPERATION_STREAM = 8

# -- JOB_FIELD, DATASET_FIELD: (field, rung) ---------------------------------------------------------------------------
FIELD_STATED = 0
FIELD_DAG = 1
FIELD_OPERATION = 2
FIELD_WEAK = 3
# of the field externalUrl: the page of a job
PAGE_CODE = 0
PAGE_NODE = 1
#: of Airflow's user interface; without a version by guess
PAGE_UI = 2
PAGE_UI_GUESSED = 3

_PAGES = ("http://", "https://")


def can_name_run(precedence: int, job_type: str, *, is_flow: bool) -> bool:
    """Whether the rung of RUN_NAME names a run of a job of ``job_type`` (upper case, "" unknown) that is a ``is_flow``."""
    if precedence == NAME_EXTERNAL_QUERY:
        return job_type == "QUERY"
    if precedence == NAME_APPLICATION:
        return job_type == "APPLICATION" or (is_flow and not job_type)
    if precedence == NAME_INVOCATION:
        return job_type in ("JOB", "") and is_flow
    return True


def web_page_url(value: Any) -> str | None:
    """Return what a browser can open of a URL that a facet states; None when it is no page."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    return text if text.startswith(_PAGES) and not text.endswith("://") else None
