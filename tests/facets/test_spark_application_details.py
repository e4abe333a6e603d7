"""spark_applicationDetails (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DATAHUB, DPI, event, facet, of_run, pair, totals, translate_events

BODY = facet(
    applicationId="app-1", userName="ann", uiWebUrl="http://driver:4040", master="yarn", appName="orders",
    proxyUrl="http://proxy/app-1,http://proxy2/app-1", historyUrl="http://history/app-1", deployMode="cluster",
)  # fmt: skip


def without(*leaves):
    return {key: value for key, value in BODY.items() if key not in leaves}


def application(body, job_type="APPLICATION", name="orders"):
    return translate_events(
        pair(run={"spark_applicationDetails": body}, job={"jobType": facet(jobType=job_type)}, name=name)
    )


def test_application_names_its_own_run_only():
    assert application(BODY).one(DPI, "dataProcessInstanceProperties")["name"] == "app-1"
    query = application(BODY, "SQL_JOB", "orders.select")
    assert query.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]
    untyped = translate_events(pair(run={"spark_applicationDetails": BODY}, name="orders"))
    assert untyped.one(DPI, "dataProcessInstanceProperties")["name"] == "app-1"


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (BODY, "http://history/app-1"),
        (without("historyUrl"), "http://proxy/app-1"),
        (without("historyUrl", "proxyUrl"), "http://driver:4040"),
        (without("historyUrl", "proxyUrl", "uiWebUrl"), None),
        ({**without("proxyUrl"), "historyUrl": "n/a"}, "http://driver:4040"),
    ],
)
def test_page_of_the_run(body, url):
    found = application(body)
    assert found.one(DPI, "dataProcessInstanceProperties").get("externalUrl") == url
    for point in found.all(DPI, "dataProcessInstanceRunEvent"):
        assert point.get("externalUrl") == url


def test_history_page_replaces_the_driver_s_whenever_it_comes():
    events = [
        event("START", run={"spark_applicationDetails": without("historyUrl", "proxyUrl")}),
        event(run={"spark_applicationDetails": facet(historyUrl="http://history/app-1")}),
    ]
    for order in (events, events[::-1]):
        assert (
            translate_events(order).one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "http://history/app-1"
        )


def test_user_runs_it_writes_and_draws_the_edges():
    found = translate_events(pair(run={"spark_applicationDetails": BODY}, outputs=[totals()]))
    ann = "urn:li:corpuser:ann"
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == ann
    (operation,) = [one.value for one in found.proposals if one.aspect_name == "operation"]
    assert operation["actor"] == ann
    (io,) = [one.value for one in found.proposals if one.aspect_name == "dataJobInputOutput"]
    assert {one["value"]["created"]["actor"] for one in io} == {ann}
    assert {one["value"]["lastModified"]["actor"] for one in io} == {ann}


def test_every_leaf_is_kept():
    run_properties = of_run("spark_applicationDetails", BODY).properties(DPI)
    assert run_properties["spark_applicationDetails.master"] == "yarn"
    assert run_properties["spark_applicationDetails.deployMode"] == "cluster"
    assert run_properties["spark_applicationDetails.userName"] == "ann"


@pytest.mark.parametrize("body", [facet(), facet(applicationId=[7], userName=None), facet(userName="")])
def test_empty_facet_has_no_effect(body):
    properties = application(body).one(DPI, "dataProcessInstanceProperties")
    assert (properties["name"], properties["created"]["actor"]) == (DPI.rpartition(":")[2], DATAHUB)
