"""dataFlow and dataJob, field by field."""

from __future__ import annotations

import pytest
from support.facet_cases import (
    AIRFLOW,
    DATAHUB,
    DBT,
    END_MS,
    FLOW,
    JOB,
    ORDERS,
    PARENT,
    START_MS,
    TOTALS,
    TWIN,
    event,
    facet,
    job_event,
    orders,
    pair,
    totals,
    translate_events,
)


def patches(found, urn, aspect):
    return {one["path"]: one["op"] for one in found.one(urn, aspect)}


def test_info_of_a_flow():
    found = translate_events(pair())
    assert found.patched(FLOW, "dataFlowInfo") == {"/name": "daily", "/project": "shop"}
    assert found.one(FLOW, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:openlineage"}


def test_info_of_a_job():
    info = translate_events(pair()).patched(JOB, "dataJobInfo")
    assert info == {
        "/name": "load",
        "/type": {"string": "openlineage"},
        "/flowUrn": FLOW,
        "/customProperties/openlineage.job.namespace": "shop",
        "/customProperties/openlineage.job.name": "daily.load",
    }


def test_info_patches_include_the_fields_of_a_new_entity():
    """The server's template of a missing aspect has no name, and a dataJob's has no type."""
    for events in (pair(), pair(name="daily", outputs=[totals()]), [job_event(outputs=[totals()])]):
        found = translate_events(events)
        for one in found.proposals:
            if one.aspect_name in ("dataFlowInfo", "dataJobInfo"):
                paths = {operation["path"] for operation in one.value}
                assert "/name" in paths
                assert one.entity_type == "dataFlow" or {"/type", "/flowUrn"} <= paths


def test_shared_aspects_are_patched_and_others_replaced():
    found = translate_events(
        pair(
            job={
                "ownership": facet(owners=[{"name": "ann"}]),
                "tags": facet(tags=[{"key": "a"}]),
                "jobType": facet(jobType="TASK"),
            },
            inputs=[orders()],
            outputs=[totals(facets={"tags": facet(tags=[{"key": "b"}, {"key": "c", "field": "d"}])})],
        )
    )
    modes = {}
    for one in found.proposals:
        modes.setdefault(one.change_type, set()).add(one.aspect_name)
    assert modes["PATCH"] == {
        "dataFlowInfo", "dataJobInfo", "dataJobInputOutput", "ownership", "globalTags", "datasetProperties",
        "editableSchemaMetadata",
    }  # fmt: skip
    assert not modes["UPSERT"] & modes["PATCH"]


def test_cluster_that_is_an_environment_is_written_as_env():
    found = translate_events(pair(namespace="prod"))
    (flow,) = found.entities("dataFlow")
    assert found.patched(flow, "dataFlowInfo")["/env"] == "PROD"
    (job,) = found.entities("dataJob")
    assert found.patched(job, "dataJobInfo")["/env"] == "PROD"


def test_job_type_is_the_platform_despite_job_facets():
    """No event can flap it."""
    found = translate_events(pair(job={"jobType": facet(jobType="QUERY", integration="SPARK")}, producer=AIRFLOW))
    (job,) = found.entities("dataJob")
    assert found.patched(job, "dataJobInfo")["/type"] == {"string": "airflow"}


def test_sql_job_name_is_shortened_and_kept_as_a_property():
    name = "select a,\n  b from c where " + "d = 1 and " * 30
    found = translate_events(pair(name=name, namespace="trino://h:8080"))
    (job,) = found.entities("dataJob") or found.entities("dataFlow")
    info = found.patched(job, "dataJobInfo" if job.startswith("urn:li:dataJob") else "dataFlowInfo")
    if job.startswith("urn:li:dataJob"):
        assert len(info["/name"]) <= 121
        assert "\n" not in info["/name"]
    assert found.properties(job)["job.name"] == name


# -- flow and twin ---------------------------------------------------------------------------------------------------


def test_flow_level_job_without_datasets_is_only_a_flow():
    found = translate_events(pair(name="daily", job={"documentation": facet(description="Night")}))
    assert found.entities("dataJob") == set()
    assert found.patched(FLOW, "dataFlowInfo")["/description"] == "Night"
    assert found.properties(FLOW)["job.name"] == "daily"


def test_facets_of_a_flow_level_job_are_written_on_the_flow_and_on_its_flow_job():
    facets = {
        "documentation": facet(description="Night"),
        "ownership": facet(owners=[{"name": "ann"}]),
        "sourceCode": facet(language="bash", sourceCode="x"),
    }
    found = translate_events(pair(name="daily", job=facets, inputs=[orders()], outputs=[totals()]))
    flow_job = found.patched(TWIN, "dataJobInfo")
    assert (flow_job["/name"], flow_job["/flowUrn"]) == ("daily", FLOW)
    assert flow_job["/description"] == found.patched(FLOW, "dataFlowInfo")["/description"] == "Night"
    assert found.properties(TWIN)["sourceCode.language"] == found.properties(FLOW)["sourceCode.language"] == "bash"
    assert found.patched(TWIN, "ownership") == found.patched(FLOW, "ownership")
    assert found.has(TWIN, "dataJobInputOutput")


def test_facets_of_a_task_are_not_written_on_its_flow_nor_those_of_the_flow_on_the_task():
    flow_event = pair(name="daily", job={"documentation": facet(description="Night")})
    task_events = pair(name="daily.load", job={"ownership": facet(owners=[{"name": "ann"}])}, outputs=[totals()])
    found = translate_events(flow_event, task_events)
    assert "/description" not in found.patched(JOB, "dataJobInfo")
    assert not found.has(FLOW, "ownership")


def test_twin_always_exists_by_setting():
    found = translate_events(pair(name="daily"), identity={"flow_level_jobs": "flow+task"})
    assert found.entities("dataJob") == {TWIN}


def test_job_event_declares_a_job_and_its_lineage():
    found = translate_events(
        job_event(inputs=[orders()], outputs=[totals()], job={"documentation": facet(description="x")})
    )
    edge = found.patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["created"] == edge["lastModified"] == {"time": END_MS, "actor": DATAHUB}
    assert found.patched(JOB, "dataJobInfo")["/description"] == "x"
    assert {one.entity_type for one in found.proposals} <= {"dataPlatform", "dataFlow", "dataJob", "dataset"}


def test_same_job_event_twice_is_one():
    one = job_event(outputs=[totals()])
    assert [p.value for p in translate_events(one, one).proposals] == [p.value for p in translate_events(one).proposals]


# -- inputs and outputs ----------------------------------------------------------------------------------------------


def edges(found, urn=JOB):
    return {
        path.removeprefix("/"): value
        for path, value in found.patched(urn, "dataJobInputOutput").items()
        if "DatasetEdges" in path
    }


def test_edge_has_the_times_of_first_and_last_event():
    found = translate_events(pair(inputs=[orders()], outputs=[totals()]))
    times = {
        "created": {"time": START_MS, "actor": DATAHUB},
        "lastModified": {"time": END_MS, "actor": DATAHUB},
    }
    assert edges(found) == {
        f"inputDatasetEdges/{ORDERS}": {"destinationUrn": ORDERS, **times},
        f"outputDatasetEdges/{TOTALS}": {"destinationUrn": TOTALS, **times},
    }


def test_edge_of_an_unfinished_run_has_only_its_created_time():
    found = translate_events(event("START", inputs=[orders(inputFacets={"inputStatistics": facet(rowCount=1)})]))
    assert edges(found) == {
        f"inputDatasetEdges/{ORDERS}": {"destinationUrn": ORDERS, "created": {"time": START_MS, "actor": DATAHUB}}
    }


@pytest.mark.parametrize("reverse", [False, True])
def test_edge_spans_all_runs_with_the_last_statistics(reverse):
    def run(run_id, hour, rows):
        bag = {"inputStatistics": facet(rowCount=rows)}
        return [
            event("START", run_id=run_id, time=f"2026-11-20T0{hour}:00:00Z"),
            event(run_id=run_id, time=f"2026-11-20T0{hour}:30:00Z", inputs=[orders(inputFacets=bag)]),
        ]

    events = run(PARENT, 1, 100) + run(PARENT.replace("aa", "bb"), 5, 7)
    edge = edges(translate_events(events[::-1] if reverse else events))[f"inputDatasetEdges/{ORDERS}"]
    assert edge["created"]["time"] == START_MS + 30 * 60_000
    assert edge["lastModified"]["time"] == START_MS + 4 * 3_600_000 + 30 * 60_000
    assert edge["properties"] == {"openlineage.inputStatistics.rowCount": "7"}


def test_dataset_that_is_read_and_written_is_both():
    found = translate_events(pair(inputs=[orders()], outputs=[orders()]))
    assert set(edges(found)) == {f"inputDatasetEdges/{ORDERS}", f"outputDatasetEdges/{ORDERS}"}


def test_no_edges_are_no_aspect():
    assert not translate_events(pair(inputs=[], outputs=[])).has(JOB, "dataJobInputOutput")


def test_lineage_runs_through_temporary_datasets():
    tmp = {"namespace": "postgres://db:5432", "name": "shop.tmp.x"}
    found = translate_events(
        pair(inputs=[orders()], outputs=[tmp], run_id=PARENT, name="daily.first"),
        pair(inputs=[tmp], outputs=[totals()], name="daily.second"),
        temporary={"datasets": ["shop.tmp.*"]},
    )
    second = JOB.replace("daily.load", "daily.second")
    assert set(edges(found, second)) == {f"inputDatasetEdges/{ORDERS}", f"outputDatasetEdges/{TOTALS}"}
    assert found.entities("dataset") == {ORDERS, TOTALS}


def test_slashes_in_urns_are_escaped_in_paths():
    found = translate_events(pair(outputs=[{"namespace": "s3://b", "name": "a/b~c"}]))
    (path,) = edges(found)
    assert path == "outputDatasetEdges/urn:li:dataset:(urn:li:dataPlatform:s3,b~1a~1b~0c,PROD)"


def test_pandas_frames_are_no_datasets():
    found = translate_events(
        pair(inputs=[{"namespace": "memory://pandas", "name": "dataframe"}], outputs=[totals()]), report=True
    )
    assert found.entities("dataset") == {TOTALS}
    assert found.outcomes()["$.inputs[0].name"][0] == "dropped"


def test_job_that_unrelated_runs_share_has_no_lineage_of_its_own():
    shared = "http://localhost:3000"
    found = translate_events(
        pair(name="dbt-run-shop", producer=DBT, inputs=[orders()], outputs=[totals()], namespace=shared)
    )
    for urn in found.entities("dataJob"):
        assert found.has(urn, "dataJobInfo")


def test_at_most_2000_pairs_are_written():
    fields = {f"c{number}": {"inputFields": [{**orders(), "field": f"c{number}"}]} for number in range(2100)}
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"columnLineage": facet(fields=fields)})]))
    paths = found.patched(JOB, "dataJobInputOutput")
    assert sum(path.startswith("/fineGrainedLineages/") for path in paths) == 2000
    assert f"/inputDatasetEdges/{ORDERS}" in paths


def test_two_hundred_properties_at_most():
    many = {f"custom{number:03}": facet(a=1) for number in range(300)}
    properties = translate_events(pair(job=many)).properties(JOB)
    assert len([key for key in properties if key.startswith("facet.")]) <= 200
