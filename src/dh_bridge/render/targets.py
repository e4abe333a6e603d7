"""The targets of each kind of fact: the aspects, the paths in them, and the names of properties.

This is the only table of targets. The rows of facets name kinds of facts; the report looks the targets up here, and then in
the proposals (`report/written.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.model.facts import (
    AFFECTED_ROWS,
    ASSERTION_PROPERTIES,
    ASSERTION_URL,
    ATTEMPT,
    BATCH,
    CAPTURE_TIME,
    CHECKS,
    COLUMN_TAG,
    DATASET,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    DOMAIN,
    DURATION,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    IMPLIED_INPUT,
    INPUT,
    INPUT_FIELD,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    LAST_MODIFIED,
    LIFECYCLE,
    LINEAGE_JOB,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    OUTCOME,
    OUTPUT,
    OWNER,
    PARENT,
    PARTITION,
    PARTITIONED_BY,
    RESULTS,
    RUN_BY_DATASET,
    RUN_COUNT,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    RUN_URL,
    RUN_USER,
    SCHEMA,
    SQL,
    STATISTIC,
    SUBTYPES,
    TAG,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
    UPSTREAM_RUN,
    VERSION_INFO,
    FactPart,
)
from dh_bridge.render.assertions import CONTEXT_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.trace import FieldTarget, TracedFact

_RUN_ASPECT = "dataProcessInstanceProperties"
_RUN_EVENT_ASPECT = "dataProcessInstanceRunEvent"
_IO_ASPECT = "dataJobInputOutput"
_INPUT_EDGES = f"{_IO_ASPECT}.inputDatasetEdges"
_JOB_EDGES = f"{_IO_ASPECT}.inputDatajobEdges"

#: Kinds that become custom properties -> where; names come from the fact.
PROPERTY_PATHS: dict[FactKind, tuple[str, ...]] = {
    RUN_PROPERTIES: (f"{_RUN_ASPECT}.customProperties",),
    RUN_COUNT: (f"{_RUN_ASPECT}.customProperties",),
    RUN_BY_DATASET: (f"{_RUN_ASPECT}.customProperties",),
    JOB_PROPERTIES: ("dataJobInfo.customProperties", "dataFlowInfo.customProperties"),
    DATASET_PROPERTIES: ("datasetProperties.customProperties",),
    OPERATION_PROPERTIES: ("operation.customProperties",),
    ASSERTION_PROPERTIES: ("assertionInfo.customProperties",),
    EDGE_PROPERTIES: (f"{_INPUT_EDGES}[].properties", f"{_IO_ASPECT}.outputDatasetEdges[].properties"),
    JOB_EDGE: (f"{_JOB_EDGES}[].properties",),
    UPSTREAM_PROPERTY: ("upstreamLineage.upstreams[].properties",),
}
_EDGE_PROPERTY_PATHS = {
    "input": f"{_INPUT_EDGES}[].properties",
    "output": f"{_IO_ASPECT}.outputDatasetEdges[].properties",
    "job": f"{_JOB_EDGES}[].properties",
    "upstream": "upstreamLineage.upstreams[].properties",
}
#: Kinds that become fields -> where.
FIELD_PATHS: dict[FactKind, tuple[str, ...]] = {
    RUN_NAME: (f"{_RUN_ASPECT}.name",),
    RUN_TYPE: (f"{_RUN_ASPECT}.type",),
    RUN_URL: (f"{_RUN_ASPECT}.externalUrl", f"{_RUN_EVENT_ASPECT}.externalUrl"),
    RUN_USER: (f"{_RUN_ASPECT}.created.actor", "operation.actor", f"{_INPUT_EDGES}[].created.actor"),
    PARENT: ("dataProcessInstanceRelationships.parentInstance",),
    UPSTREAM_RUN: ("dataProcessInstanceRelationships.upstreamInstances",),
    ATTEMPT: (f"{_RUN_EVENT_ASPECT}.attempt",),
    DURATION: (f"{_RUN_EVENT_ASPECT}.durationMillis",),
    OUTCOME: (f"{_RUN_EVENT_ASPECT}.result",),
    BATCH: ("assertionRunEvent.batchSpec",),
    INPUT: (_INPUT_EDGES, "dataProcessInstanceInput.inputs"),
    IMPLIED_INPUT: (_INPUT_EDGES,),
    OUTPUT: (f"{_IO_ASPECT}.outputDatasetEdges", "dataProcessInstanceOutput.outputs"),
    JOB_EDGE: (_JOB_EDGES,),
    LINEAGE_JOB: (_JOB_EDGES,),
    INPUT_FIELD: (f"{_IO_ASPECT}.inputDatasetFields",),
    FINE_LINEAGE: (f"{_IO_ASPECT}.fineGrainedLineages",),
    UPSTREAM: ("upstreamLineage.upstreams",),
    UPSTREAM_FIELD: ("upstreamLineage.fineGrainedLineages",),
    SQL: ("dataTransformLogic.transforms", "queryProperties.statement"),
    OPERATION: ("operation.operationType",),
    AFFECTED_ROWS: ("operation.numAffectedRows",),
    PARTITION: ("operation.partitionSpec",),
    METRIC: ("datasetProfile.fieldProfiles",),
    CAPTURE_TIME: ("datasetProfile.timestampMillis",),
    VERSION_INFO: ("versionInfo.version",),
    CHECKS: ("assertionInfo",),
    RESULTS: ("assertionRunEvent.result",),
    ASSERTION_URL: ("assertionInfo.externalUrl",),
    SUBTYPES: ("subTypes.typeNames",),
    LIFECYCLE: ("status.removed",),
    TAG: ("globalTags.tags",),
    COLUMN_TAG: ("editableSchemaMetadata.editableSchemaFieldInfo",),
    DOMAIN: ("domains.domains",),
    OWNER: ("ownership.owners",),
    DATASET: ("upstreamLineage.urn", "datasetProperties.urn"),
    LAST_MODIFIED: ("datasetProperties.lastModified",),
    SCHEMA: ("schemaMetadata.fields",),
    PARTITIONED_BY: ("schemaMetadata.fields[].isPartitioningKey",),
}
#: Kinds whose facts are about one field -> the aspects that have it.
_FIELD_ASPECTS = {
    JOB_FIELD: ("dataJobInfo", "dataFlowInfo"),
    DATASET_FIELD: ("datasetProperties",),
    METRIC: ("datasetProfile",),
}
#: Metrics of columns.
_COLUMN_METRICS = ("column", "quantile")
#: Datasets that a facet names: where the event names them, too, the facet need not state the fact.
EVENT_KINDS = frozenset((INPUT, OUTPUT, DATASET))


class AspectPath(NamedTuple):
    """A target in an aspect: a path and, for a property, its name (without the prefix of the settings).

    ``edge_urn`` is the URN at the end of the edge that has the property; ``is_unprefixed``: the name never has the prefix;
    ``is_stated``: a facet stated the property.
    """

    path: str
    name: str | None = None
    edge_urn: str = ""
    is_unprefixed: bool = False
    is_stated: bool = False

    def to_text(self, prefix: str) -> str:
        """Return the path as the report shows it, with the prefix of the settings."""
        return self.path if self.name is None else f"{self.path}[{'' if self.is_unprefixed else prefix}{self.name}]"

    def to_key(self, prefix: str) -> str:
        """Return the path in the form of `Written`: with the URN of the edge."""
        path_text = self.to_text(prefix)
        return path_text.replace("[]", f"[{self.edge_urn}]", 1) if self.edge_urn else path_text


def is_property(path: str) -> bool:
    """Return whether a path leads to custom properties or to a map like them."""
    return ".customProperties" in path or ".properties" in path or path.endswith(".runtimeContext")


def property_paths(fact: TracedFact, name: str) -> Iterator[AspectPath]:
    """Yield where the property ``name`` of a fact is written."""
    direction, edge_urn = fact.edge
    for path in (_EDGE_PROPERTY_PATHS[direction],) if direction else _order_by_flow(PROPERTY_PATHS[fact.kind], fact):
        yield AspectPath(path, name, edge_urn)
    if fact.kind is RUN_PROPERTIES and name.startswith(CONTEXT_PREFIXES):
        yield AspectPath("assertionRunEvent.runtimeContext", name.rpartition(".")[2], is_unprefixed=True)


def field_paths(fact: TracedFact) -> Iterator[AspectPath]:
    """Yield where a fact is written as a field, or as a property whose name the renderer gives."""
    if fact.kind is STATISTIC:
        yield from _statistic_paths(fact)
    elif fact.kind in _FIELD_ASPECTS and fact.field not in _COLUMN_METRICS:
        yield from (AspectPath(f"{aspect}.{fact.field}") for aspect in _order_by_flow(_FIELD_ASPECTS[fact.kind], fact))
    else:
        yield from map(AspectPath, FIELD_PATHS.get(fact.kind, ()))


def _order_by_flow(paths: tuple[str, ...], fact: TracedFact) -> tuple[str, ...]:
    """Return the aspects of jobs, that of the flow first if the fact is about one."""
    return paths[::-1] if fact.is_of_flow else paths


def _statistic_paths(fact: TracedFact) -> Iterator[AspectPath]:
    """Yield where a count of an input or output is written: on the operation, on the edge, on the run."""
    (direction, dataset), field = fact.edge, fact.field
    if direction == "output" and field == "rowCount":
        yield AspectPath("operation.numAffectedRows")
    elif direction == "output":
        yield AspectPath("operation.customProperties", f"outputStatistics.{field}")
    yield AspectPath(_EDGE_PROPERTY_PATHS[direction], f"{direction}Statistics.{field}", dataset)
    yield AspectPath(f"{_RUN_ASPECT}.customProperties", f"{direction}s.{field}")


def documented_paths(target: FieldTarget) -> Iterator[str]:
    """Yield the paths of a target for the pages of the documentation, with the default prefix of properties."""
    if isinstance(target, str):
        yield target
        return
    kind, part = target if isinstance(target, FactPart) else (target, "")
    is_named = kind in PROPERTY_PATHS and part not in ("", "*")
    for path in static_paths(kind, part):
        yield f"{path}[openlineage.{part}]" if is_named else path


def static_paths(kind: FactKind, part: str = "") -> tuple[str, ...]:
    """Return where facts of a kind, or a part of them, may be written, for the pages of the documentation.

    ``part``: see `facts.Part`.
    """
    if kind is STATISTIC:
        edges = tuple(_EDGE_PROPERTY_PATHS[direction] for direction in ("output", "input"))
        on_operation = "operation.numAffectedRows" if part == "rowCount" else "operation.customProperties"
        return (on_operation, *edges, f"{_RUN_ASPECT}.customProperties")
    if kind in _FIELD_ASPECTS and part and part not in _COLUMN_METRICS:
        return tuple(f"{aspect}.{part}" for aspect in _FIELD_ASPECTS[kind])
    if part.startswith((".", "[")):
        return tuple(f"{path}{part}" for path in FIELD_PATHS[kind])
    if kind in PROPERTY_PATHS and (part or kind not in FIELD_PATHS):
        return PROPERTY_PATHS[kind]
    return FIELD_PATHS[kind]
