"""nominalTime (run): when the run was scheduled for. https://openlineage.io/docs/spec/facets/run-facets/nominal_time"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_TYPE, Statements
from dh_bridge.translation.precedence import TYPE_NOMINAL
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class NominalTime(Facet):
    """Scheduled start and end, ISO 8601."""

    nominalStartTime: str | None = None
    nominalEndTime: str | None = None


_LEAVES = ("nominalStartTime", "nominalEndTime")


@facet(
    "nominalTime",
    at="run",
    reads=NominalTime,
    leaves=dict.fromkeys(_LEAVES, kept()),
)
def nominal_time(facet: NominalTime, at: Place) -> Statements:
    """Scheduled start and end as properties; a run that has them is BATCH_SCHEDULED unless contradicted."""
    times = {}
    if facet.nominalStartTime:
        times["nominalTime.nominalStartTime"] = worded("nominalTime.nominalStartTime", facet.nominalStartTime)
        yield at.run, RUN_TYPE, TYPE_NOMINAL, True
    if facet.nominalEndTime:
        if facet.nominalEndTime == facet.nominalStartTime:
            at.withheld("nominalEndTime", "duplicate-of:nominalStartTime")
        else:
            times["nominalTime.nominalEndTime"] = worded("nominalTime.nominalEndTime", facet.nominalEndTime)
    if times:
        yield property_statement(at, times)
