"""Facets of how much a run read and wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import as_property, facet, mapped
from dh_bridge.facet_support.statistics import Statistics, statistic_facts
from dh_bridge.model.facts import STATISTIC

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


# -- inputStatistics (input): how much a run read.
#
# https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/input_statistics


@facet(
    "inputStatistics",
    attach="dataset",
    struct=Statistics,
    outcomes={field: as_property(STATISTIC[field]) for field in ("rowCount", "size", "fileCount")},
)
def input_statistics(facet: Statistics, ctx: FacetContext) -> Facts:
    """Counts of a read, as properties of the job's edge and of the run (total and by dataset). There is no operation, because a read changes nothing."""
    yield from statistic_facts(facet, ctx, "input")


# -- outputStatistics (output): how much a run wrote.
#
# https://openlineage.io/docs/spec/facets/dataset-facets/output-dataset-facets/output_statistics


@facet(
    "outputStatistics",
    "spark.output.stats",
    "stats",
    attach="dataset",
    struct=Statistics,
    outcomes={
        "rowCount": mapped(STATISTIC["rowCount"]),
        "size": as_property(STATISTIC["size"]),
        "fileCount": as_property(STATISTIC["fileCount"]),
    },
)
def output_statistics(facet: Statistics, ctx: FacetContext) -> Facts:
    """Counts of a write, on the operation, the job's edge and the run. If the whole table was replaced, also a profile."""
    yield from statistic_facts(facet, ctx, "output")
