"""inputStatistics (input): how much a run read.

https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/input_statistics
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import facet, kept
from dh_bridge.translation.facts import STATISTIC
from dh_bridge.translation.reading.statistics import Statistics, counted

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "inputStatistics",
    at="dataset",
    reads=Statistics,
    leaves={field: kept(STATISTIC[field]) for field in ("rowCount", "size", "fileCount")},
)
def input_statistics(facet: Statistics, at: Place) -> Statements:
    """On the edge of the job and, summed and by dataset, on the run; never an operation: reading changes nothing."""
    yield from counted(facet, at, "input")
