"""greatExpectations_assertions (input)."""

from __future__ import annotations

import pytest
from support.facet_cases import GX, ORDERS, event, facet, orders, translate_events


def gx(*assertions, **more):
    bag = {"greatExpectations_assertions": facet(assertions=list(assertions)), **more}
    return translate_events(event(inputs=[orders(inputFacets=bag)], producer=GX), report=True)


def results(found):
    return [one.value["result"]["type"] for one in found.proposals if one.aspect_name == "assertionRunEvent"]


def infos(found):
    return [one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo"]


NOT_NULL = {"expectationType": "expect_column_values_to_not_be_null", "success": True, "column": "id"}


def test_expectation_is_a_check_of_its_column():
    found = gx(NOT_NULL, {"expectationType": "expect_table_row_count_to_be_between", "success": False})
    assert sorted(results(found)) == ["FAILURE", "SUCCESS"]
    by_scope = {info["scope"]: info for info in infos(found)}
    assert by_scope["DATASET_COLUMN"]["operator"] == "NOT_NULL"
    assert by_scope["DATASET_COLUMN"]["fields"] == [f"urn:li:schemaField:({ORDERS},id)"]
    assert by_scope["DATASET_ROWS"]["aggregation"] == "ROW_COUNT"


def test_identical_expectations_are_two_assertions():
    assert len(gx(NOT_NULL, NOT_NULL).entities("assertion")) == 2


@pytest.mark.parametrize(
    ("success", "result"),
    [("true", ["SUCCESS"]), ("False", ["FAILURE"]), ("<<non-serializable: bool>>", []), (None, [])],
)
def test_success_that_cannot_be_read_is_no_result(success, result):
    found = gx({**NOT_NULL, "success": success})
    assert results(found) == result
    assert len(infos(found)) == 1
    outcome = found.outcomes()["$.inputs[0].inputFacets.greatExpectations_assertions.assertions[0].success"]
    if success and not result:
        assert outcome == ("dropped", "malformed")


def test_data_quality_assertions_win_over_expectations():
    other = facet(assertions=[{"assertion": "not_null", "success": True, "column": "id"}])
    found = gx(NOT_NULL, dataQualityAssertions=other)
    assert [info["nativeType"] for info in infos(found)] == ["not_null"]
    path = "$.inputs[0].inputFacets.greatExpectations_assertions.assertions[0].expectationType"
    assert found.outcomes()[path] == ("dropped", "duplicate-of:dataQualityAssertions")


@pytest.mark.parametrize("other", ["nonsense", facet(), facet(assertions=[]), facet(assertions="nonsense")])
def test_expectations_are_used_without_data_quality_assertions(other):
    assert results(gx(NOT_NULL, dataQualityAssertions=other)) == ["SUCCESS"]


def test_expectation_without_a_type_is_unknown():
    assert [info["nativeType"] for info in infos(gx({"success": True}))] == ["unknown"]
    assert gx().entities("assertion") == set()


def test_run_with_only_a_terminal_event_has_its_properties():
    """Only COMPLETE; the run's properties are written all the same."""
    found = gx(NOT_NULL)
    names = {one.aspect_name for one in found.proposals if one.entity_type == "dataProcessInstance"}
    assert {"dataProcessInstanceProperties", "dataProcessInstanceRelationships"} <= names
