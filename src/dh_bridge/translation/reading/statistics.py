"""What inputStatistics and outputStatistics share: counts of one run on one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet
from dh_bridge.translation.facts import STATISTIC, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place, Role

#: Spark writes Long.MAX_VALUE for "unknown" (OpenLineage pull request 4165).
_UNKNOWN = 2**63 - 1
#: Columns of one profile, and quantiles of one column: a server takes no longer array (`maxArrayLength`).
MOST_COLUMNS = MOST_QUANTILES = 1000


def meaningful(count: int) -> bool:
    """Whether a count is one: neither negative, nor more than DataHub's long, nor Spark's word for unknown."""
    return 0 <= count < _UNKNOWN


def share_of(quantile: str) -> float | None:
    """Return what part of a column lies below a quantile (``25`` and ``25%`` mean ``0.25``), None when it names none of it."""
    word = quantile.strip()
    try:
        share = float(word.rstrip("%"))
    except ValueError:
        return None
    if word.endswith("%") or share > 1:
        share /= 100
    return share if 0 <= share <= 1 else None


class Statistics(Facet):
    """Rows, bytes and files."""

    rowCount: int | None = None
    size: int | None = None
    fileCount: int | None = None


def counted(facet: Statistics, at: Place, side: Role) -> Statements:
    """Yield each count that means something; ``side`` is the one that the facet is made for.

    On the other side statistics of an output count what was read of an input; what was read of an output no edge tells.
    """
    direction = "output" if side == at.role == "output" else "input"
    for leaf in ("rowCount", "size", "fileCount"):
        count = getattr(facet, leaf)
        if count is None:
            continue
        if not meaningful(count):
            at.withheld(leaf, "malformed")
        elif not at.task:
            at.withheld(leaf, "no-home:no run")
        else:
            yield at.task, STATISTIC, (direction, at.dataset, leaf), count
