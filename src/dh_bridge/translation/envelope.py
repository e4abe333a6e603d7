"""Where the leaves around the facets go: a row for each leaf of an event's envelope."""

from __future__ import annotations

ENVELOPE_KEPT = {("producer",): "producer", ("schemaURL",): "schemaURL"}
EDGES = {"inputs": "dataJobInputOutput.inputDatasetEdges", "outputs": "dataJobInputOutput.outputDatasetEdges"}
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
#: Of a run whose job another tool writes.
OF_JOB = "operation.customProperties[openlineage.job]"
_RUNS = {"inputs": "dataProcessInstanceInput.inputs", "outputs": "dataProcessInstanceOutput.outputs"}


def _envelope_rows() -> dict[tuple[str, str], list[str]]:
    job = ["dataJobInfo.customProperties[openlineage.job.{}]", "dataFlowInfo.customProperties[openlineage.job.{}]"]
    rows: dict[tuple[str, str], list[str]] = {}
    for kind in ("run", "job"):
        rows[kind, "$.job.namespace"] = [
            *(target.format("namespace") for target in job),
            "dataFlowInfo.project",
            OF_JOB,
        ]
        rows[kind, "$.job.name"] = [*(target.format("name") for target in job), OF_JOB]
        for side, edge in EDGES.items():
            for leaf in ("namespace", "name"):
                targets = [edge, _RUNS[side]] if kind == "run" else [edge]
                rows[kind, f"$.{side}[].{leaf}"] = [*targets, f"datasetProperties.customProperties[openlineage.{leaf}]"]
    rows["run", "$.run.runId"] = [
        "dataProcessInstanceRunEvent.urn",
        "dataProcessInstanceProperties.urn",
        "dataProcessInstanceInput.urn",
        "dataProcessInstanceOutput.urn",
        "operation.customProperties",
        OF_RUN,
    ]
    rows["run", "$.eventType"] = [
        "dataProcessInstanceRunEvent.status",
        "dataProcessInstanceProperties.customProperties",
        "operation.operationType",
    ]
    rows["run", "$.eventTime"] = [
        "dataProcessInstanceRunEvent.timestampMillis", "dataProcessInstanceProperties.created",
        "dataJobInputOutput.inputDatasetEdges[].created", "operation.timestampMillis",
    ]  # fmt: skip
    rows["job", "$.eventTime"] = [
        "dataJobInputOutput.inputDatasetEdges[].created", "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    rows["dataset", "$.eventTime"] = [
        "datasetProfile.timestampMillis", "assertionRunEvent.timestampMillis", "upstreamLineage.upstreams[].auditStamp",
    ]  # fmt: skip
    for leaf in ("namespace", "name"):
        rows["dataset", f"$.dataset.{leaf}"] = [f"datasetProperties.customProperties[openlineage.{leaf}]"]
    return rows


ENVELOPE = _envelope_rows()
