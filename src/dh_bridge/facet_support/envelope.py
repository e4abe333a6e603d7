"""Where the fields around the facets go: a row for each field of an event's envelope."""

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
#: In the upstreams of the outputs, where a job that is not written has no edges.
UPSTREAM_TARGET = "upstreamLineage.upstreams[].dataset"
#: Whatever is written of a dataset has its name in it: the first counts that is there, where the rows tell of nothing.
DATASET_NAME_TARGETS = (
    "schemaMetadata.urn", "upstreamLineage.urn", "operation.urn", "datasetProfile.urn", "ownership.urn", "globalTags.urn",
    "subTypes.urn", "editableSchemaMetadata.urn", "assertionInfo.urn", UPSTREAM_TARGET,
)  # fmt: skip
NAME_TARGETS = dict.fromkeys(("inputs", "outputs", "dataset"), DATASET_NAME_TARGETS)
#: Where newer servers know a run by its platform, of which nothing else is told yet.
RUN_PLATFORM_TARGET = "dataPlatformInstance.urn"
_CREATED_TARGETS = tuple(f"dataJobInputOutput.{side}DatasetEdges[].created" for side in ("input", "output"))
#: Of a run whose job another tool writes.
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
