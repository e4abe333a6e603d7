"""A facet that says nothing takes the place of no other one (a missing or null facet is no statement)."""

from __future__ import annotations

import pytest
from support.sample_events import aspects, dataset, event, properties

from dh_bridge import Settings, translate

NOTHING = [{"_deleted": True}, None, "<<non-serializable: x>>", {}, {"_producer": "p"}]
CHOSEN = Settings(datahub_version="1.7")


def told(**parts):
    found = translate([event("START"), event("COMPLETE", **parts)], settings=CHOSEN)
    assert found.rejected == []
    return found


@pytest.mark.parametrize("nothing", [*NOTHING, {"query": " "}, {"dialect": "ansi"}])
@pytest.mark.parametrize("bag", ["job_facets", "run_facets"])
def test_code_in_sql_is_the_sql_of_a_job_whose_sql_facet_has_none(bag, nothing):
    code = {"sourceCode": {"language": "SQL", "sourceCode": "select 1"}}
    parts = {"job_facets": code, "run_facets": {}}
    parts[bag] = {**parts[bag], "sql": nothing}
    (logic,) = aspects(told(**parts), "dataTransformLogic")
    assert logic["transforms"][0]["queryStatement"]["value"] == "select 1"
    parts[bag]["sql"] = {"query": "select 2"}
    (logic,) = aspects(told(**parts), "dataTransformLogic")
    assert logic["transforms"][0]["queryStatement"]["value"] == "select 2"


@pytest.mark.parametrize("nothing", NOTHING)
def test_the_exception_of_spark_is_kept_where_there_is_no_other_message(nothing):
    found = told(run_facets={"errorMessage": nothing, "spark.exception": {"message": "boom"}})
    (said,) = aspects(found, "dataProcessInstanceProperties")
    assert said["customProperties"]["openlineage.errorMessage.message"] == "boom"


@pytest.mark.parametrize("nothing", NOTHING)
def test_checks_and_metrics_of_great_expectations_are_read_where_the_standard_facets_have_none(nothing):
    bags = {
        "facets": {"dataQualityMetrics": nothing, "dataQuality": {"rowCount": 7}},
        "inputFacets": {
            "dataQualityAssertions": nothing,
            "greatExpectations_assertions": {"assertions": [{"expectationType": "unique", "success": True}]},
        },
    }
    found = told(inputs=[dataset("d.s.other"), dataset("d.s.t", **bags)])
    assert [profile["rowCount"] for profile in aspects(found, "datasetProfile")] == [7]
    assert len(aspects(found, "assertionRunEvent")) == 1


def test_what_another_dataset_says_is_not_beside_it():
    theirs = dataset("d.s.a", facets={"dataQualityMetrics": {"rowCount": 1}})
    found = told(inputs=[theirs, dataset("d.s.b", facets={"dataQuality": {"rowCount": 7}, "dataQualityMetrics": None})])
    assert sorted(profile["rowCount"] for profile in aspects(found, "datasetProfile")) == [1, 7]


@pytest.mark.parametrize("nothing", [*NOTHING, {"size": 5}])
def test_iceberg_s_counts_fill_what_statistics_leave_out(nothing):
    commit = {"operation": "append", "commitMetrics": {"addedRecords": 42}}
    scan = {"scanMetrics": {"resultDataFiles": 3, "totalFileSizeInBytes": 9}}
    found = told(
        inputs=[dataset("d.s.a", inputFacets={"inputStatistics": nothing, "icebergScanReport": scan})],
        outputs=[dataset("d.s.b", outputFacets={"outputStatistics": nothing, "icebergCommitReport": commit})],
    )
    assert [operation["numAffectedRows"] for operation in aspects(found, "operation")] == [42]
    (io,) = aspects(found, "dataJobInputOutput")
    (edge,) = [one["value"] for one in io if one["path"].startswith("/inputDatasetEdges")]
    size = nothing["size"] if nothing and "size" in nothing else 9
    assert edge["properties"]["openlineage.inputStatistics.fileCount"] == "3"
    assert edge["properties"]["openlineage.inputStatistics.size"] == str(size)


def test_a_dag_that_is_called_by_a_number_keeps_its_id():
    said = {"airflow": {"dag": {"dag_id": 7}, "dagRun": {}, "task": {}, "taskInstance": {}}}
    (flow,) = aspects(told(run_facets=said), "dataFlowInfo")
    assert properties(flow)["airflow.dag_id"] == "7"
