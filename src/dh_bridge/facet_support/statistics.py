"""Functions that inputStatistics and outputStatistics share: counts of one run on one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet
from dh_bridge.model.facts import STATISTIC, Facts

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext, Role

#: Spark writes Long.MAX_VALUE for "unknown" (OpenLineage pull request 4165).
_UNKNOWN_COUNT = 2**63 - 1
#: Columns of one profile, and quantiles of one column: the server does not accept longer arrays (`maxArrayLength`).
MAX_COLUMNS = MAX_QUANTILES = 1000


def is_meaningful_count(count: int) -> bool:
    """Return whether a count is valid: not negative, within DataHub's long, and not Spark's value for unknown."""
    return 0 <= count < _UNKNOWN_COUNT


def quantile_fraction(quantile: str) -> float | None:
    """Return the fraction of a column that lies below a quantile (``25`` and ``25%`` mean ``0.25``); None if it is not valid."""
    text = quantile.strip()
    try:
        fraction = float(text.rstrip("%"))
    except ValueError:
        return None
    if text.endswith("%") or fraction > 1:
        fraction /= 100
    return fraction if 0 <= fraction <= 1 else None


class Statistics(Facet):
    """Rows, bytes and files."""

    rowCount: int | None = None
    size: int | None = None
    fileCount: int | None = None


def statistic_facts(facet: Statistics, ctx: FacetContext, expected_role: Role) -> Facts:
    """Yield each valid count; ``expected_role`` is the side that the facet is made for.

    On the other side, statistics of an output count the rows read from an input. No edge shows rows read from an output.
    """
    direction = "output" if expected_role == ctx.role == "output" else "input"
    for field_name in ("rowCount", "size", "fileCount"):
        count = getattr(facet, field_name)
        if count is None:
            continue
        if not is_meaningful_count(count):
            ctx.note_dropped(field_name, "malformed")
        elif not ctx.task_urn:
            ctx.note_dropped(field_name, "no-field:no run")
        else:
            yield ctx.task_urn, STATISTIC, (direction, ctx.dataset_urn, field_name), count
