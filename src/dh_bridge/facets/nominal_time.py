"""nominalTime (run): when the run was scheduled for. https://openlineage.io/docs/spec/facets/run-facets/nominal_time"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import RUN_TYPE, Facts
from dh_bridge.model.precedence import TYPE_NOMINAL
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class NominalTime(Facet):
    """Scheduled start and end, ISO 8601."""

    nominalStartTime: str | None = None
    nominalEndTime: str | None = None


_FIELD_NAMES = ("nominalStartTime", "nominalEndTime")


@facet(
    "nominalTime",
    attach="run",
    struct=NominalTime,
    outcomes=dict.fromkeys(_FIELD_NAMES, as_property()),
)
def nominal_time(facet: NominalTime, ctx: FacetContext) -> Facts:
    """Scheduled start and end as properties; a run that has them is BATCH_SCHEDULED unless contradicted."""
    times = {}
    if facet.nominalStartTime:
        times["nominalTime.nominalStartTime"] = present_property_text(
            "nominalTime.nominalStartTime", facet.nominalStartTime
        )
        yield ctx.run_urn, RUN_TYPE, TYPE_NOMINAL, True
    if facet.nominalEndTime:
        if facet.nominalEndTime == facet.nominalStartTime:
            ctx.note_dropped("nominalEndTime", "duplicate-of:nominalStartTime")
        else:
            times["nominalTime.nominalEndTime"] = present_property_text(
                "nominalTime.nominalEndTime", facet.nominalEndTime
            )
    if times:
        yield property_fact(ctx, times)
