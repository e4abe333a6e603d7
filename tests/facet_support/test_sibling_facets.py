"""A facet that says nothing takes the place of no other one (a missing or null facet is no statement)."""

from __future__ import annotations

import pytest
from support.sample_events import aspects, dataset, event, properties

from dh_bridge import Settings, translate

NOTHING = [{"_deleted": True}, None, "<<non-serializable: x>>", {}, {"_producer": "p"}]
CHOSEN = Settings(datahub_version="1.7")


def translate_events(**parts):
    found = translate([event("START"), event("COMPLETE", **parts)], settings=CHOSEN)
    assert found.rejected == []
    return found


@pytest.mark.parametrize("nothing", [*NOTHING, {"query": " "}, {"dialect": "ansi"}])
@pytest.mark.parametrize("bag", ["job_facets", "run_facets"])
def test_sql_source_code_is_used_if_the_sql_facet_is_empty(bag, nothing):
    code = {"sourceCode": {"language": "SQL", "sourceCode": "select 1"}}
    parts = {"job_facets": code, "run_facets": {}}
    parts[bag] = {**parts[bag], "sql": nothing}
    (logic,) = aspects(translate_events(**parts), "dataTransformLogic")
    assert logic["transforms"][0]["queryStatement"]["value"] == "select 1"
    parts[bag]["sql"] = {"query": "select 2"}
    (logic,) = aspects(translate_events(**parts), "dataTransformLogic")
    assert logic["transforms"][0]["queryStatement"]["value"] == "select 2"


@pytest.mark.parametrize("nothing", NOTHING)
def test_spark_exception_is_used_without_another_error_message(nothing):
    found = translate_events(run_facets={"errorMessage": nothing, "spark.exception": {"message": "boom"}})
    (stated,) = aspects(found, "dataProcessInstanceProperties")
    assert stated["customProperties"]["openlineage.errorMessage.message"] == "boom"


@pytest.mark.parametrize("nothing", NOTHING)
def test_great_expectations_facets_replace_empty_standard_facets(nothing):
    bags = {
        "facets": {"dataQualityMetrics": nothing, "dataQuality": {"rowCount": 7}},
        "inputFacets": {
            "dataQualityAssertions": nothing,
            "greatExpectations_assertions": {"assertions": [{"expectationType": "unique", "success": True}]},
        },
    }
    found = translate_events(inputs=[dataset("d.s.other"), dataset("d.s.t", **bags)])
    assert [profile["rowCount"] for profile in aspects(found, "datasetProfile")] == [7]
    assert len(aspects(found, "assertionRunEvent")) == 1


def test_sibling_facets_of_another_dataset_are_ignored():
    theirs = dataset("d.s.a", facets={"dataQualityMetrics": {"rowCount": 1}})
    found = translate_events(
        inputs=[theirs, dataset("d.s.b", facets={"dataQuality": {"rowCount": 7}, "dataQualityMetrics": None})]
    )
    assert sorted(profile["rowCount"] for profile in aspects(found, "datasetProfile")) == [1, 7]


@pytest.mark.parametrize("nothing", [*NOTHING, {"size": 5}])
def test_iceberg_s_counts_fill_what_statistics_leave_out(nothing):
    commit = {"operation": "append", "commitMetrics": {"addedRecords": 42}}
    scan = {"scanMetrics": {"resultDataFiles": 3, "totalFileSizeInBytes": 9}}
    found = translate_events(
        inputs=[dataset("d.s.a", inputFacets={"inputStatistics": nothing, "icebergScanReport": scan})],
        outputs=[dataset("d.s.b", outputFacets={"outputStatistics": nothing, "icebergCommitReport": commit})],
    )
    assert [operation["numAffectedRows"] for operation in aspects(found, "operation")] == [42]
    (io,) = aspects(found, "dataJobInputOutput")
    (edge,) = [one["value"] for one in io if one["path"].startswith("/inputDatasetEdges")]
    size = nothing["size"] if nothing and "size" in nothing else 9
    assert edge["properties"]["openlineage.inputStatistics.fileCount"] == "3"
    assert edge["properties"]["openlineage.inputStatistics.size"] == str(size)


def test_dag_id_that_is_a_number_is_kept():
    stated = {"airflow": {"dag": {"dag_id": 7}, "dagRun": {}, "task": {}, "taskInstance": {}}}
    (flow,) = aspects(translate_events(run_facets=stated), "dataFlowInfo")
    assert properties(flow)["airflow.dag_id"] == "7"
