"""Parts in the names of datasets: partitions of a path, shards of BigQuery, and parts that a rule removes.

The part is removed from the name of the dataset and stored on the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.context import entry_number
from dh_bridge.facet_support.envelope import DATASET_NAME_TARGETS
from dh_bridge.facet_support.subsets import Condition, Partition, build_partition_spec
from dh_bridge.model.facts import PARTITION, RUN_BY_DATASET, Fact
from dh_bridge.model.trace import FieldTargets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.merge import Version
    from dh_bridge.naming import Name

_FACET_GROUPS = ("facets", "input_facets", "output_facets")


def part_facts(name: Name, path: str, version: Version, ctx: FacetContext) -> Iterator[Fact]:
    """Yield the part of the current dataset that its name names, for its points and for the run.

    Args:
        name: Its name; most name all of the dataset.
        path: Path of the dataset in the event.
        version: Version of the facts of the dataset.
        ctx: The event and the dataset.
    """
    part = name.part
    if not part:
        return
    entries = [entry for entry in ctx.entries if entry[2] == ctx.role and entry[1].endpoint == ctx.dataset_urn]
    has_subset = any(
        "subset" in getattr(entry[0], group) for entry in entries if entry[3] == path for group in _FACET_GROUPS
    )
    if not has_subset:  # otherwise the facet states the part
        condition = Condition("partition", partitions=[Partition(identifier=part, dimensions=_dimensions(part))])
        entry_id = (version[:3], ctx.role, entry_number(version))
        yield ctx.dataset_urn, PARTITION, entry_id, build_partition_spec(condition, "", len(entries))
    if ctx.run_urn and ctx.role != "dataset":
        yield ctx.run_urn, RUN_BY_DATASET, (f"{ctx.role}s.partitions", ctx.dataset_urn, part), None
    if ctx.notes is not None:
        ctx.notes.append((f"{path}.name", FieldTargets((*DATASET_NAME_TARGETS, RUN_BY_DATASET, PARTITION))))


def _dimensions(part: str) -> dict[str, str]:
    """Return the columns and values of ``dt=2026-11-01/hour=3``; none of a part that is a shard or a folder."""
    pairs = [segment.partition("=") for segment in part.split("/")]
    return {name: value for name, _, value in pairs} if all(separator for _, separator, _ in pairs) else {}
