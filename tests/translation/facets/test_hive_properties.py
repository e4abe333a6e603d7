"""hive_properties (run)."""

from __future__ import annotations

from facet_cases import DPI, facet, of_run


def test_properties_are_kept_without_secrets():
    properties = {"hive.execution.engine": "tez", "javax.jdo.option.ConnectionPassword": "p"}
    kept = of_run("hive_properties", facet(properties=properties)).kept(DPI)
    assert kept["hive_properties.properties.hive.execution.engine"] == "tez"
    assert kept["hive_properties.properties.javax.jdo.option.ConnectionPassword"] == "[REDACTED]"
