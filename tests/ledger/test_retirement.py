"""Checks retire when their job goes on without them, and come back when it makes them again."""

from __future__ import annotations

import itertools

import pytest
from pydantic import ValidationError
from support.ledger_batches import LedgerCase, settings
from support.sample_events import dataset, event

from dh_bridge.settings import AssertionSettings


def chosen(rule):
    return settings(assertions=settings().assertions.model_copy(update={"expire": rule}))


def run(day, *columns, job="app.check", kind="COMPLETE"):
    checks = [{"assertion": "not_null", "success": True, "column": column} for column in columns]
    facets = {"dataQualityAssertions": {"assertions": checks}} if checks else {}
    one = dataset("d.s.t", inputFacets=facets)
    number = day if job == "app.check" else day + 500
    return event(
        kind, f"2026-10-{day:02}T10:00:00Z", run=f"018cc251-f400-734d-88b3-{number:012}", job=job, inputs=[one]
    )


def removed(ledger_case):
    """Return the columns of the checks that are removed, and those of the checks that are not."""
    found = {True: "", False: ""}
    for urn in ledger_case.catalog.entities("assertion"):
        (field,) = ledger_case.catalog.aspect(urn, "assertionInfo")["datasetAssertion"]["fields"]
        gone = (ledger_case.catalog.aspect(urn, "status") or {}).get("removed", False)
        found[gone] += field[-2]
    return "".join(sorted(found[True])), "".join(sorted(found[False]))


def after(rule, *events):
    ledger_case = LedgerCase(chosen(rule), forgetful=True)
    ledger_case.process(*([one] for one in events))
    assert ledger_case.refused == []
    return ledger_case


def test_check_retires_after_so_many_runs_without_it():
    history = [run(1, "a", "b"), run(2, "b"), run(3, "b"), run(4, "b")]
    assert removed(after("runs:3", *history[:3])) == ("", "ab")
    assert removed(after("runs:3", *history)) == ("a", "b")
    assert removed(after("off", *history)) == ("", "ab")


def test_check_retires_after_so_many_days_of_runs_without_it():
    assert removed(after("age:7d", run(1, "a", "b"), run(8, "b"))) == ("", "ab")
    assert removed(after("age:7d", run(1, "a", "b"), run(9, "b"))) == ("a", "b")


def test_retired_check_comes_back_when_it_is_made_again():
    assert removed(after("runs:1", run(1, "a"), run(2), run(3, "a"))) == ("", "a")


def test_runs_that_have_not_ended_do_not_count():
    assert removed(after("runs:1", run(1, "a"), run(2, kind="START"))) == ("", "a")
    assert removed(after("runs:1", run(1, "a"), run(2, kind="FAIL"))) == ("a", "")


def test_check_that_another_job_makes_stays():
    other = run(1, "a", job="app.other")
    assert removed(after("runs:1", run(1, "a"), other, run(2), run(3))) == ("", "a")
    assert removed(after("runs:1", run(1, "a"), other, run(2), run(4, job="app.other"))) == ("a", "")


def test_nothing_is_sent_twice_for_a_retired_check():
    ledger_case = after("runs:1", run(1, "a"), run(2))
    sent = ledger_case.process([run(3)])
    assert [one for one in sent if one.entity_type == "assertion"] == []


def moved(day):
    """Return a later event of the run of a day, which states that it was another job's."""
    return {**run(day, job="app.other"), "run": run(day)["run"], "eventTime": f"2026-10-{day:02}T11:00:00Z"}


@pytest.mark.parametrize("rule", ["runs:1", "age:1d"])
def test_retired_assertion_returns_when_the_run_left_its_job(rule):
    history = [run(1, "a"), run(3), moved(3)]
    assert removed(after(rule, *history[:2])) == ("a", "")
    assert removed(after(rule, *history)) == ("", "a")
    assert len({tuple(after(rule, *order).dump()) for order in itertools.permutations(history)}) == 1


@pytest.mark.parametrize("rule", ["runs:2", "age:1d"])
def test_order_of_runs_does_not_matter(rule):
    history = [run(1, "a", "b"), run(2, "b"), run(4, "b", "c"), run(5, "c")]
    dumps = {tuple(after(rule, *order).dump()) for order in itertools.permutations(history)}
    assert len(dumps) == 1
    assert removed(after(rule, *history))[0].startswith("a")


def within(day, most, *, name=None):
    """Return a run that checks that a column has at most so many nulls."""
    ledger_case = run(day, "a")
    check = {"assertion": "max_nulls", "success": True, "column": "a", "params": {"most": str(most)}}
    if name:
        check["name"] = name
    ledger_case["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"] = [check]
    return ledger_case


def replaced(ledger_case):
    """Return by the bound of each check the bound of the one that it replaces."""
    infos = {urn: ledger_case.catalog.aspect(urn, "assertionInfo") for urn in ledger_case.catalog.entities("assertion")}
    bounds = {urn: info["datasetAssertion"]["nativeParameters"]["most"] for urn, info in infos.items()}
    stated = {urn: info["customProperties"].get("openlineage.replaces") for urn, info in infos.items()}
    return {bounds[urn]: bounds[old] for urn, old in stated.items() if old}


def test_assertion_with_new_threshold_names_the_replaced_one():
    assert replaced(after("runs:2", within(1, 5), within(2, 7))) == {}
    assert replaced(after("runs:2", within(1, 5), within(2, 7), within(3, 7))) == {"7": "5"}
    assert replaced(after("runs:1", within(1, 5), within(2, 7), within(3, 9)))["9"] == "7"
    gone_on = [within(1, 5), run(2), within(3, 7)]
    assert replaced(after("runs:2", *gone_on)) == {"7": "5"}
    assert replaced(after("runs:2", *gone_on, moved(2))) == {}
    named = [within(day, most, name=f"at_most_{most}") for day, most in ((1, 5), (2, 7), (3, 7))]
    assert replaced(after("runs:2", *named)) == {}
    history = [within(1, 5), within(2, 7), within(3, 7), within(4, 7)]
    assert len({tuple(after("runs:2", *order).dump()) for order in itertools.permutations(history)}) == 1


@pytest.mark.parametrize("rule", ["runs:0", "runs:100", "age:30", "never"])
def test_rule_that_cannot_be_kept_is_refused(rule):
    with pytest.raises(ValidationError):
        AssertionSettings(expire=rule)
