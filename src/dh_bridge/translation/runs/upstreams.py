"""Inputs x outputs of a run as upstreams of its outputs, where the settings or a job without edges want them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import EXPLICIT, INPUT, OUTPUT, UPSTREAM
from dh_bridge.translation.fold import Cells, fold
from dh_bridge.translation.runs.queries import query_behind
from dh_bridge.translation.runstate import ANY_TASK, RunState

if TYPE_CHECKING:
    from dh_bridge.translation.options import Options


def pour_upstreams(state: RunState, many: frozenset[str], shared: Cells, options: Options) -> None:
    """Fold inputs x outputs of the run's jobs into the outputs' upstreams, where the settings want them there; of ``many``, always.

    Only for outputs that neither a ``lineage`` facet nor column lineage of the run told more about: but the
    only output of a query whose job has no edges was made of all it read, whether columns came of it or it only filtered. What
    a run says is complete only at its end, so this is no matter of single events.
    """
    everywhere = options.settings.column_lineage.target != "job"
    only = many | {ANY_TASK} if state.kind == "job" else many
    if not everywhere and only.isdisjoint(state.cells):
        return
    explicit = {urn for urn, slots in state.cells.items() if EXPLICIT in slots}
    told = explicit.union([urn for urn, slots in state.cells.items() if UPSTREAM in slots])
    for task, slots in list(state.cells.items()):
        if not everywhere and task not in only:
            continue
        inputs, outputs = slots.get(INPUT, {}), slots.get(OUTPUT, {})
        known = explicit if task in only and len(outputs) == 1 else told
        for output, (stamp, _) in outputs.items():
            if output in known or output in state.unlinked:
                continue
            for source, (other, _) in inputs.items():
                # a MERGE reads what it writes: an edge of the job, no upstream
                if source != output and source not in state.unlinked:
                    query = query_behind(state, output)
                    fold(shared, ((output, UPSTREAM, ("", source), query),), max(stamp, other))
