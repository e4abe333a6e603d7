"""Whatever a sender writes: the URNs parse, fit, and differ between jobs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dh_bridge.datahub.urns import is_urn, parse_urn
from dh_bridge.identity import Identity
from dh_bridge.identity.normalize import MAX_FLOW_BYTES, MAX_JOB_BYTES, url_length
from dh_bridge.settings.identity import IdentitySettings

ODD = st.one_of(
    st.text(),
    st.text(alphabet=".,() %\u241f\n\ud800é漢🕷aA{}'\"\\", max_size=600),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=8), st.integers(1, 200)),
)
PRODUCERS = st.sampled_from(
    [
        None,
        "",
        "https://github.com/apache/airflow",
        "https://github.com/OpenLineage/OpenLineage/tree/1/integration/dbt",
        "https://github.com/apache/flink",
        "https://github.com/debezium/debezium",
        "https://github.com/trinodb/trino",
    ]
)
PLAIN = Identity()
RULED = Identity(
    IdentitySettings(
        cluster="ü" * 300,
        rules=[
            {"name": r"(?P<a>[^.]*)\.(?P<b>.*)", "flow": "({a},{namespace})", "job": "{b}", "instance": "é" * 50},
            {"instance": "i" * 100, "platform": "q" * 50},
        ],
    )
)


def urns_hold(identity, namespace, name, producer):
    job = identity.job(namespace, name, producer)
    assert is_urn(job.flow_urn), job.flow_urn
    assert is_urn(job.job_urn), job.job_urn
    assert url_length(job.flow_urn) <= MAX_FLOW_BYTES
    assert url_length(job.job_urn) <= MAX_JOB_BYTES
    assert len(parse_urn(job.flow_urn)[1]) == 3
    assert parse_urn(job.job_urn)[1][0] == job.flow_urn
    assert job.flow_name.strip()
    assert job.job_name.strip()
    instance = identity.platform_instance(job)
    assert instance is None or is_urn(instance)


@given(ODD, ODD, st.one_of(PRODUCERS, ODD))
@settings(max_examples=300, deadline=None)
def test_job_urns_are_valid_for_any_names(namespace, name, producer):
    urns_hold(PLAIN, namespace, name, producer)


@given(ODD, ODD, PRODUCERS)
@settings(max_examples=200, deadline=None)
def test_so_it_has_under_the_longest_rules(namespace, name, producer):
    urns_hold(RULED, namespace, name, producer)


@given(ODD, ODD, PRODUCERS)
@settings(max_examples=100, deadline=None)
def test_identity_does_not_depend_on_what_was_asked_before(namespace, name, producer):
    assert PLAIN.job(namespace, name, producer) == Identity().job(namespace, name, producer)


@pytest.mark.parametrize("name", ["x" * 2_000_000, "x." * 500_000, "漢" * 500_000, "," * 500_000])
def test_megabyte_of_name_is_a_job_like_any_other(name):
    urns_hold(Identity(), name, name, None)


def test_megabyte_of_producer_is_nobody_we_know():
    uri = "https://github.com/OpenLineage/OpenLineage/tree" + "/1/integration/common/" * 50_000
    assert Identity().job("ns", "a", uri).platform == "openlineage"


@pytest.mark.parametrize(("one", "other"), [("a" * 999 + "b", "a" * 999 + "c"), ("f." + "é" * 999, "f." + "é" * 998)])
def test_long_names_stay_apart(one, other):
    first, second = PLAIN.job("ns", one, None), PLAIN.job("ns", other, None)
    assert first.job_urn != second.job_urn
    assert PLAIN.job(one, "a", None).flow_urn != PLAIN.job(other, "a", None).flow_urn


def test_truncated_flow_id_is_shared_by_its_jobs():
    flow = PLAIN.job("ns", "f" * 400, None)
    task = PLAIN.job("ns", "f" * 400 + ".task", None)
    assert flow.flow_urn == task.flow_urn
    assert flow.level == "flow"
    assert task.level == "job"
    assert flow.job_urn != task.job_urn
