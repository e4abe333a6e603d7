"""Where the fields around the facets go: a row for each field of an event's envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    INPUT,
    JOB_PROPERTIES,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
)

if TYPE_CHECKING:
    from dh_bridge.translation.trace import Destination

ENVELOPE_KEPT = {("producer",): "producer", ("schemaURL",): "schemaURL"}
#: In the upstreams of the outputs, where a job that is not written has no edges.
SOURCES = "upstreamLineage.upstreams[].dataset"
#: Whatever is written of a dataset has its name in it: the first counts that is there, where the rows tell of nothing.
BY_NAME = (
    "schemaMetadata.urn", "upstreamLineage.urn", "operation.urn", "datasetProfile.urn", "ownership.urn", "globalTags.urn",
    "subTypes.urn", "editableSchemaMetadata.urn", "assertionInfo.urn", SOURCES,
)  # fmt: skip
NAMES = dict.fromkeys(("inputs", "outputs", "dataset"), BY_NAME)
#: Where newer servers know a run by its platform, of which nothing else is told yet.
OF_RUN = "dataPlatformInstance.urn"
_CREATED = tuple(f"dataJobInputOutput.{side}DatasetEdges[].created" for side in ("input", "output"))
#: Of a run whose job another tool writes.
_OF_JOB = OPERATION_PROPERTIES["job"]


def _envelope_rows() -> dict[tuple[str, str], list[Destination]]:
    rows: dict[tuple[str, str], list[Destination]] = {}
    for kind in ("run", "job"):
        rows[kind, "$.job.namespace"] = [JOB_PROPERTIES["job.namespace"], "dataFlowInfo.project", _OF_JOB]
        rows[kind, "$.job.name"] = [JOB_PROPERTIES["job.name"], _OF_JOB]
        for side, edges in (("inputs", INPUT), ("outputs", OUTPUT)):
            for field in ("namespace", "name"):
                rows[kind, f"$.{side}[].{field}"] = [edges, DATASET_PROPERTIES[field]]
    rows["run", "$.run.runId"] = [
        "dataProcessInstanceRunEvent.urn",
        "dataProcessInstanceProperties.urn",
        "dataProcessInstanceInput.urn",
        "dataProcessInstanceOutput.urn",
        OPERATION_PROPERTIES["runId"],
        OF_RUN,
    ]
    rows["run", "$.eventType"] = [
        "dataProcessInstanceRunEvent.status",
        RUN_PROPERTIES["eventType"],
        "operation.operationType",
    ]
    rows["run", "$.eventTime"] = [
        "dataProcessInstanceRunEvent.timestampMillis", "dataProcessInstanceProperties.created",
        *_CREATED, "operation.timestampMillis",
    ]  # fmt: skip
    rows["job", "$.eventTime"] = [
        *_CREATED, "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    rows["dataset", "$.eventTime"] = [
        "datasetProfile.timestampMillis", "assertionRunEvent.timestampMillis", "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    for field in ("namespace", "name"):
        rows["dataset", f"$.dataset.{field}"] = [DATASET_PROPERTIES[field]]
    return rows


ENVELOPE = _envelope_rows()
