"""spark_unknown (run)."""

from __future__ import annotations

from facet_cases import DPI, facet, of_run


def test_nodes_that_the_listener_did_not_understand_are_withheld():
    found = of_run("spark_unknown", facet(output={"description": "x"}), report=True)
    assert {"spark_unknown.sha256", "spark_unknown.bytes"} <= found.kept(DPI).keys()
    assert found.verdicts()["$.run.facets.spark_unknown.output.description"] == ("withheld", "plan")
