"""gcp_composer_run (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, RUN, facet, of_run, pair, translate_events


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_dag_run_names_the_run(profile):
    found = of_run("gcp_composer_run", facet(dagRunId="scheduled__2026"), datahub_version=profile)
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "scheduled__2026"
    assert found.properties(DPI)["gcp_composer_run.dagRunId"] == "scheduled__2026"


def test_airflow_s_own_facets_name_it_better():
    run = {"gcp_composer_run": facet(dagRunId="composer"), "airflowDagRun": facet(dagRun={"run_id": "airflow"})}
    assert translate_events(pair(run=run)).one(DPI, "dataProcessInstanceProperties")["name"] == "airflow"


@pytest.mark.parametrize("stated", [None, "", [], {}])
def test_no_dag_run_is_no_name(stated):
    found = of_run("gcp_composer_run", facet(dagRunId=stated))
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == RUN
    assert not any("composer" in key for key in found.properties(DPI))
