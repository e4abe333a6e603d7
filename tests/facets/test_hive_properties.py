"""hive_properties (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run


def test_properties_are_one_json_without_secrets():
    properties = {"hive.execution.engine": "tez", "javax.jdo.option.ConnectionPassword": "p"}
    found = of_run("hive_properties", facet(properties=properties), report=True)
    assert found.properties(DPI)["hive_properties"] == (
        '{"hive.execution.engine":"tez","javax.jdo.option.ConnectionPassword":"[REDACTED]"}'
    )
    outcome = found.outcomes()['$.run.facets.hive_properties.properties["hive.execution.engine"]']
    assert outcome == ("property", "dataProcessInstanceProperties.customProperties[openlineage.hive_properties]")


def test_fields_beside_the_map_are_kept_but_no_empty_map():
    run_properties = of_run("hive_properties", facet(properties={}, more=1)).properties(DPI)
    assert run_properties["hive_properties.more"] == "1"
    assert "hive_properties" not in run_properties
