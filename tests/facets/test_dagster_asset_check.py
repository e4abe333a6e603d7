"""dagster_asset_check (run)."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import DPI, event, facet, orders, translate_events

DAGSTER = "https://github.com/OpenLineage/OpenLineage/tree/0.2.1/integration/dagster"
ASSET = "shop/raw/orders__checks"


def evaluation(second, *, name=ASSET, **check):
    """One event of a check, as dagster-openlineage sends it: under the run id of Dagster's run."""
    body = facet(checks=[check])
    time = f"2026-11-20T01:00:{second:02}Z"
    return event("COMPLETE", time=time, name=name, producer=DAGSTER, run={"dagster_asset_check": body})


def test_asset_checks_of_a_run_are_all_kept_across_events():
    found = translate_events(
        [
            event("START", name=ASSET, producer=DAGSTER),
            evaluation(1, assertion="amount_is_positive", severity="WARN", passed=False, check_metadata={"rows": "1"}),
            evaluation(2, assertion="orders_are_there", severity="ERROR", passed=True, check_metadata={}),
            evaluation(
                3, name="shop/mart/totals__checks", assertion="orders_are_there", severity="ERROR", passed=False
            ),
        ]
    ).properties(DPI)
    stated = {key: json.loads(text) for key, text in found.items() if key.startswith("dagster_asset_check.")}
    assert stated == {
        f"dagster_asset_check.{ASSET}.amount_is_positive": {
            "check_metadata": {"rows": "1"},
            "passed": False,
            "severity": "WARN",
        },
        f"dagster_asset_check.{ASSET}.orders_are_there": {"passed": True, "severity": "ERROR"},
        "dagster_asset_check.shop/mart/totals__checks.orders_are_there": {"passed": False, "severity": "ERROR"},
    }


def test_later_of_two_evaluations_of_a_check_counts():
    late, early = [evaluation(second, assertion="fresh", passed=second == 2) for second in (2, 1)]
    found = translate_events([late, event("START", name=ASSET, producer=DAGSTER), early]).properties(DPI)
    assert json.loads(found[f"dagster_asset_check.{ASSET}.fresh"]) == {"passed": True}


def checked(word, severity=None, **settings):
    """What becomes of an event of a check: Dagster states its result for the dataset, its severity for the run."""
    assertions = [{"assertion": "positive", "success": False, "params": {}, "severity": severity}]
    inputs = [orders(inputFacets={"dataQualityAssertions": facet(assertions=assertions)})]
    checks = [
        "x",
        {"assertion": "other", "severity": "ERROR"},
        {"assertion": "positive", "severity": word, "passed": False},
    ]
    run = {"dagster_asset_check": facet(checks=checks)}
    one = event("COMPLETE", name=ASSET, producer=DAGSTER, run=run, inputs=inputs)
    return translate_events(
        [event("START", name=ASSET, producer=DAGSTER), one], datahub_version="1.7", report=True, **settings
    )


def aspect(found, name):
    (one,) = [one.value for one in found.proposals if one.aspect_name == name]
    return one


@pytest.mark.parametrize(("word", "severity"), [("WARN", "LOW"), ("ERROR", "HIGH"), ("odd", None)])
def test_asset_check_severity_is_part_of_its_result(word, severity):
    found = checked(word)
    result = aspect(found, "assertionRunEvent")["result"]
    assert (result["type"], result.get("severity")) == ("FAILURE", severity)
    assert result["nativeResults"] == {"severity": word}
    assert aspect(found, "assertionInfo")["customProperties"]["openlineage.severity"] == word
    assert found.outcomes()["$.run.facets.dagster_asset_check.checks[2].severity"] == ("mapped", "assertionInfo")


def test_asset_check_warning_is_a_success_by_setting():
    found = checked("WARN", assertions={"warn_as": "success"})
    assert aspect(found, "assertionRunEvent")["result"]["type"] == "SUCCESS"


def test_severity_of_the_assertion_wins_over_the_asset_check():
    assert aspect(checked("WARN", "error"), "assertionRunEvent")["result"]["severity"] == "HIGH"


def test_malformed_asset_check_is_reported_and_others_are_kept():
    odd = event(
        "COMPLETE", name=ASSET, run={"dagster_asset_check": facet(checks=["x", {"assertion": "a", "passed": True}])}
    )
    found = translate_events([event("START", name=ASSET), odd], report=True)
    assert json.loads(found.properties(DPI)[f"dagster_asset_check.{ASSET}.a"]) == {"passed": True}
    assert found.outcomes()["$.run.facets.dagster_asset_check.checks[0]"] == ("dropped", "malformed")
