"""Where lineage stands: on the job (dataJobInputOutput), on the dataset that was made (upstreamLineage), or on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.runstate import ANY_TASK

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


def replaced_by(at: Place) -> str | None:
    """Return what tells of the columns of a dataset in place of ``columnLineage``: ``lineage``, or an earlier event of the run."""
    if at.dataset in at.explicit:
        return "lineage"
    if at.event.type != "RUNNING" or at.event.inputs:
        return None
    producer = at.options.identity.producer(at.event.producer)
    return "START" if producer is not None and producer.repeats else None


def homes(at: Place, *, explicit: bool = False) -> tuple[bool, bool]:
    """Return whether lineage between columns stands on the job, and on the dataset.

    A dataset event has no job, a job event may have none that can be written, and one that many queries share has no
    inputs and outputs. ``explicit``: said by a ``lineage``
    facet, whose pairs ``pair_lineage: upstream`` puts onto the dataset.
    """
    if not at.task or (at.task == ANY_TASK and at.event.kind == "job"):
        return False, True
    if at.job is not None and at.job.shared:
        return False, True
    settings = at.options.settings.column_lineage
    if explicit and settings.pair_lineage == "upstream":
        return settings.target == "both", True
    return settings.target != "dataset", settings.target != "job"
