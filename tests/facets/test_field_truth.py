"""A leaf that the report calls mapped or kept changes the proposals when its value changes; the rest says why not."""

from __future__ import annotations

import copy
import re

import pytest
from support.facet_cases import (
    NAMESPACE,
    PARENT,
    RUN,
    dataset_event,
    event,
    facet,
    job_event,
    orders,
    totals,
    translate_events,
)

from dh_bridge.datahub.proposal import ndjson_line

RULES = {"dependency_type": "D", "sequence_trigger_rule": "S", "status_trigger_rule": "T"}
COMPARE = {
    "type": "compare",
    "left": {"type": "field", "field": "a"},
    "right": {"type": "literal", "value": "1"},
    "comparison": "EQUAL",
}
BINARY = {"type": "binary", "operator": "AND", "left": COMPARE, "right": COMPARE}
PARTS = [{"identifier": "i", "dimensions": {"a": 1, "type": "t"}}, {"dimensions": {"b": {"c": 1}}}]


def upstream(name, namespace=NAMESPACE):
    return {"job": {"namespace": namespace, "name": name}, "run": {"runId": PARENT}, **RULES}


RUN_FACETS = {
    "environmentVariables": facet(
        environmentVariables=[{"name": "A", "value": "b"}, {"name": "PASSWORD", "value": "c"}]
    ),
    "executionParameters": facet(
        parameters=[{"key": "k", "value": "1", "name": "n", "description": "d"}, {"key": "q"}]
    ),
    "extractionError": facet(
        totalTasks=3,
        failedTasks=0,
        errors=[{"errorMessage": "m", "task": "t" * 600, "taskNumber": 0, "stackTrace": "s"}],
    ),
    "jobDependencies": facet(
        upstream=[upstream("daily.x"), upstream("x", "elsewhere")], downstream=[upstream("z")], trigger_rule="R"
    ),
    "gcp_composer_run": facet(dagRunId="d"),
}
JOB_FACETS = {
    "gcp_composer_job": facet(
        environmentName="e", dagId="d", operator="o", taskId="t", airflowVersion="2", composerVersion="3"
    ),
    "jobType": facet(jobType="TASK"),
}
SCAN = facet(
    snapshotId=1, schemaId=0, filterDescription="f", projectedFieldNames=["id"], metadata={"k": "v", "token": "t"},
    scanMetrics={"resultDataFiles": 3.0, "totalFileSizeInBytes": 44, "skippedDataFiles": 0},
)  # fmt: skip
COMMIT = facet(
    snapshotId=1, sequenceNumber=2, operation="append", metadata={"k": "v"},
    commitMetrics={"addedRecords": 3, "removedRecords": 2, "totalRecords": 9, "totalFilesSizeInBytes": 8, "addedDVs": 0, "totalEqualityDeletes": 0},
)  # fmt: skip
INPUTS = [
    orders(inputFacets={"icebergScanReport": SCAN, "subset": facet(inputCondition=BINARY)}),
    {
        **orders(inputFacets={"subset": facet(inputCondition={"type": "partition", "partitions": PARTS})}),
        "name": "db.s.p",
    },
    {
        **orders(inputFacets={"subset": facet(inputCondition={"type": "location", "locations": ["s3://a", "s3://b"]})}),
        "name": "db.s.l",
    },
]
OUTPUT = totals(
    facets={
        "datasetType": facet(datasetType="TABLE", subType="EXTERNAL"),
        "hierarchy": facet(hierarchy=[{"type": "T", "name": "n"}]),
    },
    outputFacets={"subset": facet(outputCondition=BINARY), "icebergCommitReport": COMMIT},
)
RUN_PARTS = {"run": RUN_FACETS, "job": JOB_FACETS, "inputs": INPUTS, "outputs": [OUTPUT]}
CALLS = {
    "whole run": [event("START", **RUN_PARTS), event(**RUN_PARTS)],
    "start": [event("START", **RUN_PARTS)],
    "running": [event("RUNNING", **RUN_PARTS)],
    "end": [event(**RUN_PARTS)],
    "failure": [event("FAIL", **RUN_PARTS)],
    "job": [job_event(job=JOB_FACETS, inputs=INPUTS, outputs=[OUTPUT])],
    "input of nobody": [
        dataset_event(orders(facets={"icebergScanReport": SCAN, "subset": facet(inputCondition=BINARY)}))
    ],
    "output of nobody": [dataset_event(OUTPUT)],
}
_STEP = re.compile(r'\.([^.\[\]]+)|\[(\d+)\]|\["([^"]*)"\]')


def changed(events, path):
    """The events with another value at ``path``, in each of them."""
    steps = [int(position) if position else word or quoted for word, position, quoted in _STEP.findall(path)]
    found = copy.deepcopy(events)
    for one in found:
        place = one
        for step in steps[:-1]:
            place = place[step]
        value = place[steps[-1]]
        other = RUN[:-1] + "9" if steps[-1] == "runId" else f"{value}9" if isinstance(value, str) else value + 1
        place[steps[-1]] = other
    return found


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize("name", CALLS)
def test_reported_fields_change_the_proposals(name, profile):
    events = CALLS[name]

    def lines(call):
        return [ndjson_line(one) for one in translate_events(call, datahub_version=profile).proposals]

    expected, outcomes = lines(events), translate_events(events, report=True, datahub_version=profile).outcomes()
    reached = [
        path
        for path, (outcome, _) in outcomes.items()
        if outcome != "dropped" and "acets." in path and "jobType" not in path
    ]
    assert reached
    assert [path for path in reached if lines(changed(events, path)) == expected] == []
