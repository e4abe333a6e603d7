"""The changes that proposals would make at a target: entities found and new, near misses, foreign aspects, edges added and removed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.dump import canonical_aspect
from dh_bridge.catalog.edges import NEITHER, relations
from dh_bridge.datahub.floats import round_floats
from dh_bridge.review.near import existing_respellings, near_misses
from dh_bridge.review.verdicts import last_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.review.state import AspectChange, ReviewState

COUNTS = ("found", "new", "near", "foreign", "changed", "unchanged", "added", "removed", "points", "refused")
"""The counters; ``added`` and ``removed`` are edges of lineage, ``foreign`` aspects whose last writer is another program."""


def build_plan(
    state: ReviewState, *, pipeline: str, existing_urns: Iterable[str] | None = None
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Return the counts and the rows ``{"kind", "urn", …}`` behind them; nothing is written.

    ``pipeline``: the pipeline name of the bridge's writes. ``existing_urns``: all URNs of the target, if it can list them.
    """
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    counts["points"], counts["refused"] = state.point_count, len(state.refusals)
    rows: list[dict[str, Any]] = [{"kind": "refused", "reason": reason} for reason in state.refusals]
    for urn, is_present in sorted(state.exists.items()):
        kind = "found" if is_present else "new"
        counts[kind] += 1
        rows.append({"kind": kind, "urn": urn})
    rows += _near_miss_rows(state, existing_urns)
    for change in state.changes():
        rows += _change_rows(change, pipeline, counts)
    counts.update(row["kind"] for row in rows if row["kind"] in ("near", "foreign", "added", "removed"))
    return counts, rows


def _near_miss_rows(state: ReviewState, existing_urns: Iterable[str] | None) -> Iterator[dict[str, Any]]:
    proposed_urns = [
        urn for urn, is_present in state.exists.items() if not is_present and urn.startswith("urn:li:dataset:")
    ]
    candidates = existing_respellings(proposed_urns, state.target) if existing_urns is None else existing_urns
    for miss in near_misses(sorted(proposed_urns), candidates):
        yield {"kind": "near", **miss._asdict()}


def _change_rows(change: AspectChange, pipeline: str, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one aspect."""
    before = round_floats(change.aspect, change.before.value) if change.before is not None else {}
    after = round_floats(change.aspect, change.after)
    if canonical_aspect(change.aspect, before) == canonical_aspect(change.aspect, after):
        counts["unchanged"] += 1
        return
    counts["changed"] += 1
    row = {"urn": change.urn, "aspect": change.aspect}
    members = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    yield {"kind": "changed", **row, "members": members}
    if change.before is not None and (writer_text := last_writer(change.before)) is not None:
        is_own = change.before.pipeline_name == pipeline or (change.before.run_id or "").startswith("dh_bridge-")
        if not is_own:
            yield {
                "kind": "foreign",
                **row,
                "writer": writer_text,
                "how": "replaced" if change.is_replaced else "merged",
            }
    edges_before, edges_after = _edge_targets(change.aspect, before), _edge_targets(change.aspect, after)
    for kind, targets in (("added", edges_after - edges_before), ("removed", edges_before - edges_after)):
        for target in sorted(targets):
            yield {"kind": kind, **row, "target": target}


def _edge_targets(aspect: str, value: dict[str, Any]) -> set[str]:
    """Return the targets of an aspect's lineage."""
    return {target for (_, target), direction in relations(aspect, value).items() if direction != NEITHER}
