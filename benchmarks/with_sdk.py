"""The same proposals, built with acryl-datahub's classes and serialised by it, as its users do.

    python benchmarks/with_sdk.py ROUNDS FILE       (importing acryl-datahub writes ~/.datahub; run.py sets another HOME)

Nothing is parsed and nothing translated here: plain values go in, taken from our own proposals beforehand. What is timed is
building the objects and ``json.dumps(pre_json_transform(mcp.to_obj()))``. Before that, what comes out is compared with ours.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import datahub.metadata.schema_classes as sdk
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.mcp_patch_builder import MetadataPatchProposal
from datahub.emitter.serialization_helper import pre_json_transform
from results import fastest, one_core, peak

from dh_bridge.bridge import Bridge
from dh_bridge.openlineage.read import read_events

Plain = tuple[str, str, str, str, Any]


def stamp(value: dict[str, Any]) -> sdk.AuditStampClass:
    """Return an audit stamp."""
    return sdk.AuditStampClass(time=value["time"], actor=value["actor"])


def schema_metadata(value: dict[str, Any]) -> sdk.SchemaMetadataClass:
    """Return a schema with its fields."""
    return sdk.SchemaMetadataClass(
        schemaName=value["schemaName"],
        platform=value["platform"],
        version=value["version"],
        created=stamp(value["created"]),
        lastModified=stamp(value["lastModified"]),
        hash=value["hash"],
        platformSchema=sdk.OtherSchemaClass(rawSchema=""),
        fields=[
            sdk.SchemaFieldClass(
                fieldPath=field["fieldPath"],
                nullable=field["nullable"],
                description=field.get("description"),
                type=sdk.SchemaFieldDataTypeClass(type=COLUMN_TYPES[next(iter(field["type"]["type"]))]()),
                nativeDataType=field["nativeDataType"],
                recursive=field["recursive"],
                isPartOfKey=field["isPartOfKey"],
            )
            for field in value["fields"]
        ],
    )


def partition(value: dict[str, Any]) -> sdk.PartitionSpecClass:
    """Return a partition."""
    return sdk.PartitionSpecClass(partition=value["partition"], type=value["type"])


def run_event(value: dict[str, Any]) -> sdk.DataProcessInstanceRunEventClass:
    """Return a point of a run's timeseries."""
    result = value.get("result")
    return sdk.DataProcessInstanceRunEventClass(
        timestampMillis=value["timestampMillis"],
        partitionSpec=partition(value["partitionSpec"]),
        messageId=value["messageId"],
        status=value["status"],
        attempt=value.get("attempt"),
        durationMillis=value.get("durationMillis"),
        result=result
        and sdk.DataProcessInstanceRunResultClass(type=result["type"], nativeResultType=result["nativeResultType"]),
    )


def operation(value: dict[str, Any]) -> sdk.OperationClass:
    """Return a point of a dataset's operations."""
    return sdk.OperationClass(
        timestampMillis=value["timestampMillis"],
        partitionSpec=partition(value["partitionSpec"]),
        messageId=value["messageId"],
        actor=value["actor"],
        operationType=value["operationType"],
        customOperationType=value.get("customOperationType"),
        numAffectedRows=value.get("numAffectedRows"),
        sourceType=value["sourceType"],
        customProperties=value["customProperties"],
        lastUpdatedTimestamp=value["lastUpdatedTimestamp"],
    )


def edge(value: dict[str, Any]) -> sdk.EdgeClass:
    """Return an edge to a dataset or job."""
    return sdk.EdgeClass(
        destinationUrn=value["destinationUrn"],
        created=stamp(value["created"]) if "created" in value else None,
        lastModified=stamp(value["lastModified"]) if "lastModified" in value else None,
        properties=value.get("properties"),
    )


def run_properties(value: dict[str, Any]) -> sdk.DataProcessInstancePropertiesClass:
    """Return the properties of a run."""
    return sdk.DataProcessInstancePropertiesClass(
        name=value["name"],
        type=value.get("type"),
        externalUrl=value.get("externalUrl"),
        created=stamp(value["created"]),
        customProperties=value["customProperties"],
    )


def run_relationships(value: dict[str, Any]) -> sdk.DataProcessInstanceRelationshipsClass:
    """Return the job and the parents of a run."""
    return sdk.DataProcessInstanceRelationshipsClass(
        parentTemplate=value["parentTemplate"],
        parentInstance=value.get("parentInstance"),
        upstreamInstances=value["upstreamInstances"],
    )


def transform_logic(value: dict[str, Any]) -> sdk.DataTransformLogicClass:
    """Return the queries of a job."""
    return sdk.DataTransformLogicClass(
        transforms=[
            sdk.DataTransformClass(
                queryStatement=sdk.QueryStatementClass(**transform["queryStatement"]),
            )
            for transform in value["transforms"]
        ]
    )


COLUMN_TYPES = {
    f"com.linkedin.schema.{name}": getattr(sdk, f"{name}Class")
    for name in ("StringType", "NumberType", "TimeType", "DateType", "BooleanType")
}
ASPECTS: dict[str, Any] = {
    "schemaMetadata": schema_metadata,
    "dataProcessInstanceRunEvent": run_event,
    "operation": operation,
    "dataProcessInstanceProperties": run_properties,
    "dataProcessInstanceRelationships": run_relationships,
    "dataTransformLogic": transform_logic,
    "subTypes": lambda value: sdk.SubTypesClass(typeNames=value["typeNames"]),
    "dataPlatformInstance": lambda value: sdk.DataPlatformInstanceClass(platform=value["platform"]),
    "dataProcessInstanceInput": lambda value: sdk.DataProcessInstanceInputClass(inputs=value["inputs"]),
    "dataProcessInstanceOutput": lambda value: sdk.DataProcessInstanceOutputClass(outputs=value["outputs"]),
}


def built(plain: Plain) -> Any:
    """Return one proposal as an object of acryl-datahub."""
    _, urn, change, aspect, value = plain
    if change != "PATCH":
        return MetadataChangeProposalWrapper(entityUrn=urn, changeType=change, aspect=ASPECTS[aspect](value))
    proposal = MetadataPatchProposal(urn)
    for op, path, part in value:
        whole = edge(part) if isinstance(part, dict) and "destinationUrn" in part else part
        proposal._add_patch(aspect, op, path, whole)  # noqa: SLF001 - what every patch builder of it calls
    return proposal.build()[0]


def written(mcp: Any) -> str:
    """Return the JSON that acryl-datahub's emitters send."""
    return json.dumps(pre_json_transform(mcp.to_obj()))


def plain_proposals(file: str) -> list[list[Plain]]:
    """Return our proposals for each event of a file, as plain values."""
    bridge = Bridge()
    return [
        [
            (one.entity_type, one.entity_urn, one.change_type, one.aspect_name, _steps(one.change_type, one.value))
            for one in bridge.translate(event).proposals
        ]
        for event in read_events([file])
    ]


def _steps(change: str, value: Any) -> Any:
    if change != "PATCH":
        return value
    return [
        (step["op"], tuple(part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]), step["value"])
        for step in value
    ]  # fmt: skip


def compare(plain: list[Plain]) -> None:
    """Exit when acryl-datahub would send anything else than we do."""
    for one in plain:
        sent = json.loads(written(built(one)))
        theirs = json.loads(sent["aspect"]["value"])
        ours = one[4]
        if one[2] == "PATCH":
            theirs = _steps("PATCH", theirs)
        same = (sent["entityType"], sent["entityUrn"], sent["changeType"], sent["aspectName"]) == one[:4]
        if not same or theirs != ours:
            sys.exit(f"acryl-datahub writes {one[3]} of {one[1]} in another way:\n{theirs}\nnot\n{ours}")


def main() -> None:
    """Compare, measure, and print one line of JSON."""
    rounds, file = sys.argv[1:]
    one_core()
    events = plain_proposals(file)
    for plain in events:
        compare(plain)
    sizes = [0]

    def all_written() -> None:
        sizes[:] = [len(written(built(one))) for plain in events for one in plain]

    seconds = fastest(int(rounds), all_written)
    found = {"events": len(events), "proposals": len(sizes), "bytes": sum(sizes), "seconds": seconds, "peak": peak()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
