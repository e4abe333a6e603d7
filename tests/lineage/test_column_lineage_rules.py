"""Column lineage as a whole: one entry a pair, where the pairs stand, and columns that join those of the schema."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from support.sample_events import EXAMPLES, dataset, event

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.proposal import ndjson_line

IN, OUT = "shop.public.orders", "shop.public.totals"
URN = "urn:li:dataset:(urn:li:dataPlatform:{},{},PROD)"
ORDERS, TOTALS = URN.format("postgres", IN), URN.format("postgres", OUT)
OTHER = URN.format("postgres", "shop.public.other")
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}
IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY"}
PG = "postgres://db:5432"


def of(field, *transformations, name=IN, namespace=PG, **more):
    return {"namespace": namespace, "name": name, "field": field, "transformations": list(transformations), **more}


def lineage(fields, whole=()):
    entries = {name: {"inputFields": sources} for name, sources in fields.items()}
    return {"columnLineage": {"fields": entries, "dataset": list(whole)}}


def schema(*columns):
    return {"schema": {"fields": [{"name": name, "type": kind, **more} for name, kind, more in columns]}}


def made(*events, report=False, **settings):
    found = Bridge(Settings(**settings)).translate(list(events), report=report)
    assert found.rejected == []
    return found


def added(found, aspect, urn=""):
    """Return path -> value of every addition to an aspect, of all entities or of one."""
    return {
        operation["path"].replace("~1", "/"): operation["value"]
        for proposal in found.proposals
        if proposal.aspect_name == aspect and urn in ("", proposal.entity_urn)
        for operation in proposal.value
    }


def pairs(found, aspect="dataJobInputOutput"):
    """Return (operation, output column, input column) of each entry; an input that is a whole dataset as its URN."""
    rows = set()
    for path in added(found, aspect):
        if path.startswith("/fineGrainedLineages/"):
            operation, rest = path.removeprefix("/fineGrainedLineages/").split("/urn:li:schemaField:(", 1)
            down, up = rest.split(")/NONE/urn:li:")
            rows.add((operation, down.rpartition(",")[2], up.rpartition(",")[2].rstrip(")")))
    return rows


def run(facets, kind="COMPLETE", inputs=(IN,), name=OUT, namespace=PG, input_facets=None, **more):
    return event(
        kind,
        inputs=[dataset(one, namespace, facets=input_facets or {}) for one in inputs],
        outputs=[dataset(name, namespace, facets=facets)],
        **more,
    )


# -- entries ---------------------------------------------------------------------------------------------------------


def test_each_pair_has_the_transformations_of_its_own():
    body = lineage(
        {
            "a": [of("x", IDENTITY), of("y", {**IDENTITY, "subtype": "AGGREGATION", "masking": True}, FILTER)],
            "b": [of("x", FILTER), of("z")],
        }
    )
    assert pairs(made(run(body))) == {
        ("DIRECT:IDENTITY", "a", "x"),
        ("DIRECT:AGGREGATION+MASKED,INDIRECT:FILTER", "a", "y"),
        ("INDIRECT:FILTER", "b", "x"),
        ("NONE", "b", "z"),
    }


def test_descriptions_of_all_outputs_are_kept_once_per_pair():
    one = lineage({"a": [of("x", {**IDENTITY, "description": "f(x)"}, {**FILTER, "description": "x > 1"})]})
    events = event(
        "COMPLETE", inputs=[dataset(IN)], outputs=[dataset(OUT, facets=one), dataset("shop.public.b", facets=one)]
    )
    retained = json.loads(
        added(made(events), "dataJobInfo")["/customProperties/openlineage.columnLineage.descriptions"]
    )
    assert retained == {
        "shop.public.totals.a<-shop.public.orders.x": "f(x); x > 1",
        "shop.public.b.a<-shop.public.orders.x": "f(x); x > 1",
    }


def test_indirect_columns_of_all_outputs_are_on_the_edge():
    one = lineage({"a": [of("x", IDENTITY)]}, [of("day", FILTER)])
    two = lineage({"a": [of("x", IDENTITY)]}, [of("id", {**FILTER, "subtype": "JOIN"})])
    found = made(
        event(
            "COMPLETE", inputs=[dataset(IN)], outputs=[dataset(OUT, facets=one), dataset("shop.public.b", facets=two)]
        )
    )
    edge = added(found, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert edge["properties"]["openlineage.columnLineage.indirect"] == "day:FILTER,id:JOIN"


def test_repeated_filter_column_becomes_dataset_level():
    each = of("day", FILTER)
    body = lineage({"a": [of("x", IDENTITY), each], "b": [of("y", IDENTITY), each], "constant": []})
    found = made(run(body))
    assert pairs(found) == {("DIRECT:IDENTITY", "a", "x"), ("DIRECT:IDENTITY", "b", "y")}
    assert f"/inputDatasetFields/urn:li:schemaField:({ORDERS},day)" in added(found, "dataJobInputOutput")


def test_column_missing_in_the_schema_still_collapses_filters():
    each = of("day", FILTER)
    body = lineage({"a": [of("x", IDENTITY), each], "b": [each], "_0": [of("x", IDENTITY)]})
    found = made(run(body | schema(("a", "int", {}), ("b", "int", {}))))
    assert pairs(found) == {("DIRECT:IDENTITY", "a", "x")}


def test_filter_of_some_columns_keeps_its_entries():
    body = lineage({"a": [of("day", FILTER)], "b": [of("day", FILTER)], "c": [of("x", IDENTITY)]})
    assert ("INDIRECT:FILTER", "a", "day") in pairs(made(run(body)))


def test_dropped_indirect_entries_are_reported():
    body = lineage({"a": [of("x", IDENTITY, FILTER), of("day", FILTER)]})
    found = made(run(body), report=True, column_lineage={"indirect": "drop"})
    assert pairs(found) == {("DIRECT:IDENTITY,INDIRECT:FILTER", "a", "x")}
    reasons = {line["path"]: line["reason"] for line in found.report.lines()}
    start = "$.outputs[0].facets.columnLineage.fields.a.inputFields"
    assert reasons[f"{start}[1].field"] == "policy:column_lineage.indirect"
    assert reasons[f"{start}[0].field"] is None


def test_dataset_of_a_dropped_entry_stays_an_input():
    body = lineage({"a": [of("day", FILTER, name="shop.public.other")]}, [of("id", FILTER)])
    found = made(run(body, inputs=()), report=True, column_lineage={"indirect": "drop"})
    paths = added(found, "dataJobInputOutput")
    assert {f"/inputDatasetEdges/{OTHER}", f"/inputDatasetEdges/{ORDERS}"} <= paths.keys()
    assert not [path for path in paths if path.startswith(("/inputDatasetFields", "/fineGrainedLineages"))]
    stated = {line["path"]: (line["outcome"], line["target"] or line["reason"]) for line in found.report.lines()}
    start = "$.outputs[0].facets.columnLineage."
    for source in ("fields.a.inputFields[0]", "dataset[0]"):
        assert stated[f"{start}{source}.name"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")
        assert stated[f"{start}{source}.field"] == ("dropped", "policy:column_lineage.indirect")
        assert stated[f"{start}{source}.transformations[0].type"] == ("dropped", "policy:column_lineage.indirect")


def test_dataset_that_only_column_lineage_names_becomes_an_input():
    found = made(run(lineage({"a": [of("x", name="shop.public.other")]}), inputs=()))
    assert f"/inputDatasetEdges/{OTHER}" in added(found, "dataJobInputOutput")


# -- columns that join the schema's ----------------------------------------------------------------------------------


def joined(found, urn):
    """Return the schema's paths without types of version 2, and the columns that the lineage of ``urn`` names."""
    fields = next(
        p.value["fields"] for p in found.proposals if p.aspect_name == "schemaMetadata" and p.entity_urn == urn
    )
    paths = {".".join(part for part in field["fieldPath"].split(".") if not part.startswith("[")) for field in fields}
    return paths, {down for _, down, _ in pairs(found)}


@pytest.mark.parametrize(
    ("namespace", "name", "urn", "column", "nested"),
    [
        (PG, OUT, TOTALS, "Total", "item.id"),
        ("kafka://k:9092", "orders", URN.format("kafka", "orders"), "Total", "item.id"),
        ("snowflake://acme", "DB.S.T", URN.format("snowflake", "db.s.t"), "total", "item.id"),
    ],
)
def test_lineage_field_paths_equal_schema_field_paths(namespace, name, urn, column, nested):
    columns = schema(
        (column.upper() if "snowflake" in namespace else column, "int", {}),
        ("item", "struct", {"fields": [{"name": "id", "type": "int"}]}),
    )
    written = column.upper() if "snowflake" in namespace else column
    source = of("x", IDENTITY, name=name, namespace=namespace)
    found = made(
        run(lineage({written: [source], "item.id": [source]}) | columns, name=name, namespace=namespace, inputs=())
    )
    paths, downs = joined(found, urn)
    assert downs == {column, nested}
    assert downs <= paths


# -- where it stands -------------------------------------------------------------------------------------------------

BODY = lineage({"a": [of("x", IDENTITY)]}, [of("day", FILTER)])


@pytest.mark.parametrize(("target", "on_job", "on_dataset"), [("job", 1, 0), ("dataset", 0, 1), ("both", 1, 1)])
def test_column_pairs_are_on_the_configured_target(target, on_job, on_dataset):
    found = made(run(BODY), column_lineage={"target": target})
    entry = {("DIRECT:IDENTITY", "a", "x")}
    assert pairs(found) == (entry if on_job else set())
    assert pairs(found, "upstreamLineage") == (entry if on_dataset else set())
    assert f"/inputDatasetEdges/{ORDERS}" in added(found, "dataJobInputOutput")
    edges = {path for path in added(found, "upstreamLineage", TOTALS) if path.startswith("/upstreams/")}
    assert edges == ({f"/upstreams/{ORDERS}"} if on_dataset else set())
    if on_dataset:
        edge = added(found, "upstreamLineage", TOTALS)[f"/upstreams/{ORDERS}"]
        assert edge["properties"] == {"openlineage.columnLineage.indirect": "day:FILTER"}


@pytest.mark.parametrize("target", ["job", "dataset", "both"])
def test_report_names_the_configured_column_lineage_target(target):
    found = made(run(BODY), report=True, column_lineage={"target": target})
    targets = {line["path"]: line["target"] for line in found.report.lines()}
    aspect = "dataJobInputOutput" if target == "job" else "upstreamLineage"
    path = "$.outputs[0].facets.columnLineage.fields.a.inputFields[0].field"
    assert targets[path] == f"{aspect}.fineGrainedLineages"


def upstreams(found, urn=TOTALS):
    start = "/upstreams/"
    return {path.removeprefix(start) for path in added(found, "upstreamLineage", urn) if path.startswith(start)}


def test_all_inputs_are_upstreams_only_without_other_lineage():
    # what the run reads is stated at its start, what it wrote and from what at its end
    start = event("START", inputs=[dataset(IN), dataset("shop.public.other")])
    output = lineage({"a": [of("x")]})
    explicit = {"lineage": {"inputs": [{"type": "DATASET", "namespace": PG, "name": "shop.public.other"}]}}
    nothing = {"lineage": {"inputs": []}}
    names = ("plain", "columns", "explicit", "nothing")
    bags = ({}, output, explicit, nothing)
    outputs = [dataset(f"shop.public.{name}", facets=bag) for name, bag in zip(names, bags, strict=True)]
    events = [start, event("COMPLETE", time="2026-11-20T10:01:00Z", outputs=outputs)]
    for order in permutations(events):
        found = made(*order, column_lineage={"target": "dataset"})
        by_name = {name: upstreams(found, URN.format("postgres", f"shop.public.{name}")) for name in names}
        assert by_name == {"plain": {ORDERS, OTHER}, "columns": {ORDERS}, "explicit": {OTHER}, "nothing": set()}


def test_dataset_both_read_and_written_is_not_its_own_upstream():
    found = made(
        event("COMPLETE", inputs=[dataset(IN), dataset(OUT)], outputs=[dataset(OUT)]), column_lineage={"target": "both"}
    )
    assert upstreams(found) == {ORDERS}


def test_explicit_pairs_are_upstreams_by_a_setting_of_their_own():
    source = {"type": "DATASET", "namespace": PG, "name": IN, "field": "x"}
    explicit = {"lineage": {"fields": {"a": {"inputs": [source]}}}}
    outputs = [dataset(OUT, facets=explicit), dataset("shop.public.b", facets=lineage({"a": [of("y")]}))]
    found = made(event("COMPLETE", inputs=[dataset(IN)], outputs=outputs), column_lineage={"target": "split"})
    assert pairs(found, "upstreamLineage") == {("NONE", "a", "x")}
    assert pairs(found) == {("NONE", "a", "y")}
    assert upstreams(found) == {ORDERS}


def test_temporary_upstreams_are_replaced_by_their_sources():
    temporary = "shop.public.tmp"
    source = of("x", name=temporary)
    events = [
        event("COMPLETE", run="018cc251-f400-734d-88b3-1e3d63fe6211", job="etl.tmp", inputs=[dataset(IN)], outputs=[dataset(temporary)]),
        event(
            "COMPLETE", inputs=[dataset(temporary)],
            outputs=[dataset(OUT, facets=lineage({"a": [source, of("y", name="shop.public.other")]}, [of("day", FILTER, name=temporary)]))],
        ),
    ]  # fmt: skip
    for order in permutations(events):
        found = made(*order, temporary={"datasets": ["*.tmp"]}, column_lineage={"target": "dataset"})
        assert upstreams(found) == {ORDERS, OTHER}
        assert pairs(found, "upstreamLineage") == {("NONE", "a", "y")}


def test_runs_give_the_same_upstreams_in_any_order():
    events = [
        run(BODY, "START"),
        run(lineage({"b": [of("y")]}), "COMPLETE", time="2026-11-20T10:01:00Z"),
        run({}, "COMPLETE", run="018cc251-f400-734d-88b3-1e3d63fe6211", inputs=("shop.public.other",)),
    ]
    for target in ("job", "dataset", "both"):
        lines = {
            tuple(sorted(map(ndjson_line, made(*order, column_lineage={"target": target}).proposals)))
            for order in permutations(events)
        }
        assert len(lines) == 1


# -- the examples ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["job", "dataset", "both"])
@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_examples_are_valid_under_every_lineage_target(target, profile):
    events = [
        line for file in sorted(EXAMPLES.glob("*.ndjson")) for line in file.read_text(encoding="utf-8").splitlines()
    ]
    found = made(*events, datahub_version=profile, column_lineage={"target": target})
    aspects = {"dataJobInputOutput": target != "dataset", "upstreamLineage": target != "job"}
    masked = {("DIRECT:TRANSFORMATION+MASKED", "email_hash", "email")}
    assert masked <= pairs(found, "upstreamLineage")  # a dataset event's own
    for aspect, expected in aspects.items():
        assert (("DIRECT:AGGREGATION", "revenue", "revenue") in pairs(found, aspect)) is expected
