"""checkpoints (run): counts of a Flink job."""

from __future__ import annotations

from support.facet_cases import DPI, event, facet, translate_events


def test_largest_counts_are_kept():
    found = translate_events(
        event("START", run={"checkpoints": facet(completed=1, failed=0, in_progress=1)}),
        event(run={"checkpoints": facet(completed=9, failed=0, restored=None)}),
    )
    properties = found.properties(DPI)
    assert (properties["checkpoints.completed"], properties["checkpoints.failed"]) == ("9", "0")
    assert properties["checkpoints.in_progress"] == "1"
    assert "checkpoints.restored" not in properties


def test_checkpoint_counts_are_maxima_in_any_order():
    events = [
        event("RUNNING", time="2026-11-20T01:00:10Z", run={"checkpoints": facet(completed=5, total=5)}),
        event("START", run={"checkpoints": facet(completed=0, total=0)}),
        event(run={"checkpoints": facet(completed=3, total=9)}),
    ]
    for order in (events, events[::-1]):
        properties = translate_events(order).properties(DPI)
        assert (properties["checkpoints.completed"], properties["checkpoints.total"]) == ("5", "9")


def test_checkpoint_values_that_are_no_counts_are_kept_as_text():
    properties = translate_events(
        event("START", run={"checkpoints": facet(completed="many", failed=-1, total=True, more={"a": 1})})
    ).properties(DPI)
    assert {key: text for key, text in properties.items() if key.startswith("checkpoints")} == {
        "checkpoints.completed": "many", "checkpoints.failed": "-1", "checkpoints.total": "true", "checkpoints.more.a": "1",
    }  # fmt: skip
