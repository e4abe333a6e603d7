"""A URN that one server version cannot read is rejected before anything is sent, and no other is."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.profiles import known_profiles
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.datahub.urns import data_flow_urn, data_job_urn


def job(namespace="prod", flow="orders", name="load"):
    return data_job_urn(data_flow_urn("openlineage", flow, namespace), name)


@pytest.mark.parametrize("text", ["a)b", "a(b", "a%29b", "a))((", "(", "))"])
@pytest.mark.parametrize("part", ["namespace", "flow"])
def test_unbalanced_parenthesis_is_unreadable_for_0_15_0_alone(part, text):
    urn = job(**{part: text})
    assert [version for version in known_profiles() if unreadable_urn(urn, version)] == ["0.15.0"]
    assert unreadable_urn(urn, None) is None


@pytest.mark.parametrize("text", ["a(b)c", "()", "a,b", "a b%", "plain"])
def test_other_signs_are_readable(text):
    assert unreadable_urn(job(text), "0.15.0") is None


def test_parenthesis_in_job_names_and_other_urns_is_readable():
    others = (
        job(name="a)b"), data_flow_urn("openlineage", "orders", "a)b"), "urn:li:dataJob:%29",
        "urn:li:dataset:(urn:li:dataPlatform:s3,a%29b,PROD)",
    )  # fmt: skip
    assert [unreadable_urn(urn, "0.15.0") for urn in others] == [None] * 4


def test_unreadable_urn_reason_has_location_and_remedy():
    assert unreadable_urn(job("a)b"), "0.15.0") == (
        "DataHub 0.15.0 cannot read an unbalanced parenthesis in the namespace or flow of a job "
        "(urn:li:dataFlow:(openlineage,orders,a)b)). Rename the namespace, or upgrade DataHub"
    )
