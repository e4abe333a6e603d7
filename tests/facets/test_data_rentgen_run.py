"""dataRentgen_run (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, pair, translate_events

BODY = {
    "external_id": "app_123",
    "attempt": "2",
    "running_log_url": "http://driver:4040",
    "persistent_log_url": "https://history/app_123",
    "start_reason": "MANUAL",
    "started_by_user": "ann",
}
OWN = DPI.rpartition(":")[2]


def run(other=None, **body):
    return translate_events(pair(run={"dataRentgen_run": facet(**{**BODY, **body}), **(other or {})}), report=True)


def properties(found):
    return found.one(DPI, "dataProcessInstanceProperties")


def test_everything_is_kept():
    run_properties = run().properties(DPI)
    assert {leaf: run_properties[f"dataRentgen_run.{leaf}"] for leaf in BODY} == BODY


def test_name_type_and_user_of_the_run():
    found = properties(run())
    assert (found["name"], found["type"]) == ("app_123", "BATCH_AD_HOC")
    assert found["created"]["actor"] == "urn:li:corpuser:ann"
    assert properties(run(start_reason="AUTOMATIC"))["type"] == "BATCH_SCHEDULED"


def test_its_name_wins_over_every_other_and_its_user_over_none():
    found = run({"flink_job": facet(jobId="f"), "hive_session": facet(username="bob")})
    assert properties(found)["name"] == "app_123"
    assert properties(found)["created"]["actor"] == "urn:li:corpuser:bob"


def test_start_reason_wins_over_nominal_time():
    assert properties(run({"nominalTime": facet(nominalStartTime="2026-11-20T00:00:00Z")}))["type"] == "BATCH_AD_HOC"


def test_while_running_the_running_log_and_then_the_lasting_one():
    found = run()
    start, end = found.all(DPI, "dataProcessInstanceRunEvent")
    assert (start["externalUrl"], end["externalUrl"]) == (BODY["running_log_url"], BODY["persistent_log_url"])
    assert properties(found)["externalUrl"] == BODY["persistent_log_url"]


def test_log_url_is_used_for_both_if_only_one_is_sent():
    for leaf in ("running_log_url", "persistent_log_url"):
        other = {"running_log_url", "persistent_log_url"} - {leaf}
        found = run(**dict.fromkeys(other))
        assert properties(found)["externalUrl"] == BODY[leaf]
        urls = {point["externalUrl"] for point in found.all(DPI, "dataProcessInstanceRunEvent")}
        assert urls == {BODY[leaf]}


@pytest.mark.parametrize("url", ["file:///log", "https://", "", 7, None, "javascript:alert(1)"])
def test_log_url_that_is_no_web_page_is_only_a_property(url):
    assert "externalUrl" not in properties(run(running_log_url=url, persistent_log_url=None))


def test_page_shows_no_password():
    found = properties(run(persistent_log_url="https://ann:pw@history/x?token=abc&y=1"))
    assert found["externalUrl"] == "https://ann:***@history/x?token=***&y=1"


@pytest.mark.parametrize(
    ("attempt", "number"),
    [("2", 2), (3, 3), ("4-retry", 4), ("x", 1), ("", 1), ("0", 1), (None, 1), (True, 1), ("99999999999", 1), (-1, 1)],
)
def test_number_that_the_attempt_begins_with(attempt, number):
    assert {point["attempt"] for point in run(attempt=attempt).all(DPI, "dataProcessInstanceRunEvent")} == {number}


def test_its_attempt_wins_over_airflow_s():
    found = run({"airflow": facet(taskInstance={"try_number": 7})})
    assert {point["attempt"] for point in found.all(DPI, "dataProcessInstanceRunEvent")} == {2}


@pytest.mark.parametrize("value", [None, "", "  ", [7], []])
def test_empty_values_change_nothing(value):
    found = properties(run(external_id=value, start_reason=value, started_by_user=value))
    assert found["name"] == OWN
    assert "type" not in found
    assert found["created"]["actor"] == "urn:li:corpuser:datahub"
