"""dbt_version (run)."""

from __future__ import annotations

from facet_cases import DPI, facet, of_run


def test_the_version_is_kept_on_the_run():
    assert of_run("dbt_version", facet(version="1.11.2")).kept(DPI)["dbt_version.version"] == "1.11.2"
