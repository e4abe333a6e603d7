"""spark.logicalPlan (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run


def test_plan_is_withheld_and_its_hash_and_size_are_kept():
    found = of_run("spark.logicalPlan", facet(plan=[{"class": "org.apache.Plan", "token": "x"}]), report=True)
    properties = found.properties(DPI)
    assert len(properties["spark.logicalPlan.sha256"]) == 64
    assert int(properties["spark.logicalPlan.bytes"]) > 50
    assert not any("org.apache.Plan" in value for value in properties.values())
    assert found.outcomes()['$.run.facets["spark.logicalPlan"].plan[0].class'] == ("dropped", "plan")
