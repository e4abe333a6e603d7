"""Precedence: if several facets state the same attribute, the source with the lowest number wins.

The precedence does not depend on the order of arrival, so the result is a function of the set of facts.
"""

from __future__ import annotations

from typing import Any

# -- RUN_NAME: the display name of a run; without any of these sources it is the run id --------------------------------
NAME_DATA_RENTGEN = 0
NAME_DAG_RUN = 1
NAME_TASK = 2
NAME_COMPOSER = 3
#: only for runs of applications: the SQL jobs of an application repeat the facet
NAME_APPLICATION = 4
NAME_FLINK = 5
#: only for the run of a dbt invocation, not for those of its nodes
NAME_INVOCATION = 6
NAME_QUERY = 7
#: only for runs of jobType QUERY
NAME_EXTERNAL_QUERY = 8
#: only with `spark.run_name`: it precedes the application
NAME_DATABRICKS = -1

# -- RUN_URL: the page of a run ----------------------------------------------------------------------------------------
URL_AIRFLOW_LOG = 0
URL_PERSISTENT_LOG = 1
URL_SPARK_HISTORY = 2
URL_SPARK_PROXY = 3
URL_SPARK_UI = 4
URL_RUNNING_LOG = 5
#: computed from the job namespace, the DAG run and the version of Airflow; guessed if the version is unknown
URL_AIRFLOW = 6
URL_AIRFLOW_GUESSED = 7
URL_FLINK = 8
#: never the page of the run: STARTED events show it instead of `URL_FLINK`
URL_FLINK_RUNNING = 9
#: made from an id and an address of `links`: the query, then Dataproc, then Databricks
URL_CONFIGURED = 10
URL_DATAPROC = 11
URL_DATABRICKS = 12
#: while a run is running: precedence of its page -> precedence of the page that a STARTED event shows instead
URL_WHILE_RUNNING = {URL_PERSISTENT_LOG: URL_RUNNING_LOG, URL_FLINK: URL_FLINK_RUNNING}

# -- RUN_USER: the user who started the run; the owner of a DAG is another person --------------------------------------
USER_SPARK = 0
USER_HIVE = 1
USER_TRINO = 2
USER_DATABRICKS = 3
USER_DATA_RENTGEN = 4
# -- RUN_TYPE: hints by name; `identity.runs.run_type` defines their order ---------------------------------------------
TYPE_PROCESSING = "processing_type"
#: the type of the parent's job, if the run itself has none
TYPE_INHERITED = "inherited_processing_type"
#: both of the nearest ancestor, if states are stored (`ancestry.py`)
TYPE_PROCESSING_OF_ANCESTOR = "processing_type_above"
TYPE_OF_ANCESTOR = "type_above"
TYPE_START_REASON = "start_reason"
TYPE_AIRFLOW_RUN = "airflow_run_type"
TYPE_NOMINAL = "nominal"
TYPE_JOB = "job_type"
TYPE_INTEGRATION = "integration"
TYPE_EXTERNAL_TRIGGER = "external_trigger"
#: not a precedence: whether an event has the type STREAMING or SERVICE
TYPE_STREAMING = "streaming"
#: not a precedence: whether the producer sends RUNNING once after a failure, and then no event for a long time (Debezium)
TYPE_RESTARTS = "restarts"
#: not a precedence: whether a START after an end begins the next batch, not the next attempt (dbt)
TYPE_BATCHES = "batches"

# -- ATTEMPT: the number of the try ------------------------------------------------------------------------------------
ATTEMPT_DATA_RENTGEN = 0
ATTEMPT_AIRFLOW = 1

# -- OPERATION: what was done to an output; words that do not state an operation are skipped ---------------------------
OPERATION_LIFECYCLE = 0
OPERATION_ICEBERG = 1
OPERATION_HIVE = 2
OPERATION_DBT = 5
#: the operation of the SQL text; later sources are used only if the SQL text does not have one
OPERATION_SQL = 6
OPERATION_TRINO = 7
#: streams and Flink insert, unless another source states something else
OPERATION_STREAM = 8

# -- JOB_FIELD, DATASET_FIELD: (field, precedence) ---------------------------------------------------------------------
FIELD_STATED = 0
FIELD_DAG = 1
FIELD_OPERATION = 2
FIELD_WEAK = 3
# of the field externalUrl: the page of a job
PAGE_CODE = 0
PAGE_NODE = 1
#: of Airflow's user interface; guessed if the version is unknown
PAGE_UI = 2
PAGE_UI_GUESSED = 3

_PAGES = ("http://", "https://")


def can_name_run(precedence: int, job_type: str, *, is_flow: bool) -> bool:
    """Return whether a source of RUN_NAME names runs of jobs of ``job_type`` (upper case, "" unknown); ``is_flow``: of flows."""
    if precedence == NAME_EXTERNAL_QUERY:
        return job_type == "QUERY"
    if precedence == NAME_APPLICATION:
        return job_type == "APPLICATION" or (is_flow and not job_type)
    if precedence == NAME_INVOCATION:
        return job_type in ("JOB", "") and is_flow
    return True


def web_page_url(value: Any) -> str | None:
    """Return a URL from a facet if a browser can open it, else None."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    return text if text.startswith(_PAGES) and not text.endswith("://") else None
