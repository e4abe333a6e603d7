"""The entity that lineage is written on: the job (dataJobInputOutput), the output dataset (upstreamLineage), or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.run_state import ANY_TASK

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


def find_replacement(ctx: FacetContext) -> str | None:
    """Return the source that replaces the ``columnLineage`` of a dataset: ``lineage``, or an earlier event of the run."""
    if ctx.dataset_urn in ctx.explicit_urns:
        return "lineage"
    if ctx.event.type != "RUNNING" or ctx.event.inputs:
        return None
    producer = ctx.options.identity.producer(ctx.sender)
    return "START" if producer is not None and producer.repeats else None


def lineage_targets(ctx: FacetContext, *, is_explicit: bool = False) -> tuple[bool, bool]:
    """Return whether lineage between columns is written on the job, and on the dataset.

    A dataset event has no job. A job event may have a job that cannot be written. A job that many queries share has no
    inputs and outputs. ``is_explicit``: the lineage is from a ``lineage`` facet, whose pairs ``target: split`` writes on the
    dataset.
    """
    if not ctx.task_urn or (ctx.task_urn == ANY_TASK and ctx.event.kind == "job"):
        return False, True
    if ctx.job is not None and ctx.job.shared:
        return False, True
    target = ctx.options.settings.column_lineage.target
    if target == "split":
        return not is_explicit, is_explicit
    return target != "dataset", target != "job"
