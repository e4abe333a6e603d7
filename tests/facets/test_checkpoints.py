"""checkpoints (run): counts of a Flink job."""

from __future__ import annotations

from support.facet_cases import DPI, event, facet, told


def test_largest_counts_are_kept():
    found = told(
        event("START", run={"checkpoints": facet(completed=1, failed=0, in_progress=1)}),
        event(run={"checkpoints": facet(completed=9, failed=0, restored=None)}),
    )
    kept = found.kept(DPI)
    assert (kept["checkpoints.completed"], kept["checkpoints.failed"]) == ("9", "0")
    assert kept["checkpoints.in_progress"] == "1"
    assert "checkpoints.restored" not in kept


def test_checkpoint_counts_are_maxima_in_any_order():
    events = [
        event("RUNNING", time="2026-11-20T01:00:10Z", run={"checkpoints": facet(completed=5, total=5)}),
        event("START", run={"checkpoints": facet(completed=0, total=0)}),
        event(run={"checkpoints": facet(completed=3, total=9)}),
    ]
    for order in (events, events[::-1]):
        kept = told(order).kept(DPI)
        assert (kept["checkpoints.completed"], kept["checkpoints.total"]) == ("5", "9")


def test_checkpoint_values_that_are_no_counts_are_kept_as_text():
    kept = told(
        event("START", run={"checkpoints": facet(completed="many", failed=-1, total=True, more={"a": 1})})
    ).kept(DPI)
    assert {key: text for key, text in kept.items() if key.startswith("checkpoints")} == {
        "checkpoints.completed": "many", "checkpoints.failed": "-1", "checkpoints.total": "true", "checkpoints.more.a": "1",
    }  # fmt: skip
