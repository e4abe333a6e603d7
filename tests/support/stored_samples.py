"""One fact of each kind, as the producers of the facts make them, and a form of states that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from dh_bridge.assertions.check import Check
from dh_bridge.columns import SchemaFields
from dh_bridge.datahub.fine_grained import PlainPairs
from dh_bridge.facet_support.checks import StatedCheck
from dh_bridge.facet_support.context import PartitionSpec
from dh_bridge.facet_support.hierarchies import Container
from dh_bridge.identity import Job
from dh_bridge.model import facts
from dh_bridge.model.merge import MIN_VERSION, restore_digest
from dh_bridge.model.properties import MergedProperty
from dh_bridge.model.run_state import RunState
from dh_bridge.naming import Name
from dh_bridge.naming.normalize import NeedsQuotes

TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
COPY = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.copy,PROD)"
FLOW = "urn:li:dataFlow:(airflow,daily,PROD)"
TASK = f"urn:li:dataJob:({FLOW},load)"
RUN = "urn:li:dataProcessInstance:0123"
OTHER_RUN = "urn:li:dataProcessInstance:4567"
QUERY = "urn:li:query:89ab"
ASSERTION = "urn:li:assertion:cdef"
DIGEST = restore_digest(bytes(range(32)))
STAMP = (1_796_000_000_000_000, 4, DIGEST, 0)
LATER = (*STAMP[:3], 1 << 20)
JOB = Job(
    platform="airflow", level="job", flow_urn=FLOW, job_urn=TASK, flow_name="daily", job_name="load", flow_id="daily",
    job_id="load", cluster="PROD", instance=None, env="PROD", namespace="shop", name="daily.load", placeholder=False,
    skip=False, rules=("airflow", "dag.task"), lints=(), producer_key="airflow",
)  # fmt: skip
NAME = Name(
    namespace="oracle://db:1521", name="SHOP.ORDERS", safe_namespace="oracle://db:1521", urn=TABLE, level="table",
    endpoint=TABLE, fqn=None, system="Oracle", rule="oracle", platform="oracle", dataset_name="shop.orders", env="PROD",
    instance=None, column_case=NeedsQuotes("_0", frozenset({"select", "table", "from", "group"})), notes=("a",),
    containers=("urn:li:container:1",),
)  # fmt: skip
SCHEMA = SchemaFields(
    [{"fieldPath": "id", "nativeDataType": "int", "type": {"type": {"com.linkedin.schema.NumberType": {}}}}],
    has_types=True, dropped_count=1, columns={"id": "id", "ID": "id"}, total=2,
)  # fmt: skip
CHECK = Check(
    "expect_column_min",
    success=False,
    column="id",
    params={"min": 1.5, "in": [1, "a", None]},
    other_datasets=(COPY,),
    failures=2,
)
STATED = StatedCheck(CHECK, TABLE, "great-expectations", "check", NAME)
PAIRS = frozenset({("IDENTITY", "down", "up"), (None, "down", "other")})
MARK = (STAMP[:3], "input", 2)
ONE, TWO, LARGE = 1, "two", 10**30
NONE = {"": None}
EDGE = {TABLE: ((0, ""), (1_796_000_000_000, "urn:li:corpuser:ann"), {"version": "7"})}
TEXTS = {
    "facet": {"facet.a": "1"},
    "gone": facts.TOMBSTONE,
    "joined": MergedProperty("both", {"a": "1", ("x", TABLE): {"y": [1]}}),
}

#: kind of fact -> elements as producers state them
SAMPLES = {
    facts.RUN_PROPERTIES: TEXTS,
    facts.RUN_COUNT: {"rows": 7, "more": LARGE},
    facts.RUN_BY_DATASET: {("inputs.version", TABLE): {"a": [1, {"b": 2.5}]}, ("outputs.version", TABLE): "7"},
    facts.RUN_NAME: {3: "daily"},
    facts.RUN_TYPE: {"streaming": True, "processing": "BATCH"},
    facts.RUN_URL: {1: "https://example.com"},
    facts.RUN_USER: {2: "ann"},
    facts.PARENT: {"": (OTHER_RUN, "shop", "daily")},
    facts.FOREIGN_CHECK: {ASSERTION: None},
    facts.MERGED_OPERATION: {"": "daily.load.command"},
    facts.RUN_ALIAS: {OTHER_RUN: "4567"},
    facts.UPSTREAM_RUN: {OTHER_RUN: None},
    facts.ATTEMPT: {(1, 0, 0): 3},
    facts.DURATION: {"": 1.25},
    facts.BATCH: {"": {"nativeBatchId": "1", "customProperties": {"a": "b"}}},
    facts.EVENTLESS_TASK: {TASK: None},
    facts.TASK_STATE: {(TASK, 1_796_000_000): (JOB, "success", True)},
    facts.OUTCOME: {"": "airflow:failed"},
    facts.CAN_RETRY: {"": False},
    facts.FINAL_FAILURE: {TASK: 1_796_000_000_000_000, "": 1 << 62},
    facts.CONTENT_MODE: {"": "COMPLETE_SNAPSHOT"},
    facts.IMPLIED_PARENT_NAME: {"": "scheduled__2026-11-01"},
    facts.PARENT_CANDIDATE: {TASK: 0},
    facts.CANDIDATE_RUN: {RUN: None},
    facts.CAPTURE_TIME: {"1796000000000000:3": 1_796_000_000_000_000},
    facts.VERSION_INFO: {"": ("1a2b", "git", None)},
    facts.DOMAIN: {"urn:li:domain:shop": None},
    facts.ZONELESS_EVENT: {bytes(range(32)).hex(): None},
    facts.EVENT_OFFSET: {"": 120},
    facts.INPUT: {TABLE: STAMP[0]},
    facts.OUTPUT: {COPY: STAMP[0]},
    facts.STATISTIC: {("output", COPY, "rowCount"): 12, ("output", COPY, "bytes"): 1.5},
    facts.EDGE_PROPERTIES: {("input", TABLE, "version"): {"version": "7"}},
    facts.IMPLIED_INPUT: {TABLE: STAMP[0]},
    facts.OPERATION_INPUT: {TABLE: STAMP[0]},
    facts.OPERATION_OUTPUT: {COPY: STAMP[0]},
    facts.OPERATION_STATISTIC: {("output", COPY, "rowCount", OTHER_RUN): 12},
    facts.SQL: {"": ((STAMP, "select 1"), (LATER, "select 2"))},
    facts.TEMPORARY: {"": "collapse"},
    facts.EXPLICIT_LINEAGE: NONE,
    facts.OPERATION: {2: "INSERT"},
    facts.OPERATION_PROPERTIES: {"facet": {"a": "b"}},
    facts.AFFECTED_ROWS: {"": 3},
    facts.METRIC: {(1, "rowCount"): 5, (2, "quantile", "id", "0.5"): 2.5, (2, "column", "id", "min"): "a"},
    facts.CHECKS: {ASSERTION: STATED},
    facts.RESULTS: {(ASSERTION, None): CHECK, (ASSERTION, MARK): CHECK},
    facts.PARTITION: {MARK: PartitionSpec("PARTITION", "day=1", ("day=1",), 2)},
    facts.JOB: {"": JOB},
    facts.FLOW_JOB: {"": JOB},
    facts.JOB_PROPERTIES: TEXTS,
    facts.JOB_FIELD: {("description", 2): "loads", ("name", 1): facts.TOMBSTONE},
    facts.JOB_EDGE: {TASK: {}, FLOW: {"a": "b"}},
    facts.LINEAGE_JOB: {TASK: None},
    facts.INPUT_FIELD: {f"urn:li:schemaField:({TABLE},id)": None},
    facts.FINE_LINEAGE: {COPY: PAIRS, (COPY, QUERY): PlainPairs(["/fineGrainedLineages/IDENTITY/down/NONE/up"])},
    facts.SUBTYPES: {"": "View", "datasetType": ("Table", "External")},
    facts.LIFECYCLE: {"DROP": None},
    facts.STATUS: {"DROP": None},
    facts.ASSERTION: {"": StatedCheck(CHECK, TABLE, "dbt", "test", None)},
    facts.ASSERTION_URL: {"": "https://example.com/code"},
    facts.ASSERTION_PROPERTIES: {"dbt_node": {"a": "b"}},
    facts.IMPLIED_PARENT_RUN: {("4567", ""): STAMP[0]},
    facts.IMPLIED_PARENT_JOB: {"": JOB},
    facts.EVENTLESS_RUN: {1_796_000_000: (JOB, RUN, "manual", "success")},
    facts.TAG: {"pii": '{"a":1}', "": None},
    facts.OWNER: {("urn:li:corpuser:ann", "DEVELOPER"): None, facts.TOMBSTONE_KEY: None},
    facts.IS_WRITTEN: NONE,
    facts.DATASET: {"": NAME},
    facts.DATASET_PROPERTIES: TEXTS,
    facts.DATASET_FIELD: {("description", 1): facts.TOMBSTONE, ("uri", 2): "s3://lake"},
    facts.CONTAINER: {"": Container("shop", "DATABASE", "postgres", None, ("urn:li:container:1",))},
    facts.CONTAINER_PATH: {"": ("urn:li:container:1", "urn:li:container:2")},
    facts.SIBLING: {COPY: True},
    facts.LAST_MODIFIED: {"": STAMP[0]},
    facts.SCHEMA: {"": SCHEMA},
    facts.PARTITIONED_BY: {"": ("day",)},
    facts.COLUMN_TAG: {("id", "pii"): None},
    facts.SQL_TEXT: {"": "select 1"},
    facts.QUERY: {"": ((1, "a"), (2, "b"), ("select 1", None))},
    facts.QUERY_SUBJECT: {TABLE: None},
    facts.INPUT_EDGE: EDGE,
    facts.OUTPUT_EDGE: EDGE,
    facts.EDGE_LAST_USED: {("input", TABLE): None},
    facts.CHECK: {ASSERTION: None},
    facts.JOB_CHECK: {ASSERTION: None},
    facts.CHECK_JOB: {TASK: None},
    facts.REPLACED_CHECK: {"": ASSERTION},
    facts.LAST_RUN_ENDS: {"": ((STAMP[0], RUN), (STAMP[0] + 1, OTHER_RUN))},
    facts.LAST_COMPLETE_RUN: {"input": None},
    facts.UPSTREAM: {("columnLineage", TABLE): None, ("", TABLE): QUERY},
    facts.UPSTREAM_PROPERTY: {(TABLE, "indirect", "FILTER"): None},
    facts.UPSTREAM_FIELD: {("columnLineage", PAIRS): None, ("lineage", PAIRS, QUERY): None},
    facts.UPSTREAM_TOMBSTONE: {"columnLineage": None},
}


def cells_of(slot):
    """Return the sample of a kind as cells."""
    stamps = (STAMP, LATER, MIN_VERSION)
    return {key: (stamps[n % 3], value) for n, (key, value) in enumerate(SAMPLES[slot].items())}


def sample_run():
    """Return a run that has a fact of each kind, and its contribution."""
    state = RunState(RUN, "0123", "run")
    state.facts = {TASK: {slot: cells_of(slot) for slot in SAMPLES}, RUN: {facts.RUN_NAME: {3: (LATER, "daily")}}}
    state.events = [(STAMP, "START"), (LATER, None)]
    state.jobs = {TASK: (JOB, (True, LATER))}
    state.snapshot_outputs, state.collapsed_urns, state.unlinked_urns = (
        frozenset({TABLE}),
        frozenset({COPY}),
        frozenset({QUERY}),
    )
    state.queries = {TASK: QUERY}
    state.producer, state.schema_url = (STAMP, "https://example.com/producer"), (LATER, "https://example.com/schema")
    state.has_failed_operation, state.is_single_event, state.is_complete = True, True, False
    shared = {slot: dict(elements) for slot, elements in state.facts[TASK].items() if slot.shared}
    return state, {TASK: shared, TABLE: {facts.IS_WRITTEN: {"": (MIN_VERSION, None)}}}


def form(value):  # noqa: PLR0911 - one for each type
    """Return a form of a value, or of a whole run, that is equal for equal ones, and keeps lists and tuples apart."""
    if isinstance(value, RunState):
        return {name: form(getattr(value, name)) for name in RunState.__slots__}
    if isinstance(value, MergedProperty):
        return "joined", value.name, form(value.members)
    if isinstance(value, msgspec.Struct):
        return type(value), [form(field) for field in msgspec.structs.astuple(value)]
    if isinstance(value, Mapping):
        return [(form(key), form(member)) for key, member in value.items()]
    if isinstance(value, AbstractSet):
        return frozenset(value)
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple), [form(member) for member in value]
    return value
