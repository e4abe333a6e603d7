"""The kinds of facts: what each is about, its merge function, and whether several runs share it.

A fact is ``(entity, kind, key, value)``; its version is that of the event. ``key`` distinguishes the elements of one kind,
for example tags, datasets or sources by precedence. A kind with one element has the key ``""``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dh_bridge.model.merge import (
    Versioned,
    edge_interval,
    interval,
    latest,
    latest_elements,
    maximum,
    union,
    union_of_texts,
)

MergeFunction = Callable[[Versioned, Versioned], Versioned]
Fact = tuple[str, "FactKind", Any, Any]
Facts = Iterator[Fact]


class FactKind:
    """A kind of fact. ``aspect`` names the aspect that it is written to, for the report and for readers."""

    __slots__ = ("aspect", "merge", "name", "shared")

    def __init__(self, name: str, aspect: str, merge: MergeFunction, *, shared: bool = False) -> None:
        self.name = name
        self.aspect = aspect
        self.merge = merge
        self.shared = shared

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __getitem__(self, part: str) -> FactPart:
        """Return a part of what facts of this kind become: one property, one field, or a path (see `render/targets.py`)."""
        return FactPart(self, part)

    def __reduce__(self) -> str:
        return self.name  # pickle restores the constant of this module, because kinds are compared by identity


class FactPart(NamedTuple):
    """A part of what the facts of a kind become; ``name`` is a property (``*``: any), a field, or a path that begins with a dot."""

    kind: FactKind
    name: str


class Tombstone:
    """The value of a tombstone: a facet with ``_deleted``."""

    def __repr__(self) -> str:
        return "TOMBSTONE"

    def __reduce__(self) -> str:
        return "TOMBSTONE"


TOMBSTONE = Tombstone()

# -- of a run ---------------------------------------------------------------------------------------------------------
_PROPERTIES = "dataProcessInstanceProperties"
_RELATIONSHIPS = "dataProcessInstanceRelationships"
_RUN_EVENT = "dataProcessInstanceRunEvent"

#: facet key -> {custom property: text}; the later facet replaces all properties of the earlier one
RUN_PROPERTIES = FactKind("RUN_PROPERTIES", _PROPERTIES, latest)
#: name of a counter -> the largest number of all events
RUN_COUNT = FactKind("RUN_COUNT", _PROPERTIES, maximum)
#: (custom property, dataset URN) -> JSON: one property for all datasets of the run; a fact with a third member in its key is an item of a list
RUN_BY_DATASET = FactKind("RUN_BY_DATASET", _PROPERTIES, latest)
#: precedence of the source of a run's name (see `precedence.py`) -> name
RUN_NAME = FactKind("RUN_NAME", _PROPERTIES, latest)
#: name of a hint at the type of the run -> its value
RUN_TYPE = FactKind("RUN_TYPE", _PROPERTIES, latest)
#: precedence of the source of a run's page -> URL
RUN_URL = FactKind("RUN_URL", _PROPERTIES, latest)
#: precedence of the source of the user who started the run -> user name
RUN_USER = FactKind("RUN_USER", _PROPERTIES, latest)
#: "" -> (parent run URN, job namespace, job name)
PARENT = FactKind("PARENT", _RELATIONSHIPS, latest)
#: URN of the assertion that a DataHub connector writes for the check of the run -> None
FOREIGN_CHECK = FactKind("FOREIGN_CHECK", "assertionInfo", latest)
#: "" -> name of the operation, if it is merged into a task or an application
MERGED_OPERATION = FactKind("MERGED_OPERATION", _RELATIONSHIPS, latest)
#: URN by which other events reference a run whose own URN is that of a DataHub connector -> its run id
RUN_ALIAS = FactKind("RUN_ALIAS", _RELATIONSHIPS, latest)
#: run URN -> None
UPSTREAM_RUN = FactKind("UPSTREAM_RUN", _RELATIONSHIPS, latest)
#: (precedence, time and rank of the event) -> number of the attempt that the event states
ATTEMPT = FactKind("ATTEMPT", _RUN_EVENT, latest)
#: "" -> seconds
DURATION = FactKind("DURATION", _RUN_EVENT, latest)
#: "" -> batchSpec of a validation
BATCH = FactKind("BATCH", "assertionRunEvent", latest)
#: task URN -> None: tasks without events, from the START event of a DAG run
EVENTLESS_TASK = FactKind("EVENTLESS_TASK", _RUN_EVENT, latest)
#: (task URN, time of the DAG run's end) -> (Job, Airflow's state, whether the task has run)
TASK_STATE = FactKind("TASK_STATE", _RUN_EVENT, latest)
#: "" -> the orchestrator's state for the outcome (airflowState)
OUTCOME = FactKind("OUTCOME", _RUN_EVENT, latest)
#: number of an Airflow try, as text -> whether tries are left, unless ``runs.up_for_retry`` is off
CAN_RETRY = FactKind("CAN_RETRY", _RUN_EVENT, latest)
#: task URN -> time in microseconds: failed tries up to this time are final; "": those of the run, or of all tasks
FINAL_FAILURE = FactKind("FINAL_FAILURE", _RUN_EVENT, maximum)
#: "" -> "COMPLETE_SNAPSHOT" or another content mode
CONTENT_MODE = FactKind("CONTENT_MODE", "dataJobInputOutput", latest)
#: digest of an event whose time has no zone -> None
ZONELESS_EVENT = FactKind("ZONELESS_EVENT", _RUN_EVENT, latest)
#: "" -> offset from UTC in minutes, of the run's last event with an offset other than 0
EVENT_OFFSET = FactKind("EVENT_OFFSET", _RUN_EVENT, latest)

# -- of a job within a run: its inputs and outputs; those of the run are the union over its jobs ----------------------
#: dataset URN -> first time; the version is the last one
INPUT = FactKind("INPUT", "dataJobInputOutput", interval)
OUTPUT = FactKind("OUTPUT", "dataJobInputOutput", interval)
#: (direction, dataset URN, field) -> count
STATISTIC = FactKind("STATISTIC", "dataJobInputOutput", maximum)
#: (direction, dataset URN, facet key) -> {property: text}
EDGE_PROPERTIES = FactKind("EDGE_PROPERTIES", "dataJobInputOutput", latest)
INDIRECT = "columnLineage.indirect"
"""The edge property for columns that affect the whole output. Lists of several outputs are joined."""
#: dataset URN -> first time; the version is the last one: of a job or run that the lineage of another one names as a target
IMPLIED_INPUT = FactKind("IMPLIED_INPUT", "dataJobInputOutput", interval)
#: of the run of an application, datasets that its operations read and wrote: dataset URN -> first time; the last version
OPERATION_INPUT = FactKind("OPERATION_INPUT", "dataProcessInstanceInput", interval)
OPERATION_OUTPUT = FactKind("OPERATION_OUTPUT", "dataProcessInstanceOutput", interval)
#: (direction, dataset URN, field, run URN of the operation) -> count
OPERATION_STATISTIC = FactKind("OPERATION_STATISTIC", _PROPERTIES, maximum)
#: all SQL texts of the run, as ((version, text), …): the longest text that starts with the last one is used
SQL = FactKind("SQL", "dataTransformLogic", union_of_texts)

# -- of a dataset within a run ----------------------------------------------------------------------------------------
#: "" -> "drop_edges" or "collapse": an event marks the dataset as temporary, and the setting ``temporary`` applies
TEMPORARY = FactKind("TEMPORARY", "dataJobInputOutput", latest)
#: "" -> None: the lineage of the dataset is in a ``lineage`` facet
EXPLICIT_LINEAGE = FactKind("EXPLICIT_LINEAGE", "upstreamLineage", latest)
#: precedence of the source of the operation -> the producer's name for it
OPERATION = FactKind("OPERATION", "operation", latest)
#: facet key -> {custom property: text}
OPERATION_PROPERTIES = FactKind("OPERATION_PROPERTIES", "operation", latest)
#: "" -> rows that a commit added and removed
AFFECTED_ROWS = FactKind("AFFECTED_ROWS", "operation", latest)
#: (source rank, metric path) -> number or text
METRIC = FactKind("METRIC", "datasetProfile", latest)
#: assertion URN -> Stated: the check as it was last described
CHECKS = FactKind("CHECKS", "assertionInfo", latest)
#: (assertion URN, id of the event's entry or None) -> Check with a result; a check without a result never replaces it
RESULTS = FactKind("RESULTS", "assertionRunEvent", latest)
#: id of the event's entry that has a subset (see `FacetContext.entry_id`) -> PartitionSpec of its points
PARTITION = FactKind("PARTITION", "operation", latest)
#: position of the dataset in the event -> microseconds: when the numbers of a profile were measured
CAPTURE_TIME = FactKind("CAPTURE_TIME", "datasetProfile", latest)

# -- shared by runs: jobs and flows ----------------------------------------------------------------------------------
#: "" -> Job: on the flow and on the dataJob; also on the flow job of a flow-level job, once it has inputs or outputs
JOB = FactKind("JOB", "dataJobInfo", latest, shared=True)
#: "" -> Job: on a flow that is a job itself
FLOW_JOB = FactKind("FLOW_JOB", "dataFlowInfo", latest, shared=True)
#: facet key -> {custom property: text}
JOB_PROPERTIES = FactKind("JOB_PROPERTIES", "dataJobInfo", latest, shared=True)
#: (field, precedence) -> text
JOB_FIELD = FactKind("JOB_FIELD", "dataJobInfo", latest, shared=True)
#: job URN -> {edge property: text}
JOB_EDGE = FactKind("JOB_EDGE", "dataJobInputOutput", latest, shared=True)
#: job URN -> None: a job that lineage names as a source
LINEAGE_JOB = FactKind("LINEAGE_JOB", "dataJobInputOutput", latest, shared=True)
#: schemaField URN -> None
INPUT_FIELD = FactKind("INPUT_FIELD", "dataJobInputOutput", latest, shared=True)
#: downstream dataset URN -> frozenset of (operation, downstream field URN, upstream field URN); the key is
#: (downstream dataset URN, query URN) if a query made them (see `dh_bridge.aggregate.queries`)
FINE_LINEAGE = FactKind("FINE_LINEAGE", "dataJobInputOutput", union, shared=True)
#: "" -> (version, type of the version, URL or None) of the code of the job
VERSION_INFO = FactKind("VERSION_INFO", "versionInfo", latest, shared=True)
#: "" -> list of names
SUBTYPES = FactKind("SUBTYPES", "subTypes", latest, shared=True)

#: lifecycle state -> None, each with its last version
LIFECYCLE = FactKind("LIFECYCLE", "status", latest)
#: lifecycle state of a run that completed -> None
STATUS = FactKind("STATUS", "status", latest, shared=True)
#: "" -> Stated
ASSERTION = FactKind("ASSERTION", "assertionInfo", latest, shared=True)
#: "" -> URL of the code of the job that last reported it
ASSERTION_URL = FactKind("ASSERTION_URL", "assertionInfo", latest, shared=True)
#: facet key -> {custom property: text}: properties that a job states of its checks
ASSERTION_PROPERTIES = FactKind("ASSERTION_PROPERTIES", "assertionInfo", latest, shared=True)

# -- of parents that are named by their children: only if state is stored ------------------------------------------
#: (run id, template URN or "") -> first time; the version is the last one
IMPLIED_PARENT_RUN = FactKind("IMPLIED_PARENT_RUN", "dataProcessInstanceRelationships", interval)
#: "" -> Job
IMPLIED_PARENT_JOB = FactKind("IMPLIED_PARENT_JOB", "dataJobInfo", latest, shared=True)
#: "" -> name of the run: Airflow's id of a DAG run
IMPLIED_PARENT_NAME = FactKind("IMPLIED_PARENT_NAME", _PROPERTIES, latest)
#: on the run: URN of a job or flow -> its rank: the run belongs to it, if that job exists
PARENT_CANDIDATE = FactKind("PARENT_CANDIDATE", _RELATIONSHIPS, latest)
#: on that job or flow: URN of the run -> None
CANDIDATE_RUN = FactKind("CANDIDATE_RUN", _RELATIONSHIPS, latest, shared=True)

# -- of runs of tasks that send no events, from the run of their DAG -----------------------------------------------
#: time -> (Job, URN of the DAG run, label, Airflow's state)
EVENTLESS_RUN = FactKind("EVENTLESS_RUN", _RUN_EVENT, latest, shared=True)

#: Key of a tombstone among owners and tags; it sorts before all of them
TOMBSTONE_KEY = ("", "")

# -- shared by runs: everything that has owners and tags ------------------------------------------------------------
#: tag name -> context JSON or None; "" -> None: a tombstone, which deletes all earlier tags
TAG = FactKind("TAG", "globalTags", latest, shared=True)
#: domain URN -> None: a rule about the job sets it for the job and its datasets
DOMAIN = FactKind("DOMAIN", "domains", latest, shared=True)
#: (owner URN, type) -> None; TOMBSTONE_KEY as for TAG
OWNER = FactKind("OWNER", "ownership", latest, shared=True)

# -- shared by runs: datasets ---------------------------------------------------------------------------------------
#: "" -> None: a run writes the dataset, or a dataset event is about it; stated if runs are resolved one at a time
IS_WRITTEN = FactKind("IS_WRITTEN", "datasetProperties", latest, shared=True)
#: "" -> Name
DATASET = FactKind("DATASET", "datasetProperties", latest, shared=True)
#: facet key -> {custom property: text}
DATASET_PROPERTIES = FactKind("DATASET_PROPERTIES", "datasetProperties", latest, shared=True)
#: (field, precedence) -> text
DATASET_FIELD = FactKind("DATASET_FIELD", "datasetProperties", latest, shared=True)
#: "" -> Container
CONTAINER = FactKind("CONTAINER", "containerProperties", latest, shared=True)
#: "" -> URNs of the containers of a dataset, outermost first
CONTAINER_PATH = FactKind("CONTAINER_PATH", "container", latest, shared=True)
#: dataset URN of the sibling -> whether this entity is the table
SIBLING = FactKind("SIBLING", "siblings", latest, shared=True)
#: "" -> microseconds: the largest value
LAST_MODIFIED = FactKind("LAST_MODIFIED", "datasetProperties", maximum, shared=True)
#: "" -> SchemaFields; UNTYPED_KEY -> those of an event without types, used only if no event has types
SCHEMA = FactKind("SCHEMA", "schemaMetadata", latest, shared=True)
UNTYPED_KEY = "untyped"
#: "" -> names of the partition columns of a table
PARTITIONED_BY = FactKind("PARTITIONED_BY", "schemaMetadata", latest, shared=True)
#: (field path, tag name) -> context JSON or None; TOMBSTONE_KEY as for TAG
COLUMN_TAG = FactKind("COLUMN_TAG", "editableSchemaMetadata", latest, shared=True)
#: "" -> the SQL text of the last run
SQL_TEXT = FactKind("SQL_TEXT", "dataTransformLogic", latest, shared=True)
#: "" -> (first (time, actor), last (time, actor), (text, dialect)) of a query, whose text is that of the last run
QUERY = FactKind("QUERY", "queryProperties", edge_interval, shared=True)
#: dataset URN -> None: datasets that a query reads and writes
QUERY_SUBJECT = FactKind("QUERY_SUBJECT", "querySubjects", latest, shared=True)
#: dataset URN -> Edge
INPUT_EDGE = FactKind("INPUT_EDGE", "dataJobInputOutput", edge_interval, shared=True)
OUTPUT_EDGE = FactKind("OUTPUT_EDGE", "dataJobInputOutput", edge_interval, shared=True)
#: (side, dataset URN) -> None: when a run last named the edge; side "input" or "output", if the setting `edges` expires edges
EDGE_LAST_USED = FactKind("EDGE_LAST_USED", "dataJobInputOutput", latest, shared=True)
#: assertion URN -> None: a check of the dataset, if `assertions.type: native` shows it with the type of its column
CHECK = FactKind("CHECK", "assertionInfo", latest, shared=True)
#: assertion URN -> None: on a job, when its runs last reported the check, if `assertions.expire` is set
JOB_CHECK = FactKind("JOB_CHECK", "status", latest, shared=True)
#: job URN -> None: the same on the assertion
CHECK_JOB = FactKind("CHECK_JOB", "status", latest, shared=True)
#: "" -> URN of the expired check that this check replaces; computed, never merged
REPLACED_CHECK = FactKind("REPLACED_CHECK", "assertionInfo", latest)
#: "" -> ((end, run), …) of the newest completed runs of a job
LAST_RUN_ENDS = FactKind("LAST_RUN_ENDS", "status", latest_elements, shared=True)
#: side -> None: the end of the newest COMPLETE run that names an edge of the side
LAST_COMPLETE_RUN = FactKind("LAST_COMPLETE_RUN", "dataJobInputOutput", latest, shared=True)
#: (facet, dataset URN) -> query URN or None: of dataset events, or if `column_lineage.target` is set so; facet "": from
#: inputs and outputs
UPSTREAM = FactKind("UPSTREAM", "upstreamLineage", latest, shared=True)
#: (dataset URN, property, version) -> None
UPSTREAM_PROPERTY = FactKind("UPSTREAM_PROPERTY", "upstreamLineage", latest, shared=True)
#: (facet, frozenset of (operation, downstream field URN, upstream field or dataset URN)) -> None; a third member of the key
#: is the URN of the query that made them
UPSTREAM_FIELD = FactKind("UPSTREAM_FIELD", "upstreamLineage", latest, shared=True)
#: facet, "" for all facets -> None: a tombstone for what it stated before
UPSTREAM_TOMBSTONE = FactKind("UPSTREAM_TOMBSTONE", "upstreamLineage", latest, shared=True)
