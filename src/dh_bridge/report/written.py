"""The proposals of a run, entity by entity, and why others were not written: the basis of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.foreign_owned import foreign_owned_aspects
from dh_bridge.aggregate.unnamed_jobs import has_only_unnamed_jobs
from dh_bridge.assertions import dropped_context_keys
from dh_bridge.datahub.search_texts import cut_fields
from dh_bridge.facet_support.envelope import RUN_PLATFORM_TARGET, UPSTREAM_TARGET
from dh_bridge.model.facts import (
    CHECKS,
    DATASET_PROPERTIES,
    EXPLICIT_LINEAGE,
    INPUT,
    JOB_PROPERTIES,
    MERGED_OPERATION,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
)
from dh_bridge.model.run_state import ANY_TASK
from dh_bridge.openlineage.events import TERMINAL_TYPES
from dh_bridge.render.assertions import runtime_context
from dh_bridge.render.precedence import excess_keys
from dh_bridge.report.properties import fields_of, properties_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

AspectReasons = dict[str, "str | None"]
"""Aspect -> None if it was written, else the reason why it was not.

A part of an aspect (``dataJobInputOutput.inputDatasetEdges[].properties``) is listed beside it if it has its own answer, and so
are the fields and the properties that were written (`report/properties.py`).
"""

_STATEFUL_ASPECTS = ("dataProcessInstanceProperties", "dataProcessInstanceRelationships")
_TERMINAL_ASPECTS = ("operation", "datasetProfile", "assertionRunEvent", "dataProcessInstanceRunEvent")
_JOB_ASPECTS = ("dataJobInfo", "dataFlowInfo", "dataJobInputOutput", "dataTransformLogic", "ownership", "globalTags")
_PROPERTY_ASPECTS = {
    RUN_PROPERTIES: ("dataProcessInstanceProperties",),
    JOB_PROPERTIES: ("dataJobInfo", "dataFlowInfo"),
    DATASET_PROPERTIES: ("datasetProperties",),
    OPERATION_PROPERTIES: ("operation",),
}
#: Jobs and datasets have the same aspects here: owners of a job do not count as a target of a dataset's facet.
_SHARED_ASPECTS = frozenset({"ownership", "globalTags", "subTypes", "status", "domains", "dataPlatformInstance"})
_DATASET_URN_PREFIX, _JOB_URN_PREFIXES = "urn:li:dataset:", ("urn:li:dataJob:", "urn:li:dataFlow:")
#: Paths of rows about a part begin with this, instead of another part of the aspect.
MOVED_PREFIX = "moved:"
#: A text of this field was cut, as it is too long for DataHub's search index.
CUT_REASON = "cut"
_MOVED_TO_RUNS = dict.fromkeys(
    ("dataJobInfo.customProperties", "dataFlowInfo.customProperties"),
    f"{MOVED_PREFIX}dataProcessInstanceProperties.customProperties",
)
# Of an operation that is merged into a task or an application: the aspects that would be on its own job, the properties of the
# remaining aspects, and the parts that the other job has of the operation.
_OWNER_ASPECTS = frozenset({"dataJobInfo", "dataFlowInfo", "dataTransformLogic"})
_CARRIER_PARTS = ("dataJobInfo.type", "dataFlowInfo.project", "dataFlowInfo.urn")

# Where a dataset is named: of one that lineage runs through or that no edge is to name nothing is there.
_PAIR_PATHS = ("upstreamLineage.fineGrainedLineages", "dataJobInputOutput.fineGrainedLineages")
_EDGE_PATHS = (
    "dataJobInputOutput.inputDatasetEdges",
    "dataJobInputOutput.inputDatasetEdges[].properties",
    "dataJobInputOutput.outputDatasetEdges",
    "dataJobInputOutput.outputDatasetEdges[].properties",
    "dataJobInputOutput.inputDatasetFields",
    *_PAIR_PATHS,
)
_SOURCE_PATHS = ("upstreamLineage.upstreams", "upstreamLineage.upstreams[].properties")
_RUN_IO_PATHS = ("dataProcessInstanceInput.inputs", "dataProcessInstanceOutput.outputs")


def proposed_aspects(
    proposals: Iterable[Proposal], rejected: Iterable[Proposal], options: Options
) -> dict[str, AspectReasons]:
    """Return the aspects that are proposed, by URN; why not those that the profile ``rejected`` or ``writes`` keeps back."""
    writes = options.settings.writes
    aspects_by_urn: dict[str, AspectReasons] = {}
    for proposal in rejected:
        aspects_by_urn.setdefault(proposal.entity_urn, {})[proposal.aspect_name] = "profile"
    for proposal in proposals:
        is_filtered = writes.refusal(proposal.entity_type, proposal.aspect_name) is not None
        reason = "policy:writes" if is_filtered else None
        if proposal.change_type == "CREATE" and not options.can_create:
            reason = "policy:state=none"
        aspects = aspects_by_urn.setdefault(proposal.entity_urn, {})
        aspects[proposal.aspect_name] = reason
        if reason is None:
            aspects.update(dict.fromkeys(fields_of(proposal)))
            aspects.update(dict.fromkeys(properties_of(proposal)))
            aspects.update((f"{proposal.aspect_name}.{field}", CUT_REASON) for field in cut_fields(proposal))
    return aspects_by_urn


def entity_urns(state: RunState) -> set[str]:
    """Return the entities about which a run has facts."""
    checks = {check for registers in state.facts.values() for check in registers.get(CHECKS, ())}
    return {state.urn, *state.facts, *state.queries.values(), *checks}


class WrittenAspects:
    """The aspects that a closed run wrote: on its own entities, and on those that it shares."""

    def __init__(self, state: RunState, by_urn: dict[str, AspectReasons], options: Options) -> None:
        self._state = state
        self._by_urn = by_urn
        self._prefix = options.prefix
        self._reasons = _missing_reasons(state, options)
        self._aspects_by_dataset: dict[str, AspectReasons] = {}
        self._last_datasets: Sequence[str] | None = None
        self._last_aspects: AspectReasons = {}

    def aspects_of(self, datasets: Sequence[str]) -> AspectReasons:
        """Return the aspects that a field may have reached.

        ``datasets`` are those of the field, the outermost first. A field with datasets may be on the first of them and its
        assertions, on the run and on its jobs; any other field may be on all entities of the run.
        """
        if datasets != self._last_datasets:  # the fields of one part follow each other
            self._last_datasets, self._last_aspects = datasets, self._find_aspects(datasets)
        return self._last_aspects

    def _find_aspects(self, datasets: Sequence[str]) -> AspectReasons:
        first, last = (datasets[0], datasets[-1]) if datasets else ("", "")
        if first not in self._aspects_by_dataset:
            self._aspects_by_dataset[first] = self._entity_aspects(first)
        named_aspects = self._named_dataset_aspects(first, last)
        if len(datasets) > 1 and first == last:
            named_aspects = {
                **named_aspects,
                **dict.fromkeys(_SOURCE_PATHS, "no-field:a dataset is not its own upstream"),
            }
        return (
            {**self._aspects_by_dataset[first], **named_aspects} if named_aspects else self._aspects_by_dataset[first]
        )

    def _entity_aspects(self, dataset: str) -> AspectReasons:
        state, aspects = self._state, dict(self._reasons)
        entity_urns = self._entity_urns(dataset)
        for urn in entity_urns:
            is_foreign = urn != dataset if dataset else urn.startswith(_DATASET_URN_PREFIX)
            for path, reason in self._by_urn.get(urn, {}).items():
                if path in self._reasons and "." in path:
                    continue  # a part of an aspect that the settings leave to others
                if not (is_foreign and path in _SHARED_ASPECTS) and (
                    reason is None or aspects.get(path, reason) is not None
                ):
                    aspects[path] = reason
        if state.urn and has_only_unnamed_jobs(state):
            aspects.update(_MOVED_TO_RUNS)
        if MERGED_OPERATION in state.facts.get(state.urn, {}):
            aspects = self._carrier_aspects(
                aspects, _OWNER_ASPECTS if dataset else _OWNER_ASPECTS | {"ownership", "globalTags"}
            )
        if dataset:
            aspects.update(self._lineage_aspects(dataset))
        aspects.update(dict.fromkeys(_unwritten_parts(state), "pending-terminal"))
        aspects[RUN_PLATFORM_TARGET] = self._by_urn.get(state.urn, {}).get("dataPlatformInstance", "pending-terminal")
        entity_registers = [state.facts[urn] for urn in entity_urns if urn in state.facts]
        excess_paths = (*_excess_properties(entity_registers, aspects, self._prefix), *_excess_context(state, aspects))
        aspects.update(dict.fromkeys(excess_paths, "too-large"))
        return aspects

    def _carrier_aspects(self, aspects: AspectReasons, lost_aspects: frozenset[str]) -> AspectReasons:
        """Return that facets of a merged operation are on no job of its own: the job of its task is written instead."""
        job_property = f"dataJobInfo.customProperties[{self._prefix}job.namespace]"
        carrier_parts = {
            part: aspects[aspect]
            for part in (*_CARRIER_PARTS, job_property)
            if (aspect := part.partition(".")[0]) in aspects
        }
        operation_property = f"operation.customProperties[{self._prefix}job]"
        remaining = {
            key: reason
            for key, reason in aspects.items()
            if key.partition(".")[0] not in lost_aspects and key != operation_property
        }
        return {**remaining, **dict.fromkeys(lost_aspects, "policy:identity.granularity"), **carrier_parts}

    def _lineage_aspects(self, dataset: str) -> AspectReasons:
        """Return the positions of a dataset in upstreamLineage.

        Its own may have facts of others, and that of outputs may name it.
        """
        aspects: AspectReasons = {}
        registers, job_registers = self._state.facts.get(dataset, {}), self._state.facts.get(ANY_TASK, {})
        for kind, parts in ((UPSTREAM, _SOURCE_PATHS), (UPSTREAM_FIELD, _PAIR_PATHS[:1])):
            if kind not in registers:
                aspects.update(dict.fromkeys(parts, self._reasons.get("dataJobInputOutput", "pending-terminal")))
        outputs = job_registers.get(OUTPUT, ()) if dataset in job_registers.get(INPUT, ()) else ()
        if any(
            "upstreamLineage" in self._by_urn.get(output, ()) and not self._has_own_upstreams(output)
            for output in outputs
        ):
            aspects[UPSTREAM_TARGET] = None
        return aspects

    def _has_own_upstreams(self, output: str) -> bool:
        """Whether a facet names the sources of an output, instead of all inputs of its job."""
        registers = self._state.facts.get(output, {})
        return EXPLICIT_LINEAGE in registers or any(facet for facet, _ in registers.get(UPSTREAM, ()))

    def _entity_urns(self, dataset: str) -> set[str]:
        """Return the entities that may have a field of ``dataset``; for "", all entities of the run."""
        state = self._state
        if not dataset:
            return entity_urns(state)
        jobs = {urn for urn in state.facts if urn.startswith(_JOB_URN_PREFIXES)}
        return {state.urn, *jobs, *state.queries.values(), dataset, *state.facts.get(dataset, {}).get(CHECKS, ())}

    def _named_dataset_aspects(self, first: str, last: str) -> AspectReasons:
        """Return what differs by the datasets that a field names: another one that it changes, or one that no edge names."""
        aspects: AspectReasons = {}
        if last != first:  # the earlier name of a dataset that was renamed
            target_aspects = self._by_urn.get(last, {})
            renamed = f"datasetProperties.customProperties[{self._prefix}renamedTo]"
            aspects[renamed] = target_aspects.get(renamed, self._reasons.get("datasetProperties") or "pending-terminal")
            aspects.update({aspect: reason for aspect, reason in target_aspects.items() if aspect.startswith("status")})
        for urn, parts in ((first, _PAIR_PATHS), (last, _EDGE_PATHS), (last if last != first else "", _SOURCE_PATHS)):
            if urn in self._state.unlinked_urns:
                aspects.update(dict.fromkeys(parts, "policy:temporary"))
            elif urn in self._state.collapsed_urns:
                aspects.update(dict.fromkeys((*parts, *_RUN_IO_PATHS), "policy:temporary"))
        return aspects


def _missing_reasons(state: RunState, options: Options) -> AspectReasons:
    """Return the reasons why the run may not have written an aspect."""
    reasons: AspectReasons = {}
    for aspect in _STATEFUL_ASPECTS:
        reasons[aspect] = "policy:state=none" if state.kind == "run" else "no-field:no run"
    for aspect in _TERMINAL_ASPECTS:
        reasons[aspect] = "pending-terminal" if state.kind == "run" else "no-field:no run"
    if not options.profile.has_aspect("dataJob", "dataTransformLogic"):
        reasons["dataTransformLogic"] = "profile"
    if options.settings.materialize != "all":
        reasons["datasetProperties"] = "policy:materialize"
    if options.settings.schema_.write != "all":
        reasons["schemaMetadata"] = "policy:schema.write"
    if all(job.placeholder or job.skip for job, _ in state.jobs.values()):
        for aspect in _JOB_ASPECTS:
            reasons[aspect] = "no-field:placeholder job" if state.jobs else "no-field:no job"
    if has_only_unnamed_jobs(state):
        reasons["dataJobInputOutput"] = "no-field:job shared by many queries"
    reasons.update(foreign_owned_aspects(state, options))
    return reasons


def _excess_properties(
    entity_registers: Iterable[Registers], aspect_reasons: AspectReasons, prefix: str
) -> Iterator[str]:
    """Yield the properties that did not fit onto their entity, as the report calls them."""
    for registers in entity_registers:
        for kind, aspect_names in _PROPERTY_ASPECTS.items():
            for key in excess_keys(registers, kind) if kind in registers else ():
                for aspect in aspect_names:
                    if aspect_reasons.get(aspect, "") is None:
                        yield f"{aspect}.customProperties[{prefix}{key}]"


def _excess_context(state: RunState, aspects: AspectReasons) -> Iterator[str]:
    """Yield what did not fit beside the results: the parts of a run's properties that each result repeats."""
    if aspects.get("assertionRunEvent", "") is None:
        for key in dropped_context_keys(runtime_context(state, state.facts.get(state.urn, {}))):
            yield f"assertionRunEvent.runtimeContext[{key}]"


def _unwritten_parts(state: RunState) -> Iterator[str]:
    """Yield the parts of written aspects that this run did not write, as the facets' rows call them."""
    if state.kind == "run" and not any(event_type in TERMINAL_TYPES for _, event_type in state.events):
        # Operations of a run are written at its end.
        yield "dataJobInputOutput.inputDatasetEdges[].properties"
        yield "dataJobInputOutput.outputDatasetEdges[].properties"
