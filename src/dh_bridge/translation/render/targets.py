"""Where the renderers write each kind of fact: the aspects, the paths in them, and the names of properties.

This is the only table of targets. The rows of facets name kinds of facts; the report looks the targets up here, and then in
the proposals (`report/written.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.facts import (
    AFFECTED_ROWS,
    ASSERTION_PROPERTIES,
    ASSERTION_URL,
    ATTEMPT,
    BATCH,
    CHECKS,
    COLUMN_TAG,
    DATASET,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    DURATION,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    INPUT,
    INPUT_FIELD,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    LAST_MODIFIED,
    LIFECYCLE,
    LINEAGE_JOB,
    METRIC,
    NAMED_INPUT,
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
    UPSTREAM_MARK,
    UPSTREAM_RUN,
    Part,
)
from dh_bridge.translation.render.assertions import CONTEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.trace import Destination, TracedFact

_RUN = "dataProcessInstanceProperties"
_RUN_EVENT = "dataProcessInstanceRunEvent"
_IO = "dataJobInputOutput"
_INPUTS = f"{_IO}.inputDatasetEdges"
_JOB_EDGES = f"{_IO}.inputDatajobEdges"

#: Kinds that become custom properties -> where; names come from the fact.
PROPERTIES: dict[Slot, tuple[str, ...]] = {
    RUN_PROPERTIES: (f"{_RUN}.customProperties",),
    RUN_COUNT: (f"{_RUN}.customProperties",),
    RUN_BY_DATASET: (f"{_RUN}.customProperties",),
    JOB_PROPERTIES: ("dataJobInfo.customProperties", "dataFlowInfo.customProperties"),
    DATASET_PROPERTIES: ("datasetProperties.customProperties",),
    OPERATION_PROPERTIES: ("operation.customProperties",),
    ASSERTION_PROPERTIES: ("assertionInfo.customProperties",),
    EDGE_PROPERTIES: (f"{_INPUTS}[].properties", f"{_IO}.outputDatasetEdges[].properties"),
    JOB_EDGE: (f"{_JOB_EDGES}[].properties",),
    UPSTREAM_MARK: ("upstreamLineage.upstreams[].properties",),
}
_EDGES = {
    "input": f"{_INPUTS}[].properties",
    "output": f"{_IO}.outputDatasetEdges[].properties",
    "job": f"{_JOB_EDGES}[].properties",
    "upstream": "upstreamLineage.upstreams[].properties",
}
#: Kinds that become fields -> where.
FIELDS: dict[Slot, tuple[str, ...]] = {
    RUN_NAME: (f"{_RUN}.name",),
    RUN_TYPE: (f"{_RUN}.type",),
    RUN_URL: (f"{_RUN}.externalUrl", f"{_RUN_EVENT}.externalUrl"),
    RUN_USER: (f"{_RUN}.created.actor", "operation.actor", f"{_INPUTS}[].created.actor"),
    PARENT: ("dataProcessInstanceRelationships.parentInstance",),
    UPSTREAM_RUN: ("dataProcessInstanceRelationships.upstreamInstances",),
    ATTEMPT: (f"{_RUN_EVENT}.attempt",),
    DURATION: (f"{_RUN_EVENT}.durationMillis",),
    OUTCOME: (f"{_RUN_EVENT}.result",),
    BATCH: ("assertionRunEvent.batchSpec",),
    INPUT: (_INPUTS, "dataProcessInstanceInput.inputs"),
    NAMED_INPUT: (_INPUTS,),
    OUTPUT: (f"{_IO}.outputDatasetEdges", "dataProcessInstanceOutput.outputs"),
    JOB_EDGE: (_JOB_EDGES,),
    LINEAGE_JOB: (_JOB_EDGES,),
    INPUT_FIELD: (f"{_IO}.inputDatasetFields",),
    FINE_LINEAGE: (f"{_IO}.fineGrainedLineages",),
    UPSTREAM: ("upstreamLineage.upstreams",),
    UPSTREAM_FIELD: ("upstreamLineage.fineGrainedLineages",),
    SQL: ("dataTransformLogic.transforms", "queryProperties.statement"),
    OPERATION: ("operation.operationType",),
    AFFECTED_ROWS: ("operation.numAffectedRows",),
    PARTITION: ("operation.partitionSpec",),
    METRIC: ("datasetProfile.fieldProfiles",),
    CHECKS: ("assertionInfo",),
    RESULTS: ("assertionRunEvent.result",),
    ASSERTION_URL: ("assertionInfo.externalUrl",),
    SUBTYPES: ("subTypes.typeNames",),
    LIFECYCLE: ("status.removed",),
    TAG: ("globalTags.tags",),
    COLUMN_TAG: ("editableSchemaMetadata.editableSchemaFieldInfo",),
    OWNER: ("ownership.owners",),
    DATASET: ("upstreamLineage.urn", "datasetProperties.urn"),
    LAST_MODIFIED: ("datasetProperties.lastModified",),
    SCHEMA: ("schemaMetadata.fields",),
    PARTITIONED_BY: ("schemaMetadata.fields[].isPartitioningKey",),
}
#: Kinds whose facts are about one field -> the aspects that have it.
_ASPECTS = {
    JOB_FIELD: ("dataJobInfo", "dataFlowInfo"),
    DATASET_FIELD: ("datasetProperties",),
    METRIC: ("datasetProfile",),
}
#: Metrics of columns.
_OF_COLUMNS = ("column", "quantile")
#: Datasets that a facet names: where the event names them, too, the facet need not state the fact.
OF_THE_EVENT = frozenset((INPUT, OUTPUT, DATASET))


class Path(NamedTuple):
    """A place in an aspect: a path and, of a property, its name (without the prefix of the settings).

    ``edge`` is the URN at the end of the edge whose property it is; ``bare`` tells that the name never has the prefix;
    ``stated`` tells that a facet stated the property.
    """

    path: str
    name: str | None = None
    edge: str = ""
    bare: bool = False
    stated: bool = False

    def text(self, prefix: str) -> str:
        """Return the path as the report shows it, with the prefix of the settings."""
        return self.path if self.name is None else f"{self.path}[{'' if self.bare else prefix}{self.name}]"

    def key(self, prefix: str) -> str:
        """Return the path as `Written` knows it: with the URN of the edge."""
        shown = self.text(prefix)
        return shown.replace("[]", f"[{self.edge}]", 1) if self.edge else shown


def is_property(path: str) -> bool:
    """Return whether a path leads to custom properties or to a map like them."""
    return ".customProperties" in path or ".properties" in path or path.endswith(".runtimeContext")


def property_paths(fact: TracedFact, name: str) -> Iterator[Path]:
    """Yield where the property ``name`` of a fact is written."""
    side, edge = fact.edge
    for path in (_EDGES[side],) if side else _ordered(PROPERTIES[fact.kind], fact):
        yield Path(path, name, edge)
    if fact.kind is RUN_PROPERTIES and name.startswith(CONTEXT):
        yield Path("assertionRunEvent.runtimeContext", name.rpartition(".")[2], bare=True)


def field_paths(fact: TracedFact) -> Iterator[Path]:
    """Yield where a fact is written as a field, or as a property whose name the renderer gives."""
    if fact.kind is STATISTIC:
        yield from _statistic(fact)
    elif fact.kind in _ASPECTS and fact.field not in _OF_COLUMNS:
        yield from (Path(f"{aspect}.{fact.field}") for aspect in _ordered(_ASPECTS[fact.kind], fact))
    else:
        yield from map(Path, FIELDS.get(fact.kind, ()))


def _ordered(paths: tuple[str, ...], fact: TracedFact) -> tuple[str, ...]:
    """Return the aspects of jobs, that of the flow first if the fact is about one."""
    return paths[::-1] if fact.of_flow else paths


def _statistic(fact: TracedFact) -> Iterator[Path]:
    """Yield where a count of an input or output is written: on the operation, on the edge, on the run."""
    (side, dataset), field = fact.edge, fact.field
    if side == "output" and field == "rowCount":
        yield Path("operation.numAffectedRows")
    elif side == "output":
        yield Path("operation.customProperties", f"outputStatistics.{field}")
    yield Path(_EDGES[side], f"{side}Statistics.{field}", dataset)
    yield Path(f"{_RUN}.customProperties", f"{side}s.{field}")


def documented(target: Destination) -> Iterator[str]:
    """Yield the paths of a target for the pages of the documentation, with the default prefix of properties."""
    if isinstance(target, str):
        yield target
        return
    kind, part = target if isinstance(target, Part) else (target, "")
    named = kind in PROPERTIES and part not in ("", "*")
    for path in static_paths(kind, part):
        yield f"{path}[openlineage.{part}]" if named else path


def static_paths(kind: Slot, part: str = "") -> tuple[str, ...]:
    """Return where facts of a kind, or a part of them, may be written, for the pages of the documentation.

    ``part``: see `facts.Part`.
    """
    if kind is STATISTIC:
        edges = tuple(_EDGES[side] for side in ("output", "input"))
        on_operation = "operation.numAffectedRows" if part == "rowCount" else "operation.customProperties"
        return (on_operation, *edges, f"{_RUN}.customProperties")
    if kind in _ASPECTS and part and part not in _OF_COLUMNS:
        return tuple(f"{aspect}.{part}" for aspect in _ASPECTS[kind])
    if part.startswith((".", "[")):
        return tuple(f"{path}{part}" for path in FIELDS[kind])
    if kind in PROPERTIES and (part or kind not in FIELDS):
        return PROPERTIES[kind]
    return FIELDS[kind]
