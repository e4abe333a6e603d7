"""URNs are written as acryl-datahub writes them and checked as DataHub's server checks them."""

from __future__ import annotations

import warnings

import pytest

from dh_bridge.datahub import urns
from dh_bridge.errors import AspectError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from datahub.metadata import urns as sdk

DATASET = "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/a%2Cb,PROD)"
FLOW = "urn:li:dataFlow:(airflow,orders,prod)"

NAMES = ["plain", "a.b.c", "with space", "50%", "a,b", "sum(word_count)", "Größe/日本", "a:b~c", "x\u241fy", "(", "a)b"]


@pytest.mark.parametrize("name", NAMES)
def test_builders_agree_with_the_sdk(name):
    assert urns.platform_urn("x") == str(sdk.DataPlatformUrn("x"))
    assert urns.dataset_urn("hive", name, "PROD") == str(sdk.DatasetUrn("hive", name, "PROD"))
    assert urns.data_flow_urn("airflow", name, "prod") == str(sdk.DataFlowUrn("airflow", name, "prod"))
    assert urns.data_job_urn(FLOW, name) == str(sdk.DataJobUrn(FLOW, name))
    assert urns.schema_field_urn(DATASET, name) == str(sdk.SchemaFieldUrn(DATASET, name))
    assert urns.run_urn(name) == str(sdk.DataProcessInstanceUrn(name))
    assert urns.assertion_urn(name) == str(sdk.AssertionUrn(name))
    assert urns.query_urn(name) == str(sdk.QueryUrn(name))
    assert urns.tag_urn(name) == str(sdk.TagUrn(name))
    assert urns.corpuser_urn(name) == str(sdk.CorpUserUrn(name))
    assert urns.corp_group_urn(name) == str(sdk.CorpGroupUrn(name))
    assert urns.container_urn(name) == str(sdk.ContainerUrn(name))
    instance = urns.platform_instance_urn("hive", name)
    assert instance == str(sdk.DataPlatformInstanceUrn(urns.platform_urn("hive"), name))


@pytest.mark.parametrize("name", NAMES)
def test_urn_builders_write_urns_of_their_type(name):
    built = {
        "dataset": urns.dataset_urn("hive", name, "PROD", "west"),
        "dataFlow": urns.data_flow_urn("airflow", name, "prod"),
        "dataJob": urns.data_job_urn(FLOW, name),
        "schemaField": urns.schema_field_urn(DATASET, name),
        "tag": urns.tag_urn(name),
    }
    assert {kind: urns.entity_type(urn) for kind, urn in built.items()} == {kind: kind for kind in built}
    assert all(urns.is_urn(urn) for urn in built.values())


def test_platform_instance_prefixes_the_dataset_name():
    assert (
        urns.dataset_urn("hive", "db.t", "PROD", "west") == "urn:li:dataset:(urn:li:dataPlatform:hive,west.db.t,PROD)"
    )
    assert urns.dataset_urn("urn:li:dataPlatform:hive", "t", "DEV") == "urn:li:dataset:(urn:li:dataPlatform:hive,t,DEV)"


@pytest.mark.parametrize(
    ("urn", "parts"),
    [
        ("urn:li:tag:a,b", ("tag", ("a,b",))),
        (FLOW, ("dataFlow", ("airflow", "orders", "prod"))),
        (f"urn:li:dataJob:({FLOW},load)", ("dataJob", (FLOW, "load"))),
        (DATASET, ("dataset", ("urn:li:dataPlatform:s3", "bucket/a%2Cb", "PROD"))),
        (f"urn:li:schemaField:({DATASET},a.b)", ("schemaField", (DATASET, "a.b"))),
        (
            "urn:li:mlFeature:(urn:li:dataJob:(urn:li:dataFlow:(a,b,c),d),urn:li:dataFlow:(a,b,c))",
            ("mlFeature", ("urn:li:dataJob:(urn:li:dataFlow:(a,b,c),d)", "urn:li:dataFlow:(a,b,c)")),
        ),
        (
            "urn:li:some:(x,urn:li:dataFlow:(a,b,c),y)",
            ("some", ("x", "urn:li:dataFlow:(a,b,c)", "y")),
        ),
    ],
)
def test_urn_parses_into_its_type_and_raw_parts(urn, parts):
    assert urns.parse_urn(urn) == parts
    assert urns.type_if_urn(urn) == parts[0]


MALFORMED = [
    "",
    "urn",
    "urn:li:",
    "urn:li:tag",
    "urn:li:tag:",
    "urn:li::x",
    "urn:lx:tag:a",
    "urn:li:ta-g:a",
    "urn:li:täg:a",
    " urn:li:tag:a",
    "urn:li:tag:a ",
    "urn:li:tag:a\n",
    "urn:li:tag:a\u3000",
    "urn:li:tag:a\x00",
    "urn:li:tag:a\u241fb",
    "urn:li:tag:a\ud800",
    "urn:li:tag:f(x)",
    "urn:li:tag:(a,b)",
    "urn:li:other:(a)",
    "urn:li:other:()",
    "urn:li:other:(a,)",
    "urn:li:other:(a,b",
    "urn:li:other:(a,b))",
    "urn:li:other:(a,b)c",
    "urn:li:other:((a,b),c)",
    "urn:li:other:(f(x),c,d)",
    "urn:li:dataset:(urn:li:dataPlatform:hive,a)",
    "urn:li:dataset:(hive,a,PROD)",
    "urn:li:dataset:(urn:li:dataPlatform:hive,a(b),PROD)",
    "urn:li:dataset:(urn:li:dataPlatform:hive,a,b,PROD)",
    "urn:li:dataJob:(urn:li:tag:x,load)",
    "urn:li:dataJob:(urn:li:dataFlow:(a,b),load)",
    "urn:li:schemaField:(table,a)",
    "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD),f(x))",
    "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD),)",
    "urn:li:dataPlatformInstance:(hive,west)",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_urn_is_none(text):
    assert not urns.is_urn(text)
    assert urns.type_if_urn(text) == ""
    with pytest.raises(AspectError, match="is not a URN"):
        urns.parse_urn(text)
    with pytest.raises(AspectError, match="is not a URN"):
        urns.entity_type(text)


@pytest.mark.parametrize(
    ("filler", "bytes_each"),
    [("x", 1), (".", 1), (" ", 1), ("/", 3), ("~", 3), ("é", 6), ("日", 9)],
)
def test_512_bytes_of_java_url_encoding_are_the_limit(filler, bytes_each):
    head = "urn:li:tag:"
    room = urns.MAX_BYTES - (len(head) + 2 * 3) - 1
    longest = head + filler * (room // bytes_each) + "x" * (room % bytes_each) + "x"
    assert urns.is_urn(longest)
    assert not urns.is_urn(longest + "x")


def test_over_long_urn_is_shortened_in_the_error():
    with pytest.raises(AspectError) as caught:
        urns.parse_urn("urn:li:tag:" + "x" * 5000)
    assert len(str(caught.value)) < 700


def test_cache_size_is_bounded():
    for at in range(urns._MAX_CACHED_URNS + 10):
        urns.is_urn(f"urn:li:tag:{at}")
    assert len(urns._types) <= urns._MAX_CACHED_URNS
    assert urns.is_urn("urn:li:tag:0")


def test_overlong_urns_are_not_cached():
    long = [f"urn:li:tag:{at}".ljust(10_000, filler) for at, filler in enumerate("x.é日/")]
    assert not any(map(urns.is_urn, long))
    assert not urns._types.keys() & set(long)
