"""Inputs x outputs of a run as upstreams of its outputs, where the settings or a job without edges want them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.queries import single_query_of
from dh_bridge.model.facts import EXPLICIT_LINEAGE, INPUT, OUTPUT, UPSTREAM
from dh_bridge.model.fold import FactsByEntity, add_facts
from dh_bridge.model.run_state import ANY_TASK, RunState

if TYPE_CHECKING:
    from dh_bridge.options import Options


def add_upstreams(state: RunState, unnamed_urns: frozenset[str], shared: FactsByEntity, options: Options) -> None:
    """Fold inputs x outputs of the run's jobs into the outputs' upstreams, where the settings want them there; of ``unnamed_urns``, always.

    Only for outputs that neither a ``lineage`` facet nor column lineage of the run told more about: but the
    only output of a query whose job has no edges was made of all it read, whether columns came of it or it only filtered. What
    a run says is complete only at its end, so this is no matter of single events.
    """
    for_all_jobs = options.settings.column_lineage.target != "job"
    edgeless_tasks = unnamed_urns | {ANY_TASK} if state.kind == "job" else unnamed_urns
    if not for_all_jobs and edgeless_tasks.isdisjoint(state.facts):
        return
    explicit_urns = {urn for urn, registers in state.facts.items() if EXPLICIT_LINEAGE in registers}
    described_urns = explicit_urns.union([urn for urn, registers in state.facts.items() if UPSTREAM in registers])
    for task, registers in list(state.facts.items()):
        if not for_all_jobs and task not in edgeless_tasks:
            continue
        inputs, outputs = registers.get(INPUT, {}), registers.get(OUTPUT, {})
        excluded_urns = explicit_urns if task in edgeless_tasks and len(outputs) == 1 else described_urns
        for output, (version, _) in outputs.items():
            if output in excluded_urns or output in state.unlinked_urns:
                continue
            for source, (input_version, _) in inputs.items():
                # a MERGE reads what it writes: an edge of the job, no upstream
                if source != output and source not in state.unlinked_urns:
                    query = single_query_of(state, output)
                    add_facts(shared, ((output, UPSTREAM, ("", source), query),), max(version, input_version))
