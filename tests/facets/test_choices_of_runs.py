"""What settings change of runs, flows and domains: users, edges, domains, owners from meta."""

from __future__ import annotations

import pytest
from support.facet_cases import (
    DBT,
    DPI,
    END_MS,
    FLOW,
    JOB,
    ORDERS,
    START_MS,
    TOTALS,
    TWIN,
    dataset_event,
    event,
    facet,
    job_event,
    of_output,
    orders,
    pair,
    totals,
    translate_events,
)

from dh_bridge import Settings

EVENTS = "dataProcessInstanceRunEvent"


# -- who ran it --------------------------------------------------------------------------------------------------------

USERS = [
    ("ann@example.com", "keep", "ann@example.com"),
    ("ann@example.com", "strip", "ann"),
    ("ann", "strip", "ann"),
    ("ann", "@example.com", "ann@example.com"),
    ("ann@other.org", "@example.com", "ann@other.org"),
    ("@ann", "strip", "@ann"),
]


@pytest.mark.parametrize(("name", "choice", "user"), USERS)
def test_e_mail_domain_of_who_ran_it_is_a_choice(name, choice, user):
    stated = {"spark_applicationDetails": facet(userName=name)}
    found = translate_events(pair(run=stated, outputs=[totals()]), owners={"email_domain": choice})
    urn = f"urn:li:corpuser:{user}"
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == urn
    assert found.one(TOTALS, "operation")["actor"] == urn
    (edge,) = (v for k, v in found.patched(JOB, "dataJobInputOutput").items() if "output" in k)
    assert edge["created"]["actor"] == urn
    assert found.properties(DPI)["user"] == name


def test_without_a_user_no_domain_is_added():
    found = translate_events(pair(), owners={"email_domain": "@example.com"})
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == "urn:li:corpuser:datahub"


@pytest.mark.parametrize("choice", ["example.com", "@", "@a b", "@a@b", "", "drop"])
def test_domain_begins_with_its_sign(choice):
    with pytest.raises(ValueError, match="pattern"):
        Settings(owners={"email_domain": choice})


# -- edges of runs -----------------------------------------------------------------------------------------------------

READ = {"inputStatistics": facet(rowCount=7, size=70)}
WROTE = {"outputStatistics": facet(rowCount=5)}
IO = {"inputs": [orders(inputFacets=READ)], "outputs": [totals(outputFacets=WROTE)]}


def test_run_has_edges_with_statistics_by_choice():
    found = translate_events(
        pair(run={"spark_applicationDetails": facet(userName="ann")}, **IO),
        datahub_version="1.0",
        optional_metadata=["run_edges"],
    )
    ann = "urn:li:corpuser:ann"
    assert found.one(DPI, "dataProcessInstanceInput") == {
        "inputs": [ORDERS],
        "inputEdges": [
            {
                "destinationUrn": ORDERS, "created": {"time": START_MS, "actor": ann},
                "lastModified": {"time": END_MS, "actor": ann},
                "properties": {"openlineage.inputStatistics.rowCount": "7", "openlineage.inputStatistics.size": "70"},
            }
        ],
    }  # fmt: skip
    (edge,) = found.one(DPI, "dataProcessInstanceOutput")["outputEdges"]
    assert edge["properties"] == {"openlineage.outputStatistics.rowCount": "5"}


def test_edges_of_an_open_run_have_no_end_and_no_statistics():
    found = translate_events(event("START", **IO), datahub_version="1.0", optional_metadata=["run_edges"])
    (edge,) = found.one(DPI, "dataProcessInstanceInput")["inputEdges"]
    assert edge == {"destinationUrn": ORDERS, "created": {"time": START_MS, "actor": "urn:li:corpuser:datahub"}}


@pytest.mark.parametrize(("profile", "edges"), [("0.15.0", True), ("0.15.0.5", True), ("1.7", False)])
def test_runs_have_no_edges_below_1_0_or_by_default(profile, edges):
    found = translate_events(pair(**IO), datahub_version=profile, optional_metadata=["run_edges"] if edges else [])
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [TOTALS]}


def test_run_edges_have_the_statistics_of_every_job_of_the_run():
    events = [*pair(**IO), event("COMPLETE", name="daily.other", **IO)]
    found = translate_events(events, datahub_version="1.7", optional_metadata=["run_edges"])
    (edge,) = found.one(DPI, "dataProcessInstanceInput")["inputEdges"]
    assert edge["properties"]["openlineage.inputStatistics.rowCount"] == "7"


# -- domains -----------------------------------------------------------------------------------------------------------

SHOP, LAKE = "urn:li:domain:shop", "urn:li:domain:lake"


def domains(found, urn):
    return found.patched(urn, "domains") if found.has(urn, "domains") else None


def test_datasets_have_the_domain_of_the_first_rule_that_matches():
    rules = {SHOP: ["postgres://*/shop.public.o*"], LAKE: ["postgres://db:*/*"]}
    found = translate_events(pair(**IO), domains={"datasets": rules})
    assert domains(found, ORDERS) == {f"/domains/{SHOP}": SHOP}
    assert domains(found, TOTALS) == {f"/domains/{LAKE}": LAKE}
    assert domains(found, JOB) is None
    assert domains(translate_events(pair(**IO)), ORDERS) is None
    alone = translate_events(dataset_event(orders()), domains={"datasets": rules})
    assert domains(alone, ORDERS) == {f"/domains/{SHOP}": SHOP}


def test_dataset_that_is_not_written_has_no_domain():
    found = translate_events(pair(**IO), materialize="outputs", domains={"datasets": {SHOP: ["*"]}})
    assert domains(found, ORDERS) is None
    assert domains(found, TOTALS) == {f"/domains/{SHOP}": SHOP}


def test_flows_and_jobs_have_domains_by_their_names():
    rules = {"jobs": {SHOP: ["shop/daily"], LAKE: ["*.load"]}}
    found = translate_events(pair(**IO), domains=rules)
    assert domains(found, FLOW) == {f"/domains/{SHOP}": SHOP}
    assert domains(found, JOB) == {f"/domains/{LAKE}": LAKE}
    assert domains(found, ORDERS) is None
    designed = translate_events(job_event(**IO), domains=rules)
    assert domains(designed, JOB) == {f"/domains/{LAKE}": LAKE}
    twin = translate_events(pair(name="daily", **IO), domains=rules)
    assert domains(twin, TWIN) == domains(twin, FLOW) == {f"/domains/{SHOP}": SHOP}


def test_domain_excludes_datasets_of_its_last_matching_pattern():
    found = translate_events(pair(**IO), domains={"datasets": {SHOP: ["*", "!shop.public.o*"], LAKE: ["!x"]}})
    assert domains(found, ORDERS) == {f"/domains/{LAKE}": LAKE}
    assert domains(found, TOTALS) == {f"/domains/{SHOP}": SHOP}


@pytest.mark.parametrize("domain", ["shop", "urn:li:tag:x", ""])
def test_key_that_is_not_the_urn_of_a_domain_is_refused(domain):
    with pytest.raises(ValueError, match="domain"):
        Settings(domains={"datasets": {domain: ["*"]}})


# -- owners from dbt's meta --------------------------------------------------------------------------------------------

META = facet(
    tags=[
        {"key": "owner", "value": "ann@example.com", "source": "DBT_META"},
        {"key": "tier", "value": "1", "source": "DBT_META"},
        {"key": "owner", "value": "bob", "source": "USER"},
    ]
)
ANN = "/owners/urn:li:corpuser:ann@example.com/TECHNICAL_OWNER"


def test_meta_owner_of_a_model_is_a_dataset_owner_by_setting():
    found = of_output("tags", META, dbt={"model_metadata": ["owners"]}, report=True)
    assert list(found.patched(TOTALS, "ownership")) == [ANN]
    assert sorted(found.patched(TOTALS, "globalTags")) == ["/tags/urn:li:tag:owner:bob", "/tags/urn:li:tag:tier:1"]
    history_of = {leaf: found.outcomes()[f"$.outputs[0].facets.tags.tags[0].{leaf}"] for leaf in ("key", "value")}
    assert history_of == dict.fromkeys(history_of, ("mapped", "ownership.owners[].owner"))
    usual = of_output("tags", META)
    assert not usual.has(TOTALS, "ownership")
    assert "/tags/urn:li:tag:owner:ann@example.com" in usual.patched(TOTALS, "globalTags")


@pytest.mark.parametrize("model_metadata", [["owners"], ["owners", "tags"]])
def test_meta_owner_of_a_dbt_run_owns_the_outputs(model_metadata):
    events = pair(run={"tags": META}, inputs=[orders()], outputs=[totals()], producer=DBT)
    found = translate_events(events, dbt={"model_metadata": model_metadata})
    assert list(found.patched(TOTALS, "ownership")) == [ANN]
    assert not found.has(ORDERS, "ownership")
    assert "ann@example.com" in found.properties(DPI)["tags"]
    tags = ["/tags/urn:li:tag:tier:1"] if "tags" in model_metadata else []
    assert (list(found.patched(TOTALS, "globalTags")) if found.has(TOTALS, "globalTags") else []) == tags


@pytest.mark.parametrize("owner", ["***", "", None, "airflow"])
def test_placeholder_in_meta_is_no_owner(owner):
    stated = facet(tags=[{"key": "owner", "value": owner, "source": "DBT_META"}])
    assert not of_output("tags", stated, dbt={"model_metadata": ["owners"]}).has(TOTALS, "ownership")
