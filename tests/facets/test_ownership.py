"""ownership (job and dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import ownership_dataset, ownership_job
from support.facet_cases import FLOW, JOB, TOTALS, client_pair, facet, of_job, of_output, pair, spec, translate_events


def owners(*names):
    return facet(owners=[{"name": name} for name in names])


@pytest.mark.parametrize(
    ("name", "urn"),
    [
        ("ann", "urn:li:corpuser:ann"),
        ("user:ann", "urn:li:corpuser:ann"),
        ("corpuser:ann", "urn:li:corpuser:ann"),
        ("team:data", "urn:li:corpGroup:data"),
        ("Group:data", "urn:li:corpGroup:data"),
        ("corpGroup:data", "urn:li:corpGroup:data"),
        ("application:loader", "urn:li:corpuser:loader"),
        ("ann@example.com", "urn:li:corpuser:ann@example.com"),
        ("@data-team", "urn:li:corpuser:@data-team"),
        ("urn:li:corpuser:ann", "urn:li:corpuser:ann"),
        ("urn:li:corpGroup:data", "urn:li:corpGroup:data"),
        ("ABC\\ann", "urn:li:corpuser:ABC\\ann"),
    ],
)
def test_owner_name_is_converted_to_a_urn(name, urn):
    patched = of_job("ownership", owners(name)).patched(JOB, "ownership")
    assert patched == {
        f"/owners/{urn}/TECHNICAL_OWNER": {"owner": urn, "type": "TECHNICAL_OWNER", "source": {"type": "SERVICE"}}
    }


@pytest.mark.parametrize("name", [None, "", "  ", "***", "****", "airflow", "Airflow", "anonymous", "no-name", "user:"])
def test_placeholders_are_withheld(name):
    found = of_job("ownership", owners(name), report=True)
    assert not found.has(JOB, "ownership")
    if name:
        outcome = found.outcomes()["$.job.facets.ownership.owners[0].name"]
        assert outcome == ("dropped", "no-field:placeholder owner")


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (None, "TECHNICAL_OWNER"),
        ("", "TECHNICAL_OWNER"),
        ("owner", "TECHNICAL_OWNER"),
        ("MAINTAINER", "TECHNICAL_OWNER"),
        ("tech", "TECHNICAL_OWNER"),
        ("business", "BUSINESS_OWNER"),
        ("Steward", "DATA_STEWARD"),
        ("DATAOWNER", "DATAOWNER"),
        ("developer", "DEVELOPER"),
        ("boss", "TECHNICAL_OWNER"),
    ],
)
def test_type_of_an_owner(word, kind):
    found = of_job("ownership", facet(owners=[{"name": "ann", "type": word}]))
    assert list(found.patched(JOB, "ownership")) == [f"/owners/urn:li:corpuser:ann/{kind}"]
    assert found.properties(JOB).get("ownership.types") == ('{"ann":"boss"}' if word == "boss" else None)


def test_applications_are_noted():
    properties = of_job("ownership", owners("application:loader", "service:api", "ann")).properties(JOB)
    assert properties["ownership.applications"] == '["application:loader","service:api"]'


def test_owners_of_a_flow_level_job_are_the_flow_s():
    found = translate_events(pair(job={"ownership": owners("ann")}, name="daily"))
    assert found.has(FLOW, "ownership")


def test_owners_of_a_dataset_are_the_dataset_s():
    found = of_output("ownership", owners("team:data", "ann"))
    assert sorted(found.patched(TOTALS, "ownership")) == [
        "/owners/urn:li:corpGroup:data/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:ann/TECHNICAL_OWNER",
    ]


def test_domain_is_cut_by_setting_and_placeholders_are_a_setting():
    found = translate_events(
        pair(job={"ownership": owners("ann@example.com", "@team", "bot", "airflow")}),
        owners={"email_domain": "strip", "skip": ["bot"]},
    )
    assert sorted(found.patched(JOB, "ownership")) == [
        "/owners/urn:li:corpuser:@team/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:airflow/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:ann/TECHNICAL_OWNER",
    ]


def test_domain_is_added_to_users_that_have_none():
    found = translate_events(
        pair(job={"ownership": owners("ann", "bob@other.org", "team:data", "service:etl")}),
        owners={"email_domain": "@example.com"},
    )
    assert sorted(found.patched(JOB, "ownership")) == [
        "/owners/urn:li:corpGroup:data/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:ann@example.com/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:bob@other.org/TECHNICAL_OWNER",
        "/owners/urn:li:corpuser:etl/TECHNICAL_OWNER",
    ]


@pytest.mark.parametrize(
    "body", [facet(owners=[]), facet(owners=None), facet(), facet(owners=[None]), facet(owners={})]
)
def test_empty_list_erases_nobody_s_owners(body):
    assert not of_job("ownership", body).has(JOB, "ownership")


def test_deleted_ownership_is_dropped_without_state():
    found = of_job("ownership", {**owners("ann"), "_deleted": True}, report=True)
    assert not found.has(JOB, "ownership")
    assert found.outcomes()["$.job.facets.ownership._deleted"] == ("dropped", "policy:state=none")


def test_airflow_s_split_owners_are_two():
    assert len(of_job("ownership", owners("alice", "data-team")).patched(JOB, "ownership")) == 2


def test_specification_s_documents_are_read():
    urn = "/owners/urn:li:corpuser:owner/TECHNICAL_OWNER"
    assert urn in of_job("ownership", spec("OwnershipJobFacet")["ownership"]).patched(JOB, "ownership")
    assert urn in of_output("ownership", spec("OwnershipDatasetFacet")["ownership"]).patched(TOTALS, "ownership")


def test_client_s_classes_are_read():
    found = translate_events(
        client_pair(
            job={"ownership": ownership_job.OwnershipJobFacet([ownership_job.Owner("ann", "steward")])},
            outputs={"ownership": ownership_dataset.OwnershipDatasetFacet([ownership_dataset.Owner("team:x")])},
        )
    )
    assert list(found.patched(JOB, "ownership")) == ["/owners/urn:li:corpuser:ann/DATA_STEWARD"]
    assert list(found.patched(TOTALS, "ownership")) == ["/owners/urn:li:corpGroup:x/TECHNICAL_OWNER"]
