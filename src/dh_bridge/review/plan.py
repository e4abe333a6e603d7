"""What proposals would change at a place: entities found and new, near misses, aspects of others, edges that come and go."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.dump import canonical
from dh_bridge.catalog.edges import NEITHER, relations
from dh_bridge.datahub.floats import stored
from dh_bridge.review.near import near_misses, spelled_otherwise
from dh_bridge.review.verdicts import writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.review.state import Change, State

COUNTS = ("found", "new", "near", "foreign", "changed", "unchanged", "added", "removed", "points", "refused")
"""What is counted; ``added`` and ``removed`` are edges of lineage, ``foreign`` aspects whose last writer is somebody else."""


def plan(
    state: State, *, pipeline: str, known: Iterable[str] | None = None
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Return the counts and the rows ``{"kind", "urn", …}`` behind them; nothing is written.

    ``pipeline``: the name that our own writes have. ``known``: all URNs of the place, where it can list them.
    """
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    counts["points"], counts["refused"] = state.points, len(state.refused)
    rows: list[dict[str, Any]] = [{"kind": "refused", "reason": reason} for reason in state.refused]
    for urn, there in sorted(state.exists.items()):
        kind = "found" if there else "new"
        counts[kind] += 1
        rows.append({"kind": kind, "urn": urn})
    rows += _near(state, known)
    for change in state.changes():
        rows += _told(change, pipeline, counts)
    counts.update(row["kind"] for row in rows if row["kind"] in ("near", "foreign", "added", "removed"))
    return counts, rows


def _near(state: State, known: Iterable[str] | None) -> Iterator[dict[str, Any]]:
    new = [urn for urn, there in state.exists.items() if not there and urn.startswith("urn:li:dataset:")]
    others = spelled_otherwise(new, state.place) if known is None else known
    named = [(urn, next((namespace for namespace, _ in state.raw_names(urn)), None)) for urn in sorted(new)]
    for near in near_misses(named, others):
        yield {"kind": "near", **near._asdict()}


def _told(change: Change, pipeline: str, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one aspect."""
    before = stored(change.aspect, change.before.value) if change.before is not None else {}
    after = stored(change.aspect, change.after)
    if canonical(change.aspect, before) == canonical(change.aspect, after):
        counts["unchanged"] += 1
        return
    counts["changed"] += 1
    row = {"urn": change.urn, "aspect": change.aspect}
    members = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    yield {"kind": "changed", **row, "members": members}
    if change.before is not None and (by := writer(change.before)) is not None:
        ours = change.before.pipeline_name == pipeline or (change.before.run_id or "").startswith("dh_bridge-")
        if not ours:
            yield {"kind": "foreign", **row, "writer": by, "how": "replaced" if change.replaced else "merged"}
    was, will = _edges(change.aspect, before), _edges(change.aspect, after)
    for kind, targets in (("added", will - was), ("removed", was - will)):
        for target in sorted(targets):
            yield {"kind": kind, **row, "target": target}


def _edges(aspect: str, value: dict[str, Any]) -> set[str]:
    """Return the targets of an aspect's lineage."""
    return {target for (_, target), side in relations(aspect, value).items() if side != NEITHER}
