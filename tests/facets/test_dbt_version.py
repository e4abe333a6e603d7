"""dbt_version (run)."""

from __future__ import annotations

from support.facet_cases import DPI, JOB, facet, of_run


def test_version_is_kept_on_the_run_and_its_job():
    found = of_run("dbt_version", facet(version="1.11.2"))
    for urn in (DPI, JOB):
        assert found.properties(urn)["dbt_version.version"] == "1.11.2"


def test_empty_facet_adds_no_properties():
    found = of_run("dbt_version", facet(version=None))
    assert not any(key.startswith("dbt") for urn in (DPI, JOB) for key in found.properties(urn))


def test_report_names_the_property_of_unknown_version_fields():
    found = of_run("dbt_version", facet(core={"latest": "1.12"}), report=True)
    assert found.properties(DPI)["dbt_version.core.latest"] == "1.12"
    target = "dataProcessInstanceProperties.customProperties[openlineage.dbt_version.core.latest]"
    assert found.outcomes()["$.run.facets.dbt_version.core.latest"] == ("property", target)
