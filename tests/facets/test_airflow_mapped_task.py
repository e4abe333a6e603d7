"""airflow_mappedTask (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run


def test_index_and_operator_are_kept_on_the_run():
    properties = of_run("airflow_mappedTask", facet(mapIndex=3, operatorClass="a.b.C")).properties(DPI)
    assert properties["airflow_mappedTask.mapIndex"] == "3"
    assert properties["airflow_mappedTask.operatorClass"] == "a.b.C"
    assert not any("_producer" in key or "_schemaURL" in key for key in properties)
