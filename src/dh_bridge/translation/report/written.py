"""What a run wrote, entity by entity, and why it did not write the rest: what the report rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.search_texts import cut_fields
from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.assertions import untold_context
from dh_bridge.translation.envelope import OF_RUN, SOURCES
from dh_bridge.translation.facts import (
    CHECKS,
    DATASET_PROPERTIES,
    EXPLICIT,
    FOLDED,
    INPUT,
    JOB_PROPERTIES,
    OPERATION_PROPERTIES,
    OUTPUT,
    RUN_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
)
from dh_bridge.translation.render.assertions import runtime_context
from dh_bridge.translation.render.precedence import too_many
from dh_bridge.translation.report.properties import fields_of, properties_of
from dh_bridge.translation.runs.foreign_owned import left
from dh_bridge.translation.runs.unnamed_jobs import is_nameless
from dh_bridge.translation.runstate import ANY_TASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

Aspects = dict[str, "str | None"]
"""Aspect -> None where it was written, else the reason why it was not.

A part of an aspect (``dataJobInputOutput.inputDatasetEdges[].properties``) is listed beside it if it has its own answer, and so
are the fields and the properties that were written (`report/properties.py`).
"""

_STATEFUL = ("dataProcessInstanceProperties", "dataProcessInstanceRelationships")
_TERMINAL = ("operation", "datasetProfile", "assertionRunEvent", "dataProcessInstanceRunEvent")
_OF_JOBS = ("dataJobInfo", "dataFlowInfo", "dataJobInputOutput", "dataTransformLogic", "ownership", "globalTags")
_PROPERTIES = {
    RUN_PROPERTIES: ("dataProcessInstanceProperties",),
    JOB_PROPERTIES: ("dataJobInfo", "dataFlowInfo"),
    DATASET_PROPERTIES: ("datasetProperties",),
    OPERATION_PROPERTIES: ("operation",),
}
#: Jobs and datasets bear these alike: the owners of a job are not where those went that a dataset's facet names.
_BORNE_BY_BOTH = frozenset({"ownership", "globalTags", "subTypes", "status", "domains", "dataPlatformInstance"})
_DATASET, _JOBS = "urn:li:dataset:", ("urn:li:dataJob:", "urn:li:dataFlow:")
#: Before another part of an aspect: what the rows of facets say of a part is there instead.
MOVED = "moved:"
#: A text of this field was cut, as it is too long for DataHub's search index.
CUT = "cut"
_ON_RUNS = dict.fromkeys(
    ("dataJobInfo.customProperties", "dataFlowInfo.customProperties"),
    f"{MOVED}dataProcessInstanceProperties.customProperties",
)
# Of an operation that folds into a task or an application: the aspects that would be on its own job, the properties of the
# aspects that stay, and the parts that the other job has of the operation.
_OF_OWNER = frozenset({"dataJobInfo", "dataFlowInfo", "dataTransformLogic"})
_OF_BOTH = ("dataJobInfo.type", "dataFlowInfo.project", "dataFlowInfo.urn")

# Where a dataset is named: of one that lineage runs through or that no edge is to name nothing is there.
_OF_PAIRS = ("upstreamLineage.fineGrainedLineages", "dataJobInputOutput.fineGrainedLineages")
_OF_ENDS = (
    "dataJobInputOutput.inputDatasetEdges",
    "dataJobInputOutput.inputDatasetEdges[].properties",
    "dataJobInputOutput.outputDatasetEdges",
    "dataJobInputOutput.outputDatasetEdges[].properties",
    "dataJobInputOutput.inputDatasetFields",
    *_OF_PAIRS,
)
_OF_SOURCES = ("upstreamLineage.upstreams", "upstreamLineage.upstreams[].properties")
_OF_RUNS = ("dataProcessInstanceInput.inputs", "dataProcessInstanceOutput.outputs")


def proposed(proposals: Iterable[Proposal], refused: Iterable[Proposal], options: Options) -> dict[str, Aspects]:
    """Return the aspects that are proposed, by URN; why not those that the profile ``refused`` or ``writes`` keeps back."""
    writes = options.settings.writes
    found: dict[str, Aspects] = {}
    for one in refused:
        found.setdefault(one.entity_urn, {})[one.aspect_name] = "profile"
    for one in proposals:
        kept_back = writes.refusal(one.entity_type, one.aspect_name) is not None
        reason = "policy:writes" if kept_back else None
        if one.change_type == "CREATE" and not options.creates:
            reason = "policy:state=none"
        aspects = found.setdefault(one.entity_urn, {})
        aspects[one.aspect_name] = reason
        if reason is None:
            aspects.update(dict.fromkeys(fields_of(one)))
            aspects.update(dict.fromkeys(properties_of(one)))
            aspects.update((f"{one.aspect_name}.{field}", CUT) for field in cut_fields(one))
    return found


def entities(state: RunState) -> set[str]:
    """Return the entities that a run says something of."""
    checks = {check for slots in state.cells.values() for check in slots.get(CHECKS, ())}
    return {state.urn, *state.cells, *state.queries.values(), *checks}


class Written:
    """What a closed run wrote, of what is ``proposed`` of it and of others."""

    def __init__(self, state: RunState, by_urn: dict[str, Aspects], options: Options) -> None:
        self._state = state
        self._by_urn = by_urn
        self._prefix = options.prefix
        self._reasons = _reasons(state, options)
        self._near: dict[str, Aspects] = {}
        self._asked: Sequence[str] | None = None
        self._answer: Aspects = {}

    def near(self, datasets: Sequence[str]) -> Aspects:
        """Return what a field may have reached.

        ``datasets`` are those that it is about or names, the outermost first: of a field with some, that is what was written
        on the first of them and its checks, on the run and on its jobs; of others, whatever the run wrote.
        """
        if datasets != self._asked:  # the fields of one part follow each other
            self._asked, self._answer = datasets, self._of(datasets)
        return self._answer

    def _of(self, datasets: Sequence[str]) -> Aspects:
        first, last = (datasets[0], datasets[-1]) if datasets else ("", "")
        if first not in self._near:
            self._near[first] = self._aspects(first)
        named = self._of_named(first, last)
        if len(datasets) > 1 and first == last:
            named = {**named, **dict.fromkeys(_OF_SOURCES, "no-home:no upstream of itself")}
        return {**self._near[first], **named} if named else self._near[first]

    def _aspects(self, dataset: str) -> Aspects:
        state, found = self._state, dict(self._reasons)
        borne = self._entities(dataset)
        for urn in borne:
            foreign = urn != dataset if dataset else urn.startswith(_DATASET)
            for path, reason in self._by_urn.get(urn, {}).items():
                if path in self._reasons and "." in path:
                    continue  # a part of an aspect that the settings leave to others
                if not (foreign and path in _BORNE_BY_BOTH) and (reason is None or found.get(path, reason) is not None):
                    found[path] = reason
        if state.urn and is_nameless(state):
            found.update(_ON_RUNS)
        if FOLDED in state.cells.get(state.urn, {}):
            found = self._of_carrier(found, _OF_OWNER if dataset else _OF_OWNER | {"ownership", "globalTags"})
        if dataset:
            found.update(self._of_lineage(dataset))
        found.update(dict.fromkeys(_unwritten_parts(state), "pending-terminal"))
        found[OF_RUN] = self._by_urn.get(state.urn, {}).get("dataPlatformInstance", "pending-terminal")
        cells = [state.cells[urn] for urn in borne if urn in state.cells]
        left_out = (*_too_many(cells, found, self._prefix), *_untold_context(state, found))
        found.update(dict.fromkeys(left_out, "too-large"))
        return found

    def _of_carrier(self, found: Aspects, lost: frozenset[str]) -> Aspects:
        """Return that a folded operation's own facets are on no job: what was written is the job that carries it."""
        on_job = f"dataJobInfo.customProperties[{self._prefix}job.namespace]"
        named = {part: found[aspect] for part in (*_OF_BOTH, on_job) if (aspect := part.partition(".")[0]) in found}
        of_job = f"operation.customProperties[{self._prefix}job]"
        stay = {key: reason for key, reason in found.items() if key.partition(".")[0] not in lost and key != of_job}
        return {**stay, **dict.fromkeys(lost, "policy:identity.granularity"), **named}

    def _of_lineage(self, dataset: str) -> Aspects:
        """Return where a dataset is in upstreamLineage: its own may tell what others said, that of outputs may name it."""
        found: Aspects = {}
        said, jobs = self._state.cells.get(dataset, {}), self._state.cells.get(ANY_TASK, {})
        for slot, parts in ((UPSTREAM, _OF_SOURCES), (UPSTREAM_FIELD, _OF_PAIRS[:1])):
            if slot not in said:
                found.update(dict.fromkeys(parts, self._reasons.get("dataJobInputOutput", "pending-terminal")))
        outputs = jobs.get(OUTPUT, ()) if dataset in jobs.get(INPUT, ()) else ()
        if any("upstreamLineage" in self._by_urn.get(output, ()) and not self._is_told(output) for output in outputs):
            found[SOURCES] = None
        return found

    def _is_told(self, output: str) -> bool:
        """Whether a facet says what an output was made of, instead of all inputs of its job."""
        said = self._state.cells.get(output, {})
        return EXPLICIT in said or any(facet for facet, _ in said.get(UPSTREAM, ()))

    def _entities(self, dataset: str) -> set[str]:
        """Return the entities on which a field of ``dataset`` may be; of "", all that the run says something of."""
        state = self._state
        if not dataset:
            return entities(state)
        jobs = {urn for urn in state.cells if urn.startswith(_JOBS)}
        return {state.urn, *jobs, *state.queries.values(), dataset, *state.cells.get(dataset, {}).get(CHECKS, ())}

    def _of_named(self, first: str, last: str) -> Aspects:
        """Return what differs by the datasets that a field names: another one that it changes, or one that no edge names."""
        found: Aspects = {}
        if last != first:  # the earlier name of a dataset that was renamed
            there = self._by_urn.get(last, {})
            renamed = f"datasetProperties.customProperties[{self._prefix}renamedTo]"
            found[renamed] = there.get(renamed, self._reasons.get("datasetProperties") or "pending-terminal")
            found.update({aspect: reason for aspect, reason in there.items() if aspect.startswith("status")})
        for urn, parts in ((first, _OF_PAIRS), (last, _OF_ENDS), (last if last != first else "", _OF_SOURCES)):
            if urn in self._state.unlinked:
                found.update(dict.fromkeys(parts, "policy:temporary"))
            elif urn in self._state.through:
                found.update(dict.fromkeys((*parts, *_OF_RUNS), "filtered:through"))
        return found


def _reasons(state: RunState, options: Options) -> Aspects:
    """Return the reasons why the run may not have written an aspect."""
    found: Aspects = {}
    for aspect in _STATEFUL:
        found[aspect] = "policy:state=none" if state.kind == "run" else "no-home:no run"
    for aspect in _TERMINAL:
        found[aspect] = "pending-terminal" if state.kind == "run" else "no-home:no run"
    if not options.profile.has("dataJob", "dataTransformLogic"):
        found["dataTransformLogic"] = "profile"
    if options.settings.materialize != "all":
        found["datasetProperties"] = "policy:materialize"
    if options.settings.schema_.write != "all":
        found["schemaMetadata"] = "policy:schema.write"
    if all(job.placeholder or job.skip for job, _ in state.jobs.values()):
        for aspect in _OF_JOBS:
            found[aspect] = "no-home:placeholder job" if state.jobs else "no-home:no job"
    if is_nameless(state):
        found["dataJobInputOutput"] = "no-home:a job that many queries share"
    found.update(left(state, options))
    return found


def _too_many(cells: Iterable[Slots], written: Aspects, prefix: str) -> Iterator[str]:
    """Yield the properties that did not fit onto their entity, as the report calls them."""
    for slots in cells:
        for slot, aspects in _PROPERTIES.items():
            for key in too_many(slots, slot) if slot in slots else ():
                for aspect in aspects:
                    if written.get(aspect, "") is None:
                        yield f"{aspect}.customProperties[{prefix}{key}]"


def _untold_context(state: RunState, written: Aspects) -> Iterator[str]:
    """Yield what did not fit beside the results: the parts of a run's properties that each result repeats."""
    if written.get("assertionRunEvent", "") is None:
        for key in untold_context(runtime_context(state, state.cells.get(state.urn, {}))):
            yield f"assertionRunEvent.runtimeContext[{key}]"


def _unwritten_parts(state: RunState) -> Iterator[str]:
    """Yield the parts of written aspects that this run did not write, as the facets' rows call them."""
    if state.kind == "run" and not any(word in TERMINAL for _, word in state.events):
        # What a run did to a dataset is told when the run has ended.
        yield "dataJobInputOutput.inputDatasetEdges[].properties"
        yield "dataJobInputOutput.outputDatasetEdges[].properties"
