"""lineage (dataset): edges and pairs of columns, said explicitly; it wins over columnLineage of its event."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from openlineage.client import event_v2
from openlineage.client.generated import lineage as client
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    OWN,
    POSTGRES,
    RUN,
    START,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    of_input,
    of_output,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)
from support.sample_events import EXAMPLES

from dh_bridge.datahub.profiles import known_profiles
from dh_bridge.datahub.proposal import ndjson_line

OTHER = ORDERS.replace("orders", "other")
OTHER_RUN = "b7dce052-51a6-4d66-98b9-5fd8b78a79c7"
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}
IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY"}


def source(name="orders", **more):
    return {"namespace": POSTGRES, "name": f"shop.public.{name}", "type": "DATASET", **more}


def job(name=None, namespace="shop", **more):
    return {"type": "JOB", **({"namespace": namespace, "name": name} if name else {}), **more}


def column(urn, name):
    return f"urn:li:schemaField:({urn},{name})"


def fine(down, operation, up):
    return f"/fineGrainedLineages/{operation}/{column(TOTALS, down)}/NONE/{up}"


def fields(**entries):
    return {name: {"inputs": inputs} for name, inputs in entries.items()}


def io(found, start=""):
    return {path for path in found.patched(JOB, "dataJobInputOutput") if path.startswith(start)}


def on_dataset(body, **more):
    return translate_events(dataset_event(totals(facets={"lineage": facet(**body)})), **more)


def member(found, urn, name):
    return json.loads(found.properties(urn)[f"lineage.{name}"])


# -- of a run's output -----------------------------------------------------------------------------------------------


def test_sources_become_inputs_and_pairs_of_columns_of_the_job():
    body = facet(inputs=[source("other")], fields=fields(total=[source(field="amount", transformations=[IDENTITY])]))
    found = of_output("lineage", body)
    assert io(found, "/inputDatasetEdges/") == {f"/inputDatasetEdges/{ORDERS}", f"/inputDatasetEdges/{OTHER}"}
    assert io(found, "/fine") == {fine("total", "DIRECT:IDENTITY", column(ORDERS, "amount"))}
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS, OTHER]}
    assert found.properties(OTHER)["name"] == "shop.public.other"
    assert not found.has(TOTALS, "upstreamLineage")


def test_lineage_facet_wins_over_column_lineage_of_its_event():
    cll = facet(fields={"total": {"inputFields": [{**source("other"), "field": "x"}]}})
    explicit = facet(fields=fields(total=[source(field="amount")]))
    for bags in (
        {"facets": {"columnLineage": cll, "lineage": explicit}},
        {"facets": {"columnLineage": cll}, "outputFacets": {"lineage": explicit}},
    ):
        found = translate_events(pair(inputs=[orders()], outputs=[totals(**bags)]), report=True)
        assert io(found, "/fine") == {fine("total", "NONE", column(ORDERS, "amount"))}
        assert OTHER not in found.one(DPI, "dataProcessInstanceInput")["inputs"]
        path = "$.outputs[0].facets.columnLineage.fields.total.inputFields[0].field"
        assert found.outcomes()[path] == ("dropped", "duplicate-of:lineage")


def test_lineage_facet_keeps_column_lineage_of_other_events():
    cll = facet(fields={"total": {"inputFields": [{**source("other"), "field": "x"}]}})
    explicit = facet(fields=fields(total=[source(field="amount")]))
    events = [
        event("START", inputs=[orders()], outputs=[totals(facets={"columnLineage": cll})]),
        event("COMPLETE", inputs=[orders()], outputs=[totals(facets={"lineage": explicit})]),
    ]
    both = {fine("total", "NONE", column(ORDERS, "amount")), fine("total", "NONE", column(OTHER, "x"))}
    assert io(translate_events(events), "/fine") == both
    another = {**totals(facets={"columnLineage": cll}), "name": "shop.public.second"}
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"lineage": explicit}), another]))
    assert len(io(found, "/fine")) == 2


def test_invalid_lineage_facet_does_not_hide_column_lineage():
    cll = facet(fields={"total": {"inputFields": [{**source(), "field": "x"}]}})
    for broken in ("nonsense", {**facet(), "_deleted": True}, facet(), facet(inputs="nonsense", fields=None)):
        bag = {"lineage": broken, "columnLineage": cll}
        assert io(translate_events(pair(inputs=[orders()], outputs=[totals(facets=bag)])), "/fine")


def test_dataset_wide_source_of_a_column_is_its_own_operation():
    body = facet(
        fields=fields(
            total=[source(), source(field="a", transformations=[IDENTITY]), source("other", transformations=[IDENTITY])]
        )
    )
    values = of_output("lineage", body).patched(JOB, "dataJobInputOutput")
    pairs = {path: value for path, value in values.items() if path.startswith("/fine")}
    assert pairs == {
        fine("total", "DATASET", ORDERS): {"confidenceScore": 1.0, "upstreamType": "DATASET"},
        fine("total", "DIRECT:IDENTITY+DATASET", OTHER): {"confidenceScore": 1.0, "upstreamType": "DATASET"},
        fine("total", "DIRECT:IDENTITY", column(ORDERS, "a")): {"confidenceScore": 1.0},
    }


@pytest.mark.parametrize("profile", known_profiles())
@pytest.mark.parametrize("target", ["job", "dataset", "both"])
def test_proposals_are_accepted_by_every_version(profile, target):
    body = facet(
        inputs=[source(field="day", transformations=[FILTER]), job("daily.extract", runId=OTHER_RUN)],
        fields=fields(total=[source(), job(transformations=[IDENTITY]), source(field="a")]),
    )
    translate_events(
        pair(inputs=[orders()], outputs=[totals(facets={"lineage": body})]),
        dataset_event(totals(facets={"lineage": body})),
        datahub_version=profile,
        column_lineage={"target": target},
    )


def test_dataset_wide_column_is_an_input_field_and_on_the_edge():
    body = facet(
        inputs=[source(field="day", transformations=[FILTER]), source(transformations=[{**IDENTITY, "masking": True}])]
    )
    found = of_output("lineage", body)
    assert io(found, "/inputDatasetFields/") == {f"/inputDatasetFields/{column(ORDERS, 'day')}"}
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert edge["properties"] == {"openlineage.columnLineage.indirect": "*:DIRECT:IDENTITY+MASKED,day:FILTER"}


def test_job_sources_are_edges_and_their_runs_are_upstream():
    found = of_output("lineage", facet(inputs=[job("daily.extract", runId=OTHER_RUN)]), report=True)
    extract = JOB.replace("daily.load", "daily.extract")
    assert found.patched(JOB, "dataJobInputOutput")[f"/inputDatajobEdges/{extract}"] == {"destinationUrn": extract}
    upstream = found.one(DPI, "dataProcessInstanceRelationships")["upstreamInstances"]
    assert upstream == [f"urn:li:dataProcessInstance:{OTHER_RUN}"]
    assert member(found, DPI, "jobs") == {"shop.public.totals<-shop/daily.extract": {"runId": OTHER_RUN}}
    start = "$.outputs[0].facets.lineage.inputs[0]"
    assert found.outcomes()[f"{start}.runId"] == ("mapped", "dataProcessInstanceRelationships.upstreamInstances")
    assert found.outcomes()[f"{start}.name"] == ("mapped", "dataJobInputOutput.inputDatajobEdges")


def test_own_job_and_run_are_no_source():
    for own in (job(), job("daily.load"), job(runId=RUN)):
        found = of_output("lineage", facet(inputs=[own]))
        assert not io(found, "/inputDatajobEdges/")
        assert found.one(DPI, "dataProcessInstanceRelationships")["upstreamInstances"] == []


def test_another_run_of_the_job_is_upstream():
    found = of_output("lineage", facet(inputs=[job(runId=OTHER_RUN)]))
    upstream = found.one(DPI, "dataProcessInstanceRelationships")["upstreamInstances"]
    assert upstream == [f"urn:li:dataProcessInstance:{OTHER_RUN}"]


def test_flow_as_a_source_is_kept_without_an_edge():
    found = of_output("lineage", facet(inputs=[job("nightly", namespace="shop")]))
    assert not io(found, "/inputDatajobEdges/")
    assert member(found, DPI, "jobs") == {"shop.public.totals<-shop/nightly": {}}


def test_constants_and_columns_that_the_job_makes_are_kept():
    made = job(transformations=[{**IDENTITY, "subtype": "AGGREGATION", "description": "sum()"}])
    found = of_output("lineage", facet(fields=fields(total=[made], loaded=[])))
    assert member(found, JOB, "fieldJobs") == {
        "shop.public.totals.loaded": {},
        "shop.public.totals.total": {"shop/daily.load": "DIRECT:AGGREGATION"},
    }
    assert member(found, JOB, "descriptions") == {"shop.public.totals.total<-shop/daily.load": "sum()"}
    assert not io(found, "/fine")


def test_descriptions_of_several_outputs_are_combined():
    body = facet(fields=fields(total=[source(field="a", transformations=[{**IDENTITY, "description": "as it is"}])]))
    second = {**totals(facets={"lineage": body}), "name": "shop.public.second"}
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"lineage": body}), second]))
    assert set(member(found, JOB, "descriptions")) == {
        "shop.public.totals.total<-shop.public.orders.a",
        "shop.public.second.total<-shop.public.orders.a",
    }


def test_descriptions_distinguish_sources_of_equal_name():
    there = {"namespace": "trino://t:8080"}
    sources = [
        source(field="a", transformations=[{**IDENTITY, "description": stated_parts}], **more)
        for stated_parts, more in (("ours", {}), ("theirs", there), ("too", {}))
    ]
    found = of_output("lineage", facet(fields=fields(total=sources)))
    other = "urn:li:dataset:(urn:li:dataPlatform:trino,shop.public.orders,PROD)"
    assert member(found, JOB, "descriptions") == {
        f"{column(TOTALS, 'total')}<-{column(ORDERS, 'a')}": "ours; too",
        f"{column(TOTALS, 'total')}<-{column(other, 'a')}": "theirs",
    }


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (source(type="STREAM"), "malformed"),
        ({"type": "DATASET", "namespace": POSTGRES}, "malformed"),
        ({"type": "JOB", "name": "x"}, "malformed"),
        ({"type": "JOB", "namespace": "x"}, "malformed"),
    ],
)
def test_source_that_names_nothing_is_withheld(bad, reason):
    found = of_output("lineage", facet(inputs=[bad], fields=fields(total=[bad, source(field="a")])), report=True)
    assert io(found, "/fine") == {fine("total", "NONE", column(ORDERS, "a"))}
    outcomes = found.outcomes()
    for start in ("inputs[0]", "fields.total.inputs[0]"):
        assert outcomes[f"$.outputs[0].facets.lineage.{start}.type"] == ("dropped", reason)


def test_source_without_a_type_is_inferred_from_its_fields():
    nameless = {key: value for key, value in source(field="a").items() if key != "type"}
    found = of_output("lineage", facet(fields=fields(total=[nameless, {}])))
    assert io(found, "/fine") == {fine("total", "NONE", column(ORDERS, "a"))}
    assert member(found, JOB, "fieldJobs") == {"shop.public.totals.total": {"shop/daily.load": ""}}


def test_leaves_that_fit_no_source_are_withheld():
    body = facet(inputs=[source(runId=OTHER_RUN), job("daily.extract", field="x")])
    outcomes = of_output("lineage", body, report=True).outcomes()
    start = "$.outputs[0].facets.lineage"
    assert outcomes[f"{start}.inputs[0].runId"] == ("dropped", "no-field:a dataset has no run")
    assert outcomes[f"{start}.inputs[1].field"] == ("dropped", "no-field:a job has no columns")


def test_null_and_empty_source_fields_are_reported_as_empty():
    void = {"field": "", "runId": None, "transformations": [{"type": "DIRECT", "subtype": None, "description": ""}]}
    body = facet(
        inputs=[source("other", **void), job("daily.before", **void), job("daily.before", transformations=[])],
        fields=fields(total=[source(**void), job("daily.before", **void)]),
    )
    outcomes = of_output("lineage", body, report=True).outcomes()
    start = "$.outputs[0].facets.lineage"
    for where in ("inputs[0]", "inputs[1]", "fields.total.inputs[0]", "fields.total.inputs[1]"):
        for leaf in ("field", "transformations[0].description"):
            assert outcomes[f"{start}.{where}.{leaf}"] == ("dropped", "empty")
        for leaf in ("runId", "transformations[0].subtype"):
            assert outcomes[f"{start}.{where}.{leaf}"] == ("dropped", "empty:null")
        assert outcomes[f"{start}.{where}.transformations[0].type"][0] != "dropped"
    assert outcomes[f"{start}.inputs[2].transformations"] == ("dropped", "empty")


def test_overlong_columns_are_dropped_and_their_edge_is_kept():
    long = "x" * 600
    body = facet(inputs=[source("other", field=long)], fields=fields(total=[source("other", field=long)]))
    found = of_output("lineage", body, report=True)
    assert not io(found, "/fine")
    assert f"/inputDatasetEdges/{OTHER}" in io(found)
    assert found.outcomes()["$.outputs[0].facets.lineage.fields.total.inputs[0].field"] == ("dropped", "too-large")
    assert found.outcomes()["$.outputs[0].facets.lineage.inputs[0].field"] == ("dropped", "too-large")
    named = found.outcomes()["$.outputs[0].facets.lineage.fields.total.inputs[0].name"]
    assert named == ("mapped", "dataJobInputOutput.inputDatasetEdges")


def test_indirect_sources_are_dropped_by_setting_except_edges():
    body = facet(
        inputs=[source("other", field="day", transformations=[FILTER])],
        fields=fields(total=[source("third", field="a", transformations=[FILTER])]),
    )
    found = of_output("lineage", body, report=True, column_lineage={"indirect": "drop"})
    assert not io(found, "/fine")
    assert not io(found, "/inputDatasetFields/")
    assert {f"/inputDatasetEdges/{urn}" for urn in (OTHER, OTHER.replace("other", "third"))} <= io(found)
    path = "$.outputs[0].facets.lineage.fields.total.inputs[0]."
    assert found.outcomes()[path + "field"] == ("dropped", "policy:column_lineage.indirect")
    assert found.outcomes()[path + "name"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")


def test_no_source_property_ends_with_the_next_source():
    none, some = facet(inputs=[]), facet(inputs=[source()])
    found = of_output("lineage", none, report=True)
    assert found.properties(TOTALS)["lineage.noSource"] == "true"
    target = "datasetProperties.customProperties[openlineage.lineage.noSource]"
    assert found.outcomes()["$.outputs[0].facets.lineage.inputs"] == ("property", target)
    events = [
        event(kind, inputs=[orders()], outputs=[totals(facets={"lineage": body})])
        for kind, body in (("START", none), ("COMPLETE", some))
    ]
    for order in permutations(events):
        assert "lineage.noSource" not in translate_events(list(order)).properties(TOTALS)


def test_lineage_of_an_input_is_a_property_without_edges():
    found = of_input("lineage", facet(inputs=[source("other")]), report=True)
    assert json.loads(found.properties(ORDERS)["lineage"]) == {"inputs": [source("other")]}
    assert f"/inputDatasetEdges/{OTHER}" not in io(found)
    path = "$.inputs[0].facets.lineage.inputs[0].name"
    assert found.outcomes()[path] == ("property", "datasetProperties.customProperties[openlineage.lineage]")


def test_deleted_lineage_of_an_input_is_ignored():
    found = of_input("lineage", {**facet(), "_deleted": True})
    assert "lineage" not in found.properties(ORDERS)
    assert not found.has(ORDERS, "upstreamLineage")


# -- of a dataset event ----------------------------------------------------------------------------------------------


def test_dataset_event_writes_upstream_lineage():
    found = on_dataset(
        {
            "inputs": [source("other", field="day", transformations=[FILTER])],
            "fields": fields(total=[source(field="a", transformations=[{**IDENTITY, "masking": True}]), source()]),
        }
    )
    upstream = found.patched(TOTALS, "upstreamLineage")
    assert set(upstream) == {
        f"/upstreams/{ORDERS}",
        f"/upstreams/{OTHER}",
        fine("total", "DATASET", ORDERS),
        fine("total", "DIRECT:IDENTITY+MASKED", column(ORDERS, "a")),
    }
    assert upstream[f"/upstreams/{OTHER}"]["properties"] == {"openlineage.columnLineage.indirect": "day:FILTER"}
    assert "properties" not in upstream[f"/upstreams/{ORDERS}"]
    assert found.entities("dataJob") == set()


def test_upstreams_of_a_view_are_those_of_a_view():
    bag = {"lineage": facet(inputs=[source()]), "datasetType": facet(datasetType="VIEW")}
    found = translate_events(dataset_event(totals(facets=bag)))
    assert found.patched(TOTALS, "upstreamLineage")[f"/upstreams/{ORDERS}"]["type"] == "VIEW"


def test_dataset_is_no_upstream_of_itself():
    found = on_dataset({"inputs": [{**totals(), "type": "DATASET"}, source()]})
    assert set(found.patched(TOTALS, "upstreamLineage")) == {f"/upstreams/{ORDERS}"}


def test_source_jobs_of_a_dataset_event_are_dataset_properties():
    body = {"inputs": [job("daily.extract", runId=OTHER_RUN), job()], "fields": fields(total=[job("daily.extract")])}
    found = on_dataset(body, report=True)
    assert member(found, TOTALS, "jobs") == {
        "shop.public.totals.total<-shop/daily.extract": {},
        "shop.public.totals<-shop/daily.extract": {"runId": OTHER_RUN},
    }
    assert member(found, TOTALS, "fieldJobs") == {"shop.public.totals.total": {"shop/daily.extract": ""}}
    outcomes = found.outcomes()
    assert outcomes["$.dataset.facets.lineage.inputs[1].type"] == ("dropped", "no-field:no job")
    assert outcomes["$.dataset.facets.lineage.inputs[0].runId"][0] == "property"


def test_no_source_withdraws_earlier_lineage_in_any_order():
    cll = facet(fields={"b": {"inputFields": [{**source("other"), "field": "x"}]}})
    late = facet(inputs=[source("late")])
    events = [
        dataset_event(totals(facets={"lineage": facet(inputs=[source()], fields=fields(a=[source(field="a")]))})),
        dataset_event(totals(facets={"columnLineage": cll}), time="2026-11-20T01:00:31Z"),
        dataset_event(totals(facets={"lineage": facet(inputs=[])}), time="2026-11-20T01:00:32Z"),
        dataset_event(totals(facets={"lineage": late}), time="2026-11-20T01:00:33Z"),
    ]
    for order in permutations(events[:3]):
        found = translate_events(list(order))
        assert not found.has(TOTALS, "upstreamLineage")
        assert found.properties(TOTALS)["lineage.noSource"] == "true"
    for order in permutations(events):
        found = translate_events(list(order))
        assert set(found.patched(TOTALS, "upstreamLineage")) == {f"/upstreams/{ORDERS.replace('orders', 'late')}"}
        assert "lineage.noSource" not in found.properties(TOTALS)


def test_deleted_lineage_withdraws_only_the_lineage_facet():
    cll = facet(fields={"b": {"inputFields": [{**source("other"), "field": "x"}]}})
    events = [
        dataset_event(totals(facets={"lineage": facet(inputs=[source()])})),
        dataset_event(totals(facets={"columnLineage": cll})),
        dataset_event(totals(facets={"lineage": {**facet(), "_deleted": True}}), time="2026-11-20T01:00:32Z"),
    ]
    expected = {f"/upstreams/{OTHER}", fine("b", "NONE", column(OTHER, "x"))}
    for order in permutations(events):
        assert set(translate_events(list(order)).patched(TOTALS, "upstreamLineage")) == expected


def test_edge_properties_end_when_the_source_is_withdrawn():
    mark = {"type": "INDIRECT", "subtype": "FILTER"}
    cll = facet(fields={"b": {"inputFields": [{**source(), "field": "x"}]}})
    events = [
        dataset_event(totals(facets={"lineage": facet(inputs=[source(field="a", transformations=[mark])])})),
        dataset_event(totals(facets={"lineage": facet(inputs=[])}), time="2026-11-20T01:00:31Z"),
        dataset_event(totals(facets={"columnLineage": cll}), time="2026-11-20T01:00:32Z"),
    ]
    for order in permutations(events):
        upstream = translate_events(list(order)).patched(TOTALS, "upstreamLineage")[f"/upstreams/{ORDERS}"]
        assert "properties" not in upstream


def test_no_order_of_the_events_matters():
    body = facet(inputs=[source()], fields=fields(a=[source(field="a"), job()]))
    events = [
        event("START", inputs=[orders()], outputs=[totals()]),
        event("RUNNING", time="2026-11-20T01:00:10Z", outputs=[totals(facets={"lineage": facet(inputs=[])})]),
        event("COMPLETE", inputs=[orders()], outputs=[totals(facets={"lineage": body})]),
        dataset_event(totals(facets={"lineage": body}), time=START),
    ]
    for settings in ({}, {"column_lineage": {"target": "both"}}):
        made = {
            tuple(sorted(ndjson_line(one) for one in translate_events(list(order), **settings).proposals))
            for order in permutations(events)
        }
        assert len(made) == 1


# -- as others write it ----------------------------------------------------------------------------------------------


def test_specification_s_document_is_read():
    found = translate_events(dataset_event(totals(facets=spec("LineageFacet", "dataset-to-dataset"))))
    customers = "urn:li:dataset:(urn:li:dataPlatform:postgres,public.customers,PROD)"
    assert set(found.patched(TOTALS, "upstreamLineage")) == {
        f"/upstreams/{customers}",
        fine("customer_id", "DIRECT:IDENTITY", column(customers, "id")),
    }


def test_client_s_classes_are_read():
    made = client.LineageDatasetFacet(
        inputs=[client.LineageDatasetInput(POSTGRES, "shop.public.orders", "DATASET")],
        fields={
            "total": client.LineageFieldEntry(
                [
                    client.LineageDatasetInput(
                        POSTGRES,
                        "shop.public.orders",
                        "DATASET",
                        "amount",
                        [client.LineageTransformation("DIRECT", "AGGREGATION", "sum(amount)", masking=False)],
                    ),
                    client.LineageJobInput("JOB"),
                ]
            )
        },
    )
    found = translate_events(client_pair(outputs={"lineage": made}))
    assert io(found, "/fine") == {fine("total", "DIRECT:AGGREGATION", column(ORDERS, "amount"))}
    assert "sum(amount)" in found.properties(JOB)["lineage.descriptions"]
    stated = event_v2.DatasetEvent(
        eventTime=START,
        producer=OWN,
        dataset=event_v2.Dataset(POSTGRES, "shop.public.totals", facets={"lineage": made}),
    )
    assert f"/upstreams/{ORDERS}" in translate_events(stated).patched(TOTALS, "upstreamLineage")


def test_example_dataset_event_has_upstreams_and_masked_columns():
    lines = (EXAMPLES / "client.ndjson").read_text(encoding="utf-8").splitlines()
    found = translate_events(
        [json.loads(line) for line in lines if '"dataset": {' in line and '"lineage"' in line], report=True
    )
    customers = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.staging.customers,PROD)"
    raw = "urn:li:dataset:(urn:li:dataPlatform:s3,shop-lake~1raw~1customers,PROD)"
    assert set(found.patched(customers, "upstreamLineage")) == {
        f"/upstreams/{raw}",
        f"/fineGrainedLineages/DIRECT:TRANSFORMATION+MASKED/{column(customers, 'email_hash')}/NONE/{column(raw, 'email')}",
    }
    lost = {
        path: outcome for path, outcome in found.outcomes().items() if ".lineage." in path and outcome[0] == "dropped"
    }
    assert all("._" in path or path.endswith("transformations") for path in lost), lost
