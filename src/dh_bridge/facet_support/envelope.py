"""Targets of the fields outside of facets: a row for each field of an event's envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    INPUT,
    JOB_PROPERTIES,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
)

if TYPE_CHECKING:
    from dh_bridge.model.trace import FieldTarget

ENVELOPE_PROPERTIES = {("producer",): "producer", ("schemaURL",): "schemaURL"}
#: In the upstreams of the outputs, if the job is not written and has no edges.
UPSTREAM_TARGET = "upstreamLineage.upstreams[].dataset"
#: Each aspect of a dataset contains its name. The first one that is written counts, if the rows have no other target.
DATASET_NAME_TARGETS = (
    "schemaMetadata.urn", "upstreamLineage.urn", "operation.urn", "datasetProfile.urn", "ownership.urn", "globalTags.urn",
    "subTypes.urn", "editableSchemaMetadata.urn", "assertionInfo.urn", UPSTREAM_TARGET,
)  # fmt: skip
NAME_TARGETS = dict.fromkeys(("inputs", "outputs", "dataset"), DATASET_NAME_TARGETS)
#: On newer servers a run has its platform, even if it has no other aspect yet.
RUN_PLATFORM_TARGET = "dataPlatformInstance.urn"
_CREATED_TARGETS = tuple(f"dataJobInputOutput.{side}DatasetEdges[].created" for side in ("input", "output"))
#: Of a run whose job is written by another tool.
_JOB_NAME_TARGET = OPERATION_PROPERTIES["job"]


def _envelope_targets() -> dict[tuple[str, str], list[FieldTarget]]:
    rows: dict[tuple[str, str], list[FieldTarget]] = {}
    for kind in ("run", "job"):
        rows[kind, "$.job.namespace"] = [JOB_PROPERTIES["job.namespace"], "dataFlowInfo.project", _JOB_NAME_TARGET]
        rows[kind, "$.job.name"] = [JOB_PROPERTIES["job.name"], _JOB_NAME_TARGET]
        for direction, edges in (("inputs", INPUT), ("outputs", OUTPUT)):
            for field in ("namespace", "name"):
                rows[kind, f"$.{direction}[].{field}"] = [edges, DATASET_PROPERTIES[field]]
    rows["run", "$.run.runId"] = [
        "dataProcessInstanceRunEvent.urn",
        "dataProcessInstanceProperties.urn",
        "dataProcessInstanceInput.urn",
        "dataProcessInstanceOutput.urn",
        OPERATION_PROPERTIES["runId"],
        RUN_PLATFORM_TARGET,
    ]
    rows["run", "$.eventType"] = [
        "dataProcessInstanceRunEvent.status",
        RUN_PROPERTIES["eventType"],
        "operation.operationType",
    ]
    rows["run", "$.eventTime"] = [
        "dataProcessInstanceRunEvent.timestampMillis", "dataProcessInstanceProperties.created",
        *_CREATED_TARGETS, "operation.timestampMillis",
    ]  # fmt: skip
    rows["job", "$.eventTime"] = [
        *_CREATED_TARGETS, "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    rows["dataset", "$.eventTime"] = [
        "datasetProfile.timestampMillis", "assertionRunEvent.timestampMillis", "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    for field in ("namespace", "name"):
        rows["dataset", f"$.dataset.{field}"] = [DATASET_PROPERTIES[field]]
    return rows


ENVELOPE_TARGETS = _envelope_targets()
