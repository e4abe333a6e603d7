"""lineage (job): targets that the job, another job or another run feeds, said explicitly."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from openlineage.client import event_v2
from openlineage.client.generated import lineage as client
from support.facet_cases import (
    DPI,
    FLOW,
    JOB,
    ORDERS,
    OWN,
    POSTGRES,
    RUN,
    START,
    TOTALS,
    client_pair,
    event,
    facet,
    job_event,
    of_job,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)
from support.sample_events import EXAMPLES

from dh_bridge.datahub.proposal import ndjson_line

OTHER = ORDERS.replace("orders", "other")
EXTRACT = JOB.replace("daily.load", "daily.extract")
TRANSFORM = JOB.replace("daily.load", "daily.transform")
RUN_A, RUN_B = "b7dce052-51a6-4d66-98b9-5fd8b78a79c7", "605f451b-c768-4c77-9ff4-8501f6324513"
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}


def dataset(name, **more):
    return {"namespace": POSTGRES, "name": f"shop.public.{name}", "type": "DATASET", **more}


def job(name=None, **more):
    return {"type": "JOB", **({"namespace": "shop", "name": name} if name else {}), **more}


def lineage(*entries):
    return {"lineage": facet(entries=list(entries))}


def column(urn, name):
    return f"urn:li:schemaField:({urn},{name})"


def io(found, start="", urn=JOB):
    return {path for path in found.patched(urn, "dataJobInputOutput") if path.startswith(start)}


def pairs(found):
    return {path.removeprefix("/fineGrainedLineages/") for path in io(found, "/fine")}


def jobs(found, urn=DPI):
    return json.loads(found.properties(urn)["lineage.jobs"])


def upstream(found, urn=DPI):
    return found.one(urn, "dataProcessInstanceRelationships")["upstreamInstances"]


# -- datasets as targets ---------------------------------------------------------------------------------------------


def test_targets_and_sources_are_outputs_and_inputs_of_the_job():
    entry = dataset("totals", inputs=[dataset("orders")], fields={"a": {"inputs": [dataset("orders", field="b")]}})
    found = translate_events(pair(job=lineage(entry)), report=True)
    assert io(found) == {
        f"/inputDatasetEdges/{ORDERS}",
        f"/outputDatasetEdges/{TOTALS}",
        f"/fineGrainedLineages/NONE/{column(TOTALS, 'a')}/NONE/{column(ORDERS, 'b')}",
    }
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [TOTALS]}
    assert found.properties(TOTALS)["name"] == "shop.public.totals"
    start = "$.job.facets.lineage.entries[0]"
    outcomes = found.outcomes()
    assert outcomes[f"{start}.name"] == ("mapped", "dataJobInputOutput.outputDatasetEdges")
    assert outcomes[f"{start}.inputs[0].name"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")
    assert outcomes[f"{start}.fields.a.inputs[0].field"] == ("mapped", "dataJobInputOutput.fineGrainedLineages")


def test_job_lineage_wins_over_column_lineage_of_its_targets():
    cll = {"columnLineage": facet(fields={"a": {"inputFields": [dataset("other", field="x")]}})}
    second = {**totals(facets=cll), "name": "shop.public.second"}
    entry = dataset("totals", fields={"a": {"inputs": [dataset("orders", field="b")]}})
    found = translate_events(
        pair(job=lineage(entry), inputs=[orders()], outputs=[totals(facets=cll), second]), report=True
    )
    another = TOTALS.replace("totals", "second")
    assert pairs(found) == {
        f"NONE/{column(TOTALS, 'a')}/NONE/{column(ORDERS, 'b')}",
        f"NONE/{column(another, 'a')}/NONE/{column(OTHER, 'x')}",
    }
    path = "$.outputs[{}].facets.columnLineage.fields.a.inputFields[0].field"
    assert found.outcomes()[path.format(0)] == ("dropped", "duplicate-of:lineage")
    assert found.outcomes()[path.format(1)][0] == "mapped"


def test_several_entries_of_one_target_add_up():
    entries = (
        dataset("totals", inputs=[], fields={"a": {"inputs": [dataset("orders", field="b")]}}),
        dataset("totals", inputs=[dataset("other")], fields={"c": {"inputs": [dataset("orders", field="d")]}}),
    )
    for order in permutations(entries):
        found = translate_events(pair(job=lineage(*order)))
        assert len(pairs(found)) == 2
        assert "lineage.noSource" not in found.properties(TOTALS)
    assert (
        translate_events(pair(job=lineage(dataset("totals", inputs=[])))).properties(TOTALS)["lineage.noSource"]
        == "true"
    )


def test_job_lineage_is_read_from_run_facets_too():
    found = translate_events(pair(run=lineage(dataset("totals", inputs=[dataset("orders")]))))
    assert io(found) == {f"/inputDatasetEdges/{ORDERS}", f"/outputDatasetEdges/{TOTALS}"}


def test_job_event_declares_lineage_without_a_run():
    entry = dataset("totals", inputs=[dataset("orders"), job("daily.extract", runId=RUN_A)])
    found = translate_events(job_event(job=lineage(entry)), report=True)
    assert io(found) == {
        f"/inputDatasetEdges/{ORDERS}",
        f"/outputDatasetEdges/{TOTALS}",
        f"/inputDatajobEdges/{EXTRACT}",
    }
    assert jobs(found, JOB) == {"shop.public.totals<-shop/daily.extract": {"runId": RUN_A}}
    assert found.entities("dataProcessInstance") == set()
    path = "$.job.facets.lineage.entries[0].inputs[1].runId"
    assert found.outcomes()[path] == ("property", "dataJobInfo.customProperties[openlineage.lineage.jobs]")


def test_lineage_of_a_placeholder_job_event_is_on_the_dataset():
    entry = dataset("totals", inputs=[dataset("orders")], fields={"a": {"inputs": [dataset("orders", field="b")]}})
    found = translate_events(job_event(name="unknown", job=lineage(entry)))
    assert set(found.patched(TOTALS, "upstreamLineage")) == {
        f"/upstreams/{ORDERS}",
        f"/fineGrainedLineages/NONE/{column(TOTALS, 'a')}/NONE/{column(ORDERS, 'b')}",
    }
    plain = translate_events(job_event(name="unknown", inputs=[orders()], outputs=[totals()]))
    assert set(plain.patched(TOTALS, "upstreamLineage")) == {f"/upstreams/{ORDERS}"}


def test_lineage_of_a_flow_level_job_is_on_the_flow_job():
    found = translate_events(pair(name="daily", job=lineage(dataset("totals", inputs=[dataset("orders")]))))
    twin = f"urn:li:dataJob:({FLOW},daily)"
    assert io(found, urn=twin) == {f"/inputDatasetEdges/{ORDERS}", f"/outputDatasetEdges/{TOTALS}"}
    assert found.has(twin, "dataJobInfo")


# -- jobs as targets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [job(), job("daily.load"), job(runId=RUN)])
def test_sources_of_the_job_itself_are_its_inputs(target):
    entry = {**target, "inputs": [dataset("orders", field="a", transformations=[FILTER]), dataset("other")]}
    found = translate_events(pair(job=lineage(entry)), report=True)
    assert io(found) == {
        f"/inputDatasetEdges/{ORDERS}",
        f"/inputDatasetEdges/{OTHER}",
        f"/inputDatasetFields/{column(ORDERS, 'a')}",
    }
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert edge["properties"] == {"openlineage.columnLineage.indirect": "a:FILTER"}
    start = "$.job.facets.lineage.entries[0]"
    assert found.outcomes()[f"{start}.inputs[1].name"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")
    if "runId" in target:
        assert found.outcomes()[f"{start}.runId"] == ("dropped", "duplicate-of:run.runId")


def test_source_jobs_of_the_job_itself_are_edges_and_runs():
    found = translate_events(pair(job=lineage(job(inputs=[job("daily.extract", runId=RUN_A), job()]))))
    assert io(found) == {f"/inputDatajobEdges/{EXTRACT}"}
    assert upstream(found) == [f"urn:li:dataProcessInstance:{RUN_A}"]
    assert jobs(found) == {"shop/daily.load<-shop/daily.extract": {"runId": RUN_A}}


def test_sources_of_another_job_are_edges_of_that_job_only():
    sources = [
        dataset("orders", field="a", transformations=[{**FILTER, "description": "a > 1"}]),
        job(),
        job("daily.extract"),
    ]
    found = translate_events(pair(job=lineage(job("daily.transform", inputs=sources))), report=True)
    assert io(found, urn=TRANSFORM) == {
        f"/inputDatasetEdges/{ORDERS}",
        f"/inputDatajobEdges/{EXTRACT}",
        f"/inputDatajobEdges/{JOB}",
    }
    assert not found.has(TRANSFORM, "dataJobInfo")
    assert not found.has(JOB, "dataJobInputOutput")
    assert not found.has(DPI, "dataProcessInstanceInput")
    assert jobs(found) == {
        "shop/daily.transform<-shop.public.orders.a": {"description": "a > 1", "transformations": "INDIRECT:FILTER"},
        "shop/daily.transform<-shop/daily.extract": {},
        "shop/daily.transform<-shop/daily.load": {},
    }
    target = ("property", "dataProcessInstanceProperties.customProperties[openlineage.lineage.jobs]")
    assert found.outcomes()["$.job.facets.lineage.entries[0].inputs[0].transformations[0].description"] == target


def test_sources_of_another_run_are_written_if_it_is_in_the_call():
    entry = job("daily.transform", runId=RUN_B, inputs=[job("daily.extract", runId=RUN_A), dataset("orders")])
    reporting_pair = pair(job=lineage(entry))
    alone = translate_events(reporting_pair)
    assert upstream(alone) == []
    stated = {"runId": RUN_A, "targetRunId": RUN_B}
    assert jobs(alone) == {
        "shop/daily.transform<-shop.public.orders": {"targetRunId": RUN_B},
        "shop/daily.transform<-shop/daily.extract": stated,
    }
    together = translate_events(reporting_pair, pair(name="daily.transform", run_id=RUN_B))
    other = f"urn:li:dataProcessInstance:{RUN_B}"
    assert upstream(together, other) == [f"urn:li:dataProcessInstance:{RUN_A}"]
    assert together.one(other, "dataProcessInstanceInput") == {"inputs": [ORDERS]}
    assert upstream(together) == []
    assert f"/inputDatasetEdges/{ORDERS}" in io(together, urn=TRANSFORM)


def test_another_run_of_this_job_gets_no_inputs_of_this_run():
    found = translate_events(pair(job=lineage(job(runId=RUN_B, inputs=[dataset("orders")]))))
    assert io(found) == {f"/inputDatasetEdges/{ORDERS}"}
    assert not found.has(DPI, "dataProcessInstanceInput")


def test_flow_as_a_target_is_kept_without_edges():
    found = translate_events(pair(job=lineage(job("nightly", inputs=[dataset("orders")]))))
    assert jobs(found) == {"shop/nightly<-shop.public.orders": {}}
    assert found.entities("dataJob") == {JOB}


@pytest.mark.parametrize(
    ("entry", "leaf", "reason"),
    [
        (dataset("totals", type="STREAM"), "name", "malformed"),
        ({"type": "DATASET", "namespace": POSTGRES}, "namespace", "malformed"),
        ({"type": "JOB", "name": "x", "inputs": [dataset("orders")]}, "name", "malformed"),
        (job("daily.extract"), "name", "no-field:no inputs"),
        (dataset("totals", runId=RUN_A, inputs=[]), "runId", "no-field:a dataset has no run"),
        (job(inputs=[dataset("orders")], fields={"a": {"inputs": [job()]}}), "fields.a.inputs[0].type", "no-field:a job has no columns"),
        (job(inputs=[{"type": "DATASET"}]), "inputs[0].type", "malformed"),
        (job("daily.extract", inputs=[{"type": "DATASET"}]), "inputs[0].type", "malformed"),
        (job("daily.extract", inputs=[{"type": "JOB", "name": "x"}]), "inputs[0].type", "malformed"),
    ],
)  # fmt: skip
def test_lineage_entry_with_invalid_fields_reports_the_reason(entry, leaf, reason):
    found = translate_events(pair(job=lineage(entry)), report=True)
    assert found.outcomes()[f"$.job.facets.lineage.entries[0].{leaf}"] == ("dropped", reason)


def test_entry_without_a_type_is_inferred_from_its_fields():
    nameless = {key: value for key, value in dataset("totals").items() if key != "type"}
    found = translate_events(
        pair(job=lineage({**nameless, "inputs": [dataset("orders")]}, {"inputs": [dataset("other")]}))
    )
    assert io(found) == {f"/inputDatasetEdges/{ORDERS}", f"/inputDatasetEdges/{OTHER}", f"/outputDatasetEdges/{TOTALS}"}


def test_empty_entries_write_no_lineage():
    assert not of_job("lineage", facet(entries=[])).has(JOB, "dataJobInputOutput")
    assert not of_job("lineage", facet()).has(JOB, "dataJobInputOutput")


def test_placeholder_job_lineage_goes_to_the_job_of_its_run():
    entry = dataset("totals", inputs=[dataset("orders"), job("daily.extract")])
    events = [event("START"), event("COMPLETE", name="unknown", job=lineage(entry))]
    for order in permutations(events):
        assert io(translate_events(list(order))) == {
            f"/inputDatasetEdges/{ORDERS}",
            f"/outputDatasetEdges/{TOTALS}",
            f"/inputDatajobEdges/{EXTRACT}",
        }


def test_no_order_of_the_events_matters():
    first = lineage(dataset("totals", inputs=[]), job("daily.transform", runId=RUN_B, inputs=[job(runId=RUN)]))
    second = lineage(dataset("totals", inputs=[dataset("orders")], fields={"a": {"inputs": [job()]}}))
    events = [
        event("START", job=first, inputs=[orders()], outputs=[totals()]),
        event("COMPLETE", job=second, inputs=[orders()], outputs=[totals()]),
        event("START", name="daily.transform", run_id=RUN_B),
        job_event(job=second, time="2026-11-20T00:00:00Z"),
    ]
    made = {
        tuple(sorted(ndjson_line(one) for one in translate_events(list(order)).proposals))
        for order in permutations(events)
    }
    assert len(made) == 1


# -- as others write it ----------------------------------------------------------------------------------------------

WAREHOUSE = "urn:li:dataset:(urn:li:dataPlatform:postgres,public.{},PROD)"
AIRFLOW_JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,airflow://production),daily.{})"
PATH_JOB = AIRFLOW_JOB.replace("/", "~1")


@pytest.mark.parametrize(
    ("name", "urn", "paths"),
    [
        ("dataset-to-job", AIRFLOW_JOB.format("load"), ["/inputDatasetEdges/" + WAREHOUSE.format("staging_orders")]),
        ("generator", JOB, ["/outputDatasetEdges/" + WAREHOUSE.format("extracted_data")]),
        ("implicit-job", JOB, ["/inputDatasetEdges/" + WAREHOUSE.format("transactions")]),
        ("job-to-dataset", JOB, ["/inputDatajobEdges/" + PATH_JOB.format("extract"), "/outputDatasetEdges/" + WAREHOUSE.format("daily_summary")]),
        ("job-to-job", AIRFLOW_JOB.format("load"), ["/inputDatajobEdges/" + PATH_JOB.format("transform")]),
        ("mixed-sources", JOB, [
            f"/fineGrainedLineages/NONE/{column(WAREHOUSE.format('enriched_orders'), 'customer_segment')}/NONE/{column(WAREHOUSE.format('orders'), 'customer_id')}",
            "/inputDatajobEdges/" + PATH_JOB.format("enrichment"),
            "/inputDatasetEdges/" + WAREHOUSE.format("orders"),
            "/outputDatasetEdges/" + WAREHOUSE.format("enriched_orders"),
        ]),
    ],
)  # fmt: skip
def test_specification_s_documents_are_read(name, urn, paths):
    found = translate_events(pair(job=spec("LineageFacet", name)), report=True)
    assert sorted(io(found, urn=urn)) == paths
    lost = {path for path, outcome in found.outcomes().items() if ".lineage." in path and outcome[0] == "dropped"}
    assert all("._" in path for path in lost), lost


def test_spec_examples_have_upstream_runs_and_generated_columns():
    found = translate_events(pair(job=spec("LineageFacet", "job-to-dataset")))
    assert upstream(found) == [f"urn:li:dataProcessInstance:{RUN_A}"]
    found = translate_events(pair(job=spec("LineageFacet", "generator")))
    made = json.loads(found.properties(JOB)["lineage.fieldJobs"])
    assert made == {"public.extracted_data.total": {"shop/daily.load": "DIRECT:AGGREGATION"}}
    assert found.properties(WAREHOUSE.format("extracted_data"))["lineage.noSource"] == "true"


def test_client_s_classes_are_read():
    made = client.LineageJobFacet(
        entries=[
            client.LineageDatasetEntry(
                POSTGRES,
                "shop.public.totals",
                "DATASET",
                inputs=[client.LineageDatasetInput(POSTGRES, "shop.public.orders", "DATASET")],
                fields={"a": client.LineageFieldEntry([client.LineageJobInput("JOB", runId=RUN_A)])},
            ),
            client.LineageJobEntry(
                "JOB", inputs=[client.LineageDatasetInput(POSTGRES, "shop.public.other", "DATASET")]
            ),
        ]
    )
    found = translate_events(client_pair(job={"lineage": made}))
    assert io(found, "/inputDatasetEdges/") == {f"/inputDatasetEdges/{ORDERS}", f"/inputDatasetEdges/{OTHER}"}
    assert upstream(found) == [f"urn:li:dataProcessInstance:{RUN_A}"]
    declared = event_v2.JobEvent(
        eventTime=START, producer=OWN, job=event_v2.Job("shop", "daily.load", facets={"lineage": made})
    )
    assert f"/outputDatasetEdges/{TOTALS}" in io(translate_events(declared))


def test_example_s_view_has_the_pairs_of_its_columns():
    lines = (EXAMPLES / "client.ndjson").read_text(encoding="utf-8").splitlines()
    found = translate_events([json.loads(line) for line in lines if '"entries"' in line], report=True)
    (view,) = found.entities("dataJob")
    assert {path.split("/")[2] for path in io(found, "/fine", urn=view)} == {"DIRECT:IDENTITY", "DIRECT:AGGREGATION"}
    lost = {path for path, outcome in found.outcomes().items() if ".lineage." in path and outcome[0] == "dropped"}
    assert all("._" in path or path.endswith("transformations") for path in lost), lost
