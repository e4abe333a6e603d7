"""One row for each kind of thing that statements are about: its law, and whether many runs share it.

A statement is ``(entity, slot, key, value)``; the stamp is the event's. ``key`` tells elements of one slot apart
(a tag, a dataset, a rung of a ladder); ``""`` where there is only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dh_bridge.translation.merge import Cell, collected, edge, joined, largest, latest, newest, span

Law = Callable[[Cell, Cell], Cell]
Statement = tuple[str, "Slot", Any, Any]
Statements = Iterator[Statement]


class Slot:
    """A kind of thing; ``aspect`` is where it ends up (for the report and for readers)."""

    __slots__ = ("aspect", "law", "name", "shared")

    def __init__(self, name: str, aspect: str, law: Law, *, shared: bool = False) -> None:
        self.name = name
        self.aspect = aspect
        self.law = law
        self.shared = shared

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __getitem__(self, part: str) -> Part:
        """Return a part of what facts of this kind become: one property, one field, or a path (see `render/targets.py`)."""
        return Part(self, part)

    def __reduce__(self) -> str:
        return self.name  # the one of this module: a slot is compared by identity


class Part(NamedTuple):
    """A part of what the facts of a kind become; ``name`` is a property (``*``: any), a field, or a path that begins with a dot."""

    kind: Slot
    name: str


class Gone:
    """The value of a tombstone: a facet said ``_deleted``."""

    def __repr__(self) -> str:
        return "GONE"

    def __reduce__(self) -> str:
        return "GONE"


GONE = Gone()

# -- of one run -------------------------------------------------------------------------------------------------------
_PROPERTIES = "dataProcessInstanceProperties"
_RELATIONSHIPS = "dataProcessInstanceRelationships"
_RUN_EVENT = "dataProcessInstanceRunEvent"

#: facet key -> {custom property: text}; the later facet replaces the earlier one whole
RUN_PROPERTIES = Slot("RUN_PROPERTIES", _PROPERTIES, latest)
#: name of a counter -> the largest number that any event said
RUN_COUNT = Slot("RUN_COUNT", _PROPERTIES, largest)
#: (custom property, dataset URN) -> JSON: one property for all datasets of the run
RUN_BY_DATASET = Slot("RUN_BY_DATASET", _PROPERTIES, latest)
#: rung of a run's name (see `precedence.py`, as of the ladders below) -> name
RUN_NAME = Slot("RUN_NAME", _PROPERTIES, latest)
#: name of a hint at the run's type -> its value
RUN_TYPE = Slot("RUN_TYPE", _PROPERTIES, latest)
#: rung of a run's page -> URL
RUN_URL = Slot("RUN_URL", _PROPERTIES, latest)
#: rung of who ran it -> user name
RUN_USER = Slot("RUN_USER", _PROPERTIES, latest)
#: "" -> (parent run URN, job namespace, job name)
PARENT = Slot("PARENT", _RELATIONSHIPS, latest)
#: URN of the assertion that a tool of DataHub writes for the run's check -> None
JOINED_CHECK = Slot("JOINED_CHECK", "assertionInfo", latest)
#: "" -> name of the operation, where it folds into a task or an application
FOLDED = Slot("FOLDED", _RELATIONSHIPS, latest)
#: URN by which other events know a run whose own URN is one of a tool of DataHub -> its run id
RUN_ALIAS = Slot("RUN_ALIAS", _RELATIONSHIPS, latest)
#: run URN -> None
UPSTREAM_RUN = Slot("UPSTREAM_RUN", _RELATIONSHIPS, latest)
#: rung -> attempt number
ATTEMPT = Slot("ATTEMPT", _RUN_EVENT, latest)
#: "" -> seconds
DURATION = Slot("DURATION", _RUN_EVENT, latest)
#: "" -> batchSpec of a validation
BATCH = Slot("BATCH", "assertionRunEvent", latest)
#: task URN -> None: of a DAG run, tasks of which the DAG's START says that they send no events
QUIET_TASK = Slot("QUIET_TASK", _RUN_EVENT, latest)
#: (task URN, time of the DAG run's end) -> (Job, Airflow's word, whether the task has run)
TASK_STATE = Slot("TASK_STATE", _RUN_EVENT, latest)
#: "" -> word of the orchestrator for the outcome (airflowState)
OUTCOME = Slot("OUTCOME", _RUN_EVENT, latest)
#: "" -> whether tries are left, where ``runs.up_for_retry`` asks for it
TRIES_LEFT = Slot("TRIES_LEFT", _RUN_EVENT, latest)
#: "" -> "COMPLETE_SNAPSHOT" and the like
CONTENT_MODE = Slot("CONTENT_MODE", "dataJobInputOutput", latest)

# -- of a job within a run: its inputs and outputs; the run's own are the union over its jobs -------------------------
#: dataset URN -> first time, last stamp
INPUT = Slot("INPUT", "dataJobInputOutput", span)
OUTPUT = Slot("OUTPUT", "dataJobInputOutput", span)
#: (direction, dataset URN, leaf) -> count
STATISTIC = Slot("STATISTIC", "dataJobInputOutput", largest)
#: (direction, dataset URN, facet key) -> {property: text}
EDGE_PROPERTIES = Slot("EDGE_PROPERTIES", "dataJobInputOutput", latest)
INDIRECT = "columnLineage.indirect"
"""The edge property that names the columns which touch the whole output; those of several outputs become one list."""
#: dataset URN -> first time, last stamp: of a job or run that another one's lineage names as a target
NAMED_INPUT = Slot("NAMED_INPUT", "dataJobInputOutput", span)
#: all SQL texts of the run, as ((stamp, text), …): the longest that starts with the last one counts
SQL = Slot("SQL", "dataTransformLogic", collected)

# -- of a dataset within a run ----------------------------------------------------------------------------------------
#: "" -> "drop_edges" or "collapse": an event calls it temporary, where the setting ``temporary`` asks for it
TEMPORARY = Slot("TEMPORARY", "dataJobInputOutput", latest)
#: "" -> None: a ``lineage`` facet says what it was made of
EXPLICIT = Slot("EXPLICIT", "upstreamLineage", latest)
#: rung of what was done -> the producer's word
OPERATION = Slot("OPERATION", "operation", latest)
#: facet key -> {custom property: text}
OPERATION_PROPERTIES = Slot("OPERATION_PROPERTIES", "operation", latest)
#: "" -> rows that a commit added and removed
AFFECTED_ROWS = Slot("AFFECTED_ROWS", "operation", latest)
#: (source rank, metric path) -> number or text
METRIC = Slot("METRIC", "datasetProfile", latest)
#: assertion URN -> Stated: the check as it was last described
CHECKS = Slot("CHECKS", "assertionInfo", latest)
#: (assertion URN, mark of the event's entry or None) -> Check that has a result; one without never replaces it
RESULTS = Slot("RESULTS", "assertionRunEvent", latest)
#: mark of the event's entry that has a subset (see `Place.entry`) -> Part: partitionSpec of its points
PARTITION = Slot("PARTITION", "operation", latest)

# -- of what many runs share: jobs and flows --------------------------------------------------------------------------
#: "" -> Job: on the flow and on the dataJob, a flow-level job's twin too once it has inputs or outputs
JOB = Slot("JOB", "dataJobInfo", latest, shared=True)
#: "" -> Job: on a flow that is a job itself
OWN_JOB = Slot("OWN_JOB", "dataFlowInfo", latest, shared=True)
#: facet key -> {custom property: text}
JOB_PROPERTIES = Slot("JOB_PROPERTIES", "dataJobInfo", latest, shared=True)
#: (field, rung) -> text
JOB_FIELD = Slot("JOB_FIELD", "dataJobInfo", latest, shared=True)
#: job URN -> {edge property: text}
JOB_EDGE = Slot("JOB_EDGE", "dataJobInputOutput", latest, shared=True)
#: job URN -> None: a job that lineage names as a source
LINEAGE_JOB = Slot("LINEAGE_JOB", "dataJobInputOutput", latest, shared=True)
#: schemaField URN -> None
INPUT_FIELD = Slot("INPUT_FIELD", "dataJobInputOutput", latest, shared=True)
#: downstream dataset URN -> frozenset of (operation, downstream field URN, upstream field URN); the key is
#: (downstream dataset URN, query URN) where a query made them (see `dh_bridge.translation.runs.queries`)
FINE_LINEAGE = Slot("FINE_LINEAGE", "dataJobInputOutput", joined, shared=True)
#: "" -> list of names
SUBTYPES = Slot("SUBTYPES", "subTypes", latest, shared=True)

#: lifecycle word -> None, each at its last stamp
LIFECYCLE = Slot("LIFECYCLE", "status", latest)
#: lifecycle word of a run that completed -> None
STATUS = Slot("STATUS", "status", latest, shared=True)
#: "" -> Stated
ASSERTION = Slot("ASSERTION", "assertionInfo", latest, shared=True)
#: "" -> URL of the code of the job that last reported it
ASSERTION_URL = Slot("ASSERTION_URL", "assertionInfo", latest, shared=True)
#: facet key -> {custom property: text}: what a job says of its checks
ASSERTION_PROPERTIES = Slot("ASSERTION_PROPERTIES", "assertionInfo", latest, shared=True)

# -- of parents, as their children name them: only where state is kept ------------------------------------------------
#: (run id, template URN or "") -> first time, last stamp
STUB_RUN = Slot("STUB_RUN", "dataProcessInstanceRelationships", span)
#: "" -> Job
STUB_JOB = Slot("STUB_JOB", "dataJobInfo", latest, shared=True)

# -- of runs of tasks that send no events: what their DAG's run says of them ------------------------------------------
#: time -> (Job, URN of the DAG run, label, Airflow's word)
SILENT_RUN = Slot("SILENT_RUN", _RUN_EVENT, latest, shared=True)

#: Key of a tombstone among owners and tags; it sorts before all of them
ALL = ("", "")

# -- of what many runs share: anything that can be owned and tagged ---------------------------------------------------
#: tag name -> context JSON or None; "" -> None: a tombstone, what was added before it is gone
TAG = Slot("TAG", "globalTags", latest, shared=True)
#: (owner URN, type) -> None; ALL as of TAG
OWNER = Slot("OWNER", "ownership", latest, shared=True)

# -- of what many runs share: datasets --------------------------------------------------------------------------------
#: "" -> None: some run writes it, or a dataset event is about it; stated where runs are settled one at a time
WRITTEN = Slot("WRITTEN", "datasetProperties", latest, shared=True)
#: "" -> Name
DATASET = Slot("DATASET", "datasetProperties", latest, shared=True)
#: facet key -> {custom property: text}
DATASET_PROPERTIES = Slot("DATASET_PROPERTIES", "datasetProperties", latest, shared=True)
#: (field, rung) -> text
DATASET_FIELD = Slot("DATASET_FIELD", "datasetProperties", latest, shared=True)
#: "" -> Container
CONTAINER = Slot("CONTAINER", "containerProperties", latest, shared=True)
#: "" -> URNs of the containers that a dataset is in, outermost first
INSIDE = Slot("INSIDE", "container", latest, shared=True)
#: dataset URN of the other side -> whether this side is the table
SIBLING = Slot("SIBLING", "siblings", latest, shared=True)
#: "" -> micros: the largest wins
LAST_MODIFIED = Slot("LAST_MODIFIED", "datasetProperties", largest, shared=True)
#: "" -> SchemaFields
SCHEMA = Slot("SCHEMA", "schemaMetadata", latest, shared=True)
#: "" -> names of the columns that a table is partitioned by
PARTITIONED_BY = Slot("PARTITIONED_BY", "schemaMetadata", latest, shared=True)
#: (field path, tag name) -> context JSON or None; ALL as of TAG
COLUMN_TAG = Slot("COLUMN_TAG", "editableSchemaMetadata", latest, shared=True)
#: "" -> the SQL text of the last run
SQL_TEXT = Slot("SQL_TEXT", "dataTransformLogic", latest, shared=True)
#: "" -> (first (time, actor), last (time, actor), (text, dialect)) of a query, whose text is that of the last run
QUERY = Slot("QUERY", "queryProperties", edge, shared=True)
#: dataset URN -> None: what a query reads and writes
QUERY_SUBJECT = Slot("QUERY_SUBJECT", "querySubjects", latest, shared=True)
#: dataset URN -> Edge
INPUT_EDGE = Slot("INPUT_EDGE", "dataJobInputOutput", edge, shared=True)
OUTPUT_EDGE = Slot("OUTPUT_EDGE", "dataJobInputOutput", edge, shared=True)
#: (side, dataset URN) -> None: when a run last named the edge; side "input" or "output", where `edges` lets edges leave
SEEN = Slot("SEEN", "dataJobInputOutput", latest, shared=True)
#: assertion URN -> None: a check of the dataset, where `assertions.type: native` shows it with the type of its column
CHECK = Slot("CHECK", "assertionInfo", latest, shared=True)
#: assertion URN -> None: on a job, when a run of it last made the check, where `assertions.retire` lets checks retire
CHECKED = Slot("CHECKED", "status", latest, shared=True)
#: job URN -> None: the same on the assertion
CHECKED_BY = Slot("CHECKED_BY", "status", latest, shared=True)
#: "" -> URN of the retired check that a check is the successor of; derived, never folded
REPLACES = Slot("REPLACES", "assertionInfo", latest)
#: "" -> ((end, run), …) of the newest runs of a job that ended
ENDED = Slot("ENDED", "status", newest, shared=True)
#: side -> None: the end of the newest COMPLETE run that names any edge of the side
NEWEST = Slot("NEWEST", "dataJobInputOutput", latest, shared=True)
#: (facet, dataset URN) -> query URN or None: of dataset events, and where column_lineage.target says so; facet "": inputs x
#: outputs
UPSTREAM = Slot("UPSTREAM", "upstreamLineage", latest, shared=True)
#: (dataset URN, property, mark) -> None
UPSTREAM_MARK = Slot("UPSTREAM_MARK", "upstreamLineage", latest, shared=True)
#: (facet, frozenset of (operation, downstream field URN, upstream field or dataset URN)) -> None; a third member of the key
#: is the URN of the query that made them
UPSTREAM_FIELD = Slot("UPSTREAM_FIELD", "upstreamLineage", latest, shared=True)
#: facet, "" for every one -> None: what it said before is withdrawn
UPSTREAM_GONE = Slot("UPSTREAM_GONE", "upstreamLineage", latest, shared=True)
