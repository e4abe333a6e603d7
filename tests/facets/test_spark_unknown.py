"""spark_unknown (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, event, facet, of_run, translate_events


def test_nodes_that_the_listener_did_not_understand_are_withheld():
    found = of_run("spark_unknown", facet(output={"description": "x"}), report=True)
    assert {"spark_unknown.sha256", "spark_unknown.bytes"} <= found.properties(DPI).keys()
    assert found.outcomes()["$.run.facets.spark_unknown.output.description"] == ("dropped", "plan")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ({"output": {"description": "x"}, "inputs": [{"a": 1}, {"b": [2, {}]}]}, "3"),
        ({"output": {"description": "x"}}, "1"),
        ({"output": None, "inputs": []}, "0"),
        ({}, "0"),
        ({"output": None, "inputs": "none"}, "0"),
        ({"_deleted": "perhaps", "inputs": [{}]}, "0"),
    ],
)
def test_nodes_are_counted_unread(body, count):
    properties = of_run("spark_unknown", facet(**body)).properties(DPI)
    assert properties["spark_unknown.count"] == count
    assert {key for key in properties if key.startswith("spark")} == {
        "spark_unknown.count", "spark_unknown.sha256", "spark_unknown.bytes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "reason"),
    [("<<non-serializable: Plan>>", "non-serializable"), ([], "malformed"), ({"_deleted": True}, "policy:state=none")],
)
def test_malformed_facet_is_not_reported_as_bulk(body, reason):
    found = translate_events(event("START", run={"spark_unknown": body}), report=True)
    assert not any(key.startswith("spark") for key in found.properties(DPI))
    outcomes = {path: stated for path, stated in found.outcomes().items() if "spark_unknown" in path}
    assert all(stated == ("dropped", reason) for stated in outcomes.values())
    assert outcomes
