"""checkpoints (run): counts of a Flink job."""

from __future__ import annotations

from facet_cases import DPI, event, facet, told


def test_the_last_counts_are_kept():
    found = told(
        event("START", run={"checkpoints": facet(completed=1, failed=0, in_progress=1)}),
        event(run={"checkpoints": facet(completed=9, failed=0, restored=None)}),
    )
    kept = found.kept(DPI)
    assert (kept["checkpoints.completed"], kept["checkpoints.failed"]) == ("9", "0")
    assert not {"checkpoints.restored", "checkpoints.in_progress"} & kept.keys()
