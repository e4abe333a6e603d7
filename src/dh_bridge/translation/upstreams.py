"""Where lineage stands: on the job (dataJobInputOutput), on the dataset that was made (upstreamLineage), or on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.fold import Cells, fold
from dh_bridge.translation.queries import query_behind
from dh_bridge.translation.runstate import ANY_TASK, RunState
from dh_bridge.translation.slots import EXPLICIT, INPUT, OUTPUT, UPSTREAM

if TYPE_CHECKING:
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.place import Place


def homes(at: Place, *, explicit: bool = False) -> tuple[bool, bool]:
    """Return whether lineage between columns stands on the job, and on the dataset (facets.md 4.3 and 4.4).

    A dataset event has no job, and a job event may have none that can be written. ``explicit``: said by a ``lineage``
    facet, whose pairs ``pair_lineage: upstream`` puts onto the dataset.
    """
    if not at.task or (at.task == ANY_TASK and at.event.kind == "job"):
        return False, True
    settings = at.options.settings.column_lineage
    if explicit and settings.pair_lineage == "upstream":
        return settings.target == "both", True
    return settings.target != "dataset", settings.target != "job"


def pour_upstreams(state: RunState, shared: Cells, options: Options) -> None:
    """Fold inputs x outputs of the run's jobs into the outputs' upstreams, where the settings want them there.

    Only for outputs that neither a ``lineage`` facet nor column lineage of the run told more about (facets.md 4.3); what a
    run says is complete only at its end, so this is no matter of single events.
    """
    everywhere = options.settings.column_lineage.target != "job"
    if not everywhere and not (state.kind == "job" and ANY_TASK in state.cells):
        return
    told = {urn for urn, slots in state.cells.items() if EXPLICIT in slots or UPSTREAM in slots}
    for task, slots in list(state.cells.items()):
        if not everywhere and task != ANY_TASK:
            continue
        inputs = slots.get(INPUT, {})
        for output, (stamp, _) in slots.get(OUTPUT, {}).items():
            if output in told or output in state.unlinked:
                continue
            for source, (other, _) in inputs.items():
                # a MERGE reads what it writes: an edge of the job, no upstream (facets.md 4.3)
                if source != output and source not in state.unlinked:
                    query = query_behind(state, output)
                    fold(shared, ((output, UPSTREAM, ("", source), query),), max(stamp, other))
