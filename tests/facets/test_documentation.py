"""documentation (job and dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import documentation_dataset, documentation_job
from support.facet_cases import (
    FLOW,
    JOB,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    of_job,
    of_output,
    pair,
    spec,
    totals,
    translate_events,
)

from dh_bridge.datahub.search_texts import cut_text


def test_description_of_a_job_is_the_job_s_and_never_its_flow_s():
    found = of_job("documentation", facet(description="Loads *orders*", contentType="text/html"))
    assert found.patched(JOB, "dataJobInfo")["/description"] == "Loads *orders*"
    assert "/description" not in found.patched(FLOW, "dataFlowInfo")
    assert found.properties(JOB)["documentation.contentType"] == "text/html"


def test_description_of_a_flow_level_job_is_the_flow_s():
    found = translate_events(pair(job={"documentation": facet(description="Night")}, name="daily"))
    assert found.patched(FLOW, "dataFlowInfo")["/description"] == "Night"


def test_description_of_a_dataset_is_the_dataset_s():
    found = of_output("documentation", facet(description="All totals", contentType="text/x-rst"))
    assert found.patched(TOTALS, "datasetProperties")["/description"] == "All totals"
    assert found.properties(TOTALS)["documentation.contentType"] == "text/x-rst"


@pytest.mark.parametrize("content_type", ["text/markdown", "text/plain"])
def test_usual_content_types_are_not_kept(content_type):
    found = of_job("documentation", facet(description="x", contentType=content_type), report=True)
    assert "documentation.contentType" not in found.properties(JOB)
    assert found.outcomes()["$.job.facets.documentation.contentType"][0] == "dropped"


def test_last_nonempty_description_wins_in_any_order():
    stated = [
        event("START", job={"documentation": facet(description="old")}),
        event("RUNNING", job={"documentation": facet(description="new")}, time="2026-11-20T01:00:10Z"),
        event(job={"documentation": facet(description="")}),
    ]
    for order in (stated, stated[::-1]):
        assert translate_events(order).patched(JOB, "dataJobInfo")["/description"] == "new"


def test_deleted_description_is_removed():
    found = translate_events(event("START"), event(job={"documentation": {"_deleted": True, **facet()}}))
    assert {"op": "remove", "path": "/description"} in found.one(JOB, "dataJobInfo")
    found = translate_events(dataset_event(totals(facets={"documentation": {**facet(), "_deleted": True}})))
    assert {"op": "remove", "path": "/description"} in found.one(TOTALS, "datasetProperties")


def test_description_after_its_deletion_is_written():
    found = translate_events(
        event("START", job={"documentation": {**facet(), "_deleted": True}}),
        event(job={"documentation": facet(description="again")}),
    )
    assert found.patched(JOB, "dataJobInfo")["/description"] == "again"


def test_long_description_is_cut():
    text = of_job("documentation", facet(description="x" * 70_000)).patched(JOB, "dataJobInfo")["/description"]
    assert text == cut_text("x" * 70_000)


def test_number_is_a_text_too_and_other_leaves_are_kept():
    found = of_job("documentation", facet(description=7, author={"name": "ann"}))
    assert found.patched(JOB, "dataJobInfo")["/description"] == "7"
    assert found.properties(JOB)["documentation.author"] == '{"name":"ann"}'


def test_specification_s_documents_are_read():
    found = of_job("documentation", spec("DocumentationJobFacet")["documentation"])
    assert found.patched(JOB, "dataJobInfo")["/description"].startswith("Determines the popular day")
    found = of_output("documentation", spec("DocumentationDatasetFacet")["documentation"])
    assert found.patched(TOTALS, "datasetProperties")["/description"] == "Some dataset description"


def test_client_s_classes_are_read():
    found = translate_events(
        client_pair(
            job={"documentation": documentation_job.DocumentationJobFacet(description="J")},
            outputs={"documentation": documentation_dataset.DocumentationDatasetFacet(description="D")},
        )
    )
    assert found.patched(JOB, "dataJobInfo")["/description"] == "J"
    assert found.patched(TOTALS, "datasetProperties")["/description"] == "D"
