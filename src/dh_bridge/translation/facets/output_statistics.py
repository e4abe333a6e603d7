"""outputStatistics (output): how much a run wrote.

https://openlineage.io/docs/spec/facets/dataset-facets/output-dataset-facets/output_statistics
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import facet, kept, mapped
from dh_bridge.translation.facts import STATISTIC
from dh_bridge.translation.reading.statistics import Statistics, counted

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "outputStatistics",
    "spark.output.stats",
    "stats",
    at="dataset",
    reads=Statistics,
    leaves={
        "rowCount": mapped(STATISTIC["rowCount"]),
        "size": kept(STATISTIC["size"]),
        "fileCount": kept(STATISTIC["fileCount"]),
    },
)
def output_statistics(facet: Statistics, at: Place) -> Statements:
    """Affected rows of the operation, the edge of the job, the run; a profile only when the whole table was replaced."""
    yield from counted(facet, at, "output")
