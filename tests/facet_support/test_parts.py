"""What a name loses is written per run: partitions of paths, shards of BigQuery, folders that a rule cuts off."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from support.facet_cases import DPI, event, facet, translate_events

from dh_bridge import Bridge
from dh_bridge.naming import Naming
from dh_bridge.settings import Settings
from dh_bridge.settings.naming import NamingRule, NamingSettings

CASE = Path(__file__).parents[1] / "cases" / "51-partition-write.ndjson"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/wh/orders,PROD)"

PARTS = [
    ("s3://lake", "wh/orders/dt=2026-11-01", "dt=2026-11-01"),
    ("s3a://lake", "/wh/orders/dt=1/hour=2/part-00000-6cf96eb0.snappy.parquet", "dt=1/hour=2"),
    ("hdfs://nn:8020", "/wh/orders/dt=1/", "dt=1"),
    ("bigquery", "p.d.orders$20261101", "20261101"),
    ("bigquery", "p.d.orders_20261101", "20261101"),
    ("bigquery", "p.d.orders_*", ""),
    ("bigquery", "p.d.orders", ""),
    ("bigquery", "p.d.orders@1624046611000", ""),
    ("s3://lake", "wh/orders/2026/11/01", ""),
    ("s3://lake", "wh/orders.csv", ""),
    ("postgres://h:5432", "shop.public.orders", ""),
]


@pytest.mark.parametrize(("namespace", "name", "part"), PARTS)
def test_part_that_a_name_names(namespace, name, part):
    assert Naming(NamingSettings())(namespace, name).part == part


def test_what_a_rule_cuts_off_is_a_part():
    depth = NamingRule(namespace="s3://lake", path_depth=2)
    assert Naming(NamingSettings(rules=(depth,)))("s3://lake", "wh/orders/2026/11/01/x.csv").part == "2026/11/01"
    rename = NamingRule(namespace="s3://lake", name="{a}/{b}/{*day}", rename="{a}/{b}")
    assert Naming(NamingSettings(rules=(rename,)))("s3://lake", "wh/orders/2026/11/01").part == "day=2026/11/01"


def lines(path):
    return [line.encode() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def test_each_run_has_its_partition_on_the_operation_and_among_its_properties():
    found = Bridge(Settings()).translate(lines(CASE))
    operations = [p.value for p in found.proposals if p.aspect_name == "operation"]
    assert [one["partitionSpec"] for one in operations] == [
        {"partition": "dt=2026-11-01", "type": "PARTITION"},
        {"partition": "dt=2026-11-02", "type": "PARTITION"},
    ]
    runs = [p.value["customProperties"] for p in found.proposals if p.aspect_name == "dataProcessInstanceProperties"]
    for day, properties in zip(("01", "02"), runs, strict=True):
        for side, path in (("inputs", "landing/orders"), ("outputs", "lake/warehouse/orders")):
            urn = f"urn:li:dataset:(urn:li:dataPlatform:s3,{path},PROD)"
            assert json.loads(properties[f"openlineage.{side}.partitions"]) == {urn: [f"dt=2026-11-{day}"]}


def dataset(name, **facets):
    return {"namespace": "s3://lake", "name": f"wh/orders{name}", **facets}


def operation(*outputs):
    return translate_events(event("COMPLETE", outputs=list(outputs))).one(ORDERS, "operation")["partitionSpec"]


def test_several_partitions_of_one_event_are_one_spec_and_the_whole_beside_one_is_the_whole():
    spec = operation(dataset("/dt=1"), dataset("/dt=2"))
    assert spec == {"partition": '[{"dt":"1"},{"dt":"2"}]', "type": "PARTITION"}
    assert operation(dataset("/dt=1"), dataset(""))["type"] == "FULL_TABLE"


def test_subset_facet_says_it_itself():
    condition = {"type": "partition", "partitions": [{"identifier": "stated"}]}
    stated = dataset("/dt=1", outputFacets={"subset": facet(outputCondition=condition)})
    assert operation(stated) == {"partition": "stated", "type": "PARTITION"}


def test_profile_is_that_of_the_partition():
    facets = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE")}
    statistics = {"outputStatistics": facet(rowCount=7, size=1)}
    found = translate_events(event("COMPLETE", outputs=[dataset("/dt=1", facets=facets, outputFacets=statistics)]))
    profile = found.one(ORDERS, "datasetProfile")
    assert (profile["rowCount"], profile["partitionSpec"]["partition"]) == (7, "dt=1")


def test_partitions_of_all_events_of_a_run_are_listed_in_every_order():
    events = [
        event("START", inputs=[dataset("/dt=1")]),
        event("RUNNING", inputs=[dataset("/dt=2")], time="2026-11-20T01:00:10Z"),
        event("COMPLETE", inputs=[dataset("/dt=2")]),
    ]
    texts = set()
    for order in permutations(events):
        properties = translate_events(order).one(DPI, "dataProcessInstanceProperties")["customProperties"]
        texts.add(properties["openlineage.inputs.partitions"])
    assert texts == {json.dumps({ORDERS: ["dt=1", "dt=2"]}, separators=(",", ":"))}


def test_report_says_that_the_name_is_written():
    report = Bridge(Settings()).translate(lines(CASE), report=True).report
    outcomes = {line["path"]: line["outcome"] for line in report.lines()}
    assert outcomes["$.outputs[0].name"] == "mapped"
