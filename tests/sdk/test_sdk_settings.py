"""The settings of assertions and of redaction apply to what Python reports as they do to events."""

from __future__ import annotations

import json

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.sdk import Custom, Field, Sql, Volume

PAIR = ("postgres://db:5432", "shop.public.orders")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
RESULT = "assertionRunEvent"
SECRET = "hunter2hunter2"  # noqa: S105 - what the tests look for
URL = f"postgres://ann:{SECRET}@db/x"


def max_of(one, most, **stated):
    return one.pipeline.assertion(
        PAIR, "expect_column_max_to_be_between", column="id", max=most, platform="great-expectations", **stated
    )


def from_events(most, **settings):
    """Return (URN, assertionInfo) of the same check, reported by OpenLineage."""
    check = {
        "assertion": "expect_column_max_to_be_between", "column": "id", "success": True, "params": {"max_value": most},
    }  # fmt: skip
    stated = {
        "eventTime": "2026-11-20T01:00:00Z", "eventType": "COMPLETE", "run": {"runId": "018cc251-f400-734d-88b3-1e3d63fe6210"},
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/common/src/openlineage/common/provider/great_expectations",
        "job": {"namespace": "ns", "name": "check"},
        "inputs": [{"namespace": PAIR[0], "name": PAIR[1], "inputFacets": {"dataQualityAssertions": {"assertions": [check]}}}],
    }  # fmt: skip
    found = Bridge(Settings(**settings)).translate([stated])
    ((urn, info),) = ((one.entity_urn, one.value) for one in found.proposals if one.aspect_name == "assertionInfo")
    return urn, info


# -- assertions.identity -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("identity", "same"), [("full", False), ("name_only", True)])
def test_changed_threshold_is_a_new_assertion_by_default(record_pipeline, identity, same):
    one = record_pipeline(assertions={"identity": identity})
    below_5, below_6 = max_of(one, 5).urn, max_of(one, 6).urn
    assert (below_5 == below_6) is same
    assert below_5 == from_events(5, assertions={"identity": identity})[0]


@pytest.mark.parametrize(("identity", "same"), [("full", False), ("name_only", True)])
def test_definition_s_threshold_is_a_part_of_it_or_not(record_pipeline, identity, same):
    one = record_pipeline(assertions={"identity": identity})
    few, many = (one.pipeline.assertion(PAIR, Volume(min=least)).urn for least in (1, 2))
    assert (few == many) is same
    on_id, on_name = (
        one.pipeline.assertion(PAIR, Field(column=column, native_type="bigint", min=1)).urn for column in ("id", "name")
    )
    assert on_id != on_name, "a check of another column is another check"
    first, second = (one.pipeline.assertion(PAIR, Volume(min=1), name=name).urn for name in ("first", "second"))
    assert first != second
    grown = one.pipeline.assertion(PAIR, Volume(min=1, change="absolute")).urn
    assert grown not in (few, many), "nor is one of how many rows there are one of how many were added"


# -- assertions.type ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "written"), [("auto", "CUSTOM"), ("dataset", "DATASET")])
def test_type_of_a_check_is_a_setting_and_no_part_of_its_urn(record_pipeline, kind, written):
    one = record_pipeline(datahub_version="1.7", assertions={"type": kind})
    check = max_of(one, 5)
    assert one.last(check.urn, "assertionInfo")["type"] == written
    assert check.urn == max_of(record_pipeline(), 5).urn
    assert check.info["type"] == from_events(5, datahub_version="1.7", assertions={"type": kind})[1]["type"]
    one.assert_sound()


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_native_type_is_used_if_all_its_fields_are_known(record_pipeline, profile):
    one = record_pipeline(datahub_version=profile, assertions={"type": "native"})
    rows = one.pipeline.assertion(PAIR, "row_count", min=1, platform="soda")
    assert one.last(rows.urn, "assertionInfo")["type"] == "VOLUME"
    of_column = max_of(one, 5)
    assert one.last(of_column.urn, "assertionInfo")["type"] != "FIELD", "no event states the column's type"
    one.assert_sound()


# -- assertions.warn_as ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(
    ("warn_as", "word", "expected"),
    [("failure", "warn", "FAILURE"), ("success", "warn", "SUCCESS"), ("success", "info", "SUCCESS"), ("success", "error", "FAILURE")],
)  # fmt: skip
def test_warn_as_setting_sets_the_result_of_a_warning(record_pipeline, profile, warn_as, word, expected):
    one = record_pipeline(datahub_version=profile, assertions={"warn_as": warn_as})
    check = max_of(one, 5)
    check.report(success=False, severity=word)
    result = one.last(check.urn, RESULT)["result"]
    assert result["type"] == expected
    typed = profile == "1.7" and expected == "FAILURE"
    assert ("severity" in result) is typed
    assert (result.get("nativeResults") == {"severity": word}) is not typed
    check.report(error="broken", severity=word)
    assert one.last(check.urn, RESULT)["result"]["type"] == "ERROR", "an error is no failure"
    one.assert_sound()


# -- redaction ---------------------------------------------------------------------------------------------------------


def report_secrets(one):
    """Tell a secret wherever a check or a result takes a text."""
    for check in (
        one.pipeline.assertion(
            PAIR, "row_count", min=1, platform="soda", name="n", description=f"see {URL}", logic=f"select '{URL}'",
            properties={"token": SECRET, "at": URL}, parameters={"password": SECRET, "deep": {"api_key": SECRET}},
            url=f"https://h/p?token={SECRET}",
        ),
        one.pipeline.assertion(
            PAIR, Sql(statement=f"count_over('{URL}')", min=1), description=URL, url=f"https://h/p?token={SECRET}"
        ),
        one.pipeline.assertion(PAIR, Custom(label="Own", logic=URL)),
    ):  # fmt: skip
        check.report(
            success=False, actual=URL, url=f"https://h/p?sig={SECRET}", context={"password": SECRET, "at": URL},
            results={"token": SECRET}, batch={"id": URL, "query": f"select '{URL}'", "properties": {"secret": SECRET}},
            partition=[{"password": SECRET}],
        )  # fmt: skip
        check.report(error=f"cannot open {URL}", partition=URL)
        check.report(error=(("UNKNOWN_ERROR", URL)), where=f"a = '{URL}'")
    shown = {"name": f"from {URL}", "url": f"https://h/p?token={SECRET}"}
    with one.pipeline.run(("ns", "job"), properties={"password": SECRET, "at": URL}, **shown):
        pass
    return "\n".join(json.dumps(proposal.value) for proposal in one.sink.proposals)


@pytest.mark.parametrize(("mode", "hidden"), [("default", True), ("strict", True), ("off", False)])
def test_redaction_applies_to_assertions_and_results(record_pipeline, mode, hidden):
    one = record_pipeline(redaction=mode)
    text = report_secrets(one)
    assert (SECRET not in text) is hidden
    assert ("***@db" in text) is hidden
    one.assert_sound()


def test_assertion_urn_is_independent_of_redaction(record_pipeline):
    def urns(mode):
        one = record_pipeline(redaction=mode)
        report_secrets(one)
        return {proposal.entity_urn for proposal in one.sink.proposals if proposal.entity_type == "assertion"}

    assert urns("default") == urns("off")


# -- what there is no room for -----------------------------------------------------------------------------------------


def test_parameters_over_the_limit_are_reported_as_dropped(record_pipeline):
    one = record_pipeline()
    many = {f"p{number:02}": "x" for number in range(53)}
    check = one.pipeline.assertion(
        PAIR, "own", platform="soda", parameters=many, properties={f"k{number:03}": "v" for number in range(201)}
    )
    native = check.info["datasetAssertion"]["nativeParameters"]
    assert {line["path"] for line in check.dropped} == {
        *(f"$.parameters.{key}" for key in many.keys() - native.keys()),
        *(f"$.properties.k{number:03}" for number in range(201) if f"k{number:03}" not in check.info["customProperties"]),
    }  # fmt: skip
    assert len(check.dropped) == 3 + len([line for line in check.dropped if ".properties." in line["path"]])
    assert check.dropped[0] == {
        "event": check.urn, "path": "$.parameters.p50", "outcome": "dropped", "target": None, "reason": "too-large",
    }  # fmt: skip
    assert [max_of(one, 5).dropped, max_of(one, 5).report(success=True)] == [[], []]


@pytest.mark.parametrize("where", ["results", "context", "batch.properties"])
def test_result_fields_over_the_limit_are_reported_as_dropped(record_pipeline, where):
    one = record_pipeline()
    check = max_of(one, 5)
    many = {f"k{number:03}": "v" for number in range(203)}
    stated = {"batch": {"properties": many}} if where == "batch.properties" else {where: many}
    lines = check.report(success=True, **stated)
    assert [line["path"] for line in lines] == [f"$.{where}.k{number}" for number in (200, 201, 202)]
    assert {(line["event"], line["outcome"], line["reason"]) for line in lines} == {(check.urn, "dropped", "too-large")}
    event = one.last(check.urn, RESULT)
    there = {"results": event["result"].get("nativeResults"), "context": event.get("runtimeContext"),
             "batch.properties": event.get("batchSpec", {}).get("customProperties")}[where]  # fmt: skip
    assert len(there) == 200
