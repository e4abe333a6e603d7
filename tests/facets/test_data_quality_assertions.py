"""dataQualityAssertions (dataset, input): checks and how they ended."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import data_quality_assertions_dataset
from support.facet_cases import (
    AIRFLOW,
    DBT,
    DPI,
    END_MS,
    ORDERS,
    RUN,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)


def checks(*assertions):
    return facet(assertions=list(assertions))


NOT_NULL = {"assertion": "not_null", "column": "id", "success": True}


def results(found):
    return [one.value for one in found.proposals if one.aspect_name == "assertionRunEvent"]


def infos(found):
    return [one.value for one in found.proposals if one.aspect_name == "assertionInfo"]


def test_check_is_an_assertion_with_a_result_per_terminal_event():
    found = of_input("dataQualityAssertions", checks(NOT_NULL), "inputFacets")
    (urn,) = found.entities("assertion")
    info = found.one(urn, "assertionInfo")
    assert info["type"] == "DATASET"
    assert info["source"] == {"type": "EXTERNAL"}
    typed = info["datasetAssertion"]
    assert typed["dataset"] == ORDERS
    assert typed["scope"] == "DATASET_COLUMN"
    assert typed["operator"] == "NOT_NULL"
    assert typed["fields"] == [f"urn:li:schemaField:({ORDERS},id)"]
    assert typed["nativeType"] == "not_null"
    assert found.one(urn, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:openlineage"}
    result = found.one(urn, "assertionRunEvent")
    assert result["timestampMillis"] == END_MS
    assert result["runId"] == RUN
    assert (result["asserteeUrn"], result["assertionUrn"]) == (ORDERS, urn)
    assert result["status"] == "COMPLETE"
    assert result["result"]["type"] == "SUCCESS"
    assert result["runtimeContext"]["job"] == "shop/daily.load"


@pytest.mark.parametrize("bag", ["facets", "inputFacets"])
def test_bag_does_not_matter(bag):
    assert len(of_input("dataQualityAssertions", checks(NOT_NULL), bag).entities("assertion")) == 1


def test_same_check_in_two_bags_is_one_result():
    """Dbt writes the same list in ``facets`` and ``inputFacets``."""
    both = {"dataQualityAssertions": checks(NOT_NULL)}
    found = translate_events(pair(inputs=[orders(facets=both, inputFacets=both)]))
    assert len(results(found)) == 1


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        ({"success": True}, "SUCCESS"),
        ({"success": False, "severity": "error", "actual": "3"}, "FAILURE"),
        ({"success": False, "severity": "warn", "actual": "3"}, "FAILURE"),
        ({"success": False, "severity": "error"}, "ERROR"),
        ({"success": "true"}, "SUCCESS"),
        ({"success": "False"}, "FAILURE"),
        ({"success": None}, None),
        ({"success": "<<non-serializable: bool>>"}, None),
        ({}, None),
    ],
)
def test_how_a_check_of_dbt_ended(check, kind):
    """An error has no actual value, a warning is a failure of low severity."""
    body = checks({"assertion": "not_null", "column": "id", **check})
    found = translate_events(
        pair(inputs=[orders(facets={"dataQualityAssertions": body})], producer=DBT), datahub_version="1.7", report=True
    )
    assert len(infos(found)) == 1
    assert [one["result"]["type"] for one in results(found)] == ([kind] if kind else [])
    if kind == "FAILURE" and "severity" in check:
        assert results(found)[0]["result"]["severity"] == {"error": "HIGH", "warn": "LOW"}[check["severity"]]
    if check.get("success") == "<<non-serializable: bool>>":
        path = "$.inputs[0].facets.dataQualityAssertions.assertions[0].success"
        assert found.outcomes()[path] == ("dropped", "malformed")


def test_dbt_s_tests_are_dbt_s_in_a_task_of_airflow_too():
    """Cosmos sends them as Airflow's provider, with the facet of dbt's run."""

    def of(producer, **run):
        tested = [orders(facets={"dataQualityAssertions": checks({**NOT_NULL, "success": False, "expected": "0"})})]
        return translate_events(pair(inputs=tested, producer=producer, run=run), datahub_version="1.7")

    dbt_run = {"dbt_run": facet(invocation_id="0198")}
    in_a_task, own = of(AIRFLOW, **dbt_run), of(DBT, **dbt_run)
    (urn,) = in_a_task.entities("assertion")
    assert in_a_task.one(urn, "assertionInfo")["customAssertion"]["type"] == "dbt Test"
    assert in_a_task.one(urn, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:dbt"}
    assert own.entities("assertion") == {urn}
    assert of(AIRFLOW).entities("assertion") != {urn}
    assert results(in_a_task)[0]["result"]["type"] == "ERROR"  # dbt says what it counted, unless the test itself broke


def test_table_that_its_own_job_tests_is_no_source_of_itself():
    """Cosmos builds a model and tests it in one task: what it tested stands among the inputs."""
    both = {"dataQualityAssertions": checks(NOT_NULL)}
    tested = orders(facets=both, inputFacets=both)
    found = translate_events(pair(inputs=[totals(), tested], outputs=[orders()], producer=AIRFLOW), report=True)
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [TOTALS]}
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [ORDERS]}
    assert len(results(found)) == 1
    outcomes = found.outcomes()
    for leaf in ("namespace", "name"):
        assert outcomes[f"$.inputs[0].{leaf}"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")
        assert outcomes[f"$.inputs[1].{leaf}"] == ("mapped", "datasetProperties.urn")


@pytest.mark.parametrize(
    ("tested", "outputs"),
    [
        ([{"dataQualityAssertions": checks(NOT_NULL)}], [totals()]),  # tested alone
        ([{"dataQualityAssertions": checks(NOT_NULL), "dataSource": facet(name="shop")}], [orders()]),  # read, too
        ([{"dataQualityAssertions": checks(NOT_NULL)}, {}], [orders()]),
    ],
)
def test_table_that_is_read_stays_an_input(tested, outputs):
    found = translate_events(
        pair(inputs=[orders(facets=facets) for facets in tested], outputs=outputs, producer=AIRFLOW)
    )
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}


def test_fail_event_keeps_the_success_of_passed_tests():
    body = checks(
        NOT_NULL, {"assertion": "unique", "column": "id", "success": False, "severity": "error", "actual": "2"}
    )
    found = translate_events(
        event("START", producer=DBT),
        event("FAIL", producer=DBT, inputs=[orders(facets={"dataQualityAssertions": body})]),
    )
    assert sorted(one["result"]["type"] for one in results(found)) == ["FAILURE", "SUCCESS"]
    assert found.all(DPI, "dataProcessInstanceRunEvent")[-1]["result"]["type"] == "FAILURE"


def test_fields_of_a_check_are_all_written():
    check = {
        "assertion": "accepted_range", "success": False, "column": "amount", "severity": "warn", "name": "amounts",
        "description": "no refunds", "expected": ">= 0", "actual": "-3", "content": "select 1", "contentType": "sql",
        "params": {"min_value": 0},
    }  # fmt: skip
    found = of_input("dataQualityAssertions", checks(check), report=True, datahub_version="1.7")
    (info,), (event_,) = infos(found), results(found)
    typed = info["customAssertion"]
    assert info["description"] == "no refunds"
    assert info["customProperties"]["openlineage.name"] == "amounts"
    assert typed["logic"] == "select 1"
    assert typed["nativeParameters"]["min_value"] == "0"
    assert event_["result"]["actualAggValue"] == -3.0
    native = event_["result"]["nativeResults"]
    assert native == {"actual": "-3", "contentType": "sql", "expected": ">= 0", "severity": "warn"}
    start = "$.inputs[0].facets.dataQualityAssertions.assertions[0]."
    outcomes = {
        path.removeprefix(start): outcome for path, outcome in found.outcomes().items() if path.startswith(start)
    }
    assert {leaf: outcome for leaf, (outcome, _) in outcomes.items()} == {
        **dict.fromkeys((*check.keys() - {"params"}, "params.min_value"), "mapped"),
        "contentType": "property",
    }


def test_check_without_a_name_of_its_kind_is_known_by_its_name():
    found = of_input("dataQualityAssertions", checks({"name": "mine", "success": True}, {"success": True}))
    assert sorted(info["datasetAssertion"]["nativeType"] for info in infos(found)) == ["mine", "unknown"]


def test_dataset_event_reports_at_once_and_a_job_event_never():
    bag = {"dataQualityAssertions": checks(NOT_NULL)}
    (result,) = results(translate_events(dataset_event(orders(facets=bag))))
    assert (result["timestampMillis"], result["asserteeUrn"]) == (END_MS, ORDERS)
    declared = translate_events(job_event(inputs=[orders(facets=bag)]))
    assert len(infos(declared)) == 1
    assert results(declared) == []


def test_run_that_has_not_ended_has_no_result_yet():
    found = translate_events(
        event("START", inputs=[orders(facets={"dataQualityAssertions": checks(NOT_NULL)})]), report=True
    )
    assert (len(infos(found)), results(found)) == (1, [])
    path = "$.inputs[0].facets.dataQualityAssertions.assertions[0].success"
    assert found.outcomes()[path] == ("dropped", "pending-terminal")


@pytest.mark.parametrize(("stated", "count"), [(3, 3), ("3", 3), (0, 0), (None, None)])
def test_draft_s_failures_are_counted(stated, count):
    check = {**NOT_NULL, "success": False, "failures": stated}
    tests = facet(tests=[{"name": "not_null", "type": "not_null", "status": "fail", "failures": stated}])
    of_tests = pair(run={"test": tests}, inputs=[orders()], outputs=[totals()])
    for found in (
        of_input("dataQualityAssertions", checks(check), report=True),
        translate_events(of_tests, report=True),
    ):
        assert [one["result"].get("unexpectedCount") for one in results(found)] == [count]
        outcomes = {path: history_of for path, history_of in found.outcomes().items() if path.endswith(".failures")}
        assert set(outcomes.values()) == {
            ("dropped", "empty:null") if stated is None else ("mapped", "assertionRunEvent.result")
        }


def test_metrics_of_the_same_run_add_counts_to_the_result():
    metrics = facet(rowCount=20, columnMetrics={"id": {"nullCount": 4}})
    bag = {"dataQualityAssertions": checks(NOT_NULL), "dataQualityMetrics": metrics}
    (result,) = results(translate_events(pair(inputs=[orders(inputFacets=bag)])))
    assert (result["result"]["rowCount"], result["result"]["missingCount"]) == (20, 4)


@pytest.mark.parametrize(
    ("success", "expected"),
    [(True, ("mapped", "assertionRunEvent.result")), ("maybe", ("dropped", "no-field:no result"))],
)
def test_run_specific_params_are_mapped_only_with_a_result(success, expected):
    params = {"batch_id": "b", "unexpected_count": 2, "mostly": 0.9}
    check = {"assertion": "mine", "success": success, "actual": "5", "params": params}
    stated = of_input("dataQualityAssertions", checks(NOT_NULL, check), report=True).outcomes()
    start = "$.inputs[0].facets.dataQualityAssertions.assertions[1]"
    for leaf in ("actual", "params.batch_id", "params.unexpected_count"):
        assert stated[f"{start}.{leaf}"] == expected
    assert stated[f"{start}.params.mostly"] == ("mapped", "assertionInfo")


@pytest.mark.parametrize("body", [facet(assertions=[]), facet(assertions=None), facet(), facet(assertions="x")])
def test_empty_list_is_ignored(body):
    assert of_input("dataQualityAssertions", body).entities("assertion") == set()


def test_airflow_s_shapes_are_read():
    """``params``, ``content``, ``expected`` as text."""
    check = {
        "assertion": "accepted_range", "column": "amount", "success": True, "expected": ">=1", "actual": "7",
        "content": "SELECT 1", "contentType": "sql", "params": {"geq_to": 1},
    }  # fmt: skip
    (info,) = infos(of_input("dataQualityAssertions", checks(check)))
    assert info["datasetAssertion"]["operator"] == "GREATER_THAN_OR_EQUAL_TO"
    assert info["datasetAssertion"]["parameters"]["value"] == {"value": "1", "type": "NUMBER"}


def test_specification_s_document_is_read():
    found = translate_events(
        pair(inputs=[orders(inputFacets=spec("DataQualityAssertionsDatasetFacet"))], outputs=[totals()])
    )
    assert len(found.entities("assertion")) == 10
    assert {one["result"]["type"] for one in results(found)} == {"SUCCESS"}
    assert {one["asserteeUrn"] for one in results(found)} == {ORDERS}


def test_client_s_classes_are_read():
    made = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        assertions=[
            data_quality_assertions_dataset.Assertion(assertion="unique", success=False, column="id", actual="2")
        ]
    )
    found = translate_events(client_pair(input_facets={"dataQualityAssertions": made}))
    (result,) = results(found)
    assert (result["result"]["type"], result["result"]["actualAggValue"]) == ("FAILURE", 2.0)


# -- what there is no room for -----------------------------------------------------------------------------------------


def with_params(**params):
    return facet(assertions=[{"assertion": "own", "name": "mine", "column": "id", "success": True, "params": params}])


def assertion_params(found):
    path = "$.inputs[0].inputFacets.dataQualityAssertions.assertions[0].params."
    return {where.removeprefix(path): stated for where, stated in found.outcomes().items() if where.startswith(path)}


def test_check_params_beyond_the_first_50_are_reported():
    many = {f"p{number:02}": str(number) for number in range(53)}
    found = of_input("dataQualityAssertions", with_params(**many), bag="inputFacets", report=True)
    (info,) = (one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo")
    assert len(info["nativeParameters"]) == 50
    output = assertion_params(found)
    assert {name for name, stated in output.items() if stated == ("mapped", "assertionInfo")} == set(
        info["nativeParameters"]
    )
    assert {name for name, stated in output.items() if stated == ("dropped", "too-large")} == {"p50", "p51", "p52"}


def test_parameter_that_has_a_field_of_its_own_is_not_lost():
    many = {f"a{number:02}": "x" for number in range(50)}
    body = facet(
        assertions=[
            {
                "assertion": "expect_column_max_to_be_between",
                "column": "id",
                "success": True,
                "params": {**many, "min_value": 3, "zz": 4},
            }
        ]
    )
    found = of_input("dataQualityAssertions", body, bag="inputFacets", report=True)
    (info,) = (one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info["parameters"] == {"value": {"value": "3", "type": "NUMBER"}}
    assert assertion_params(found)["min_value"] == ("mapped", "assertionInfo")
    assert assertion_params(found)["zz"] == ("dropped", "too-large")


@pytest.mark.parametrize(("kind", "lost"), [("auto", False), ("native", True)])
def test_datahub_s_own_types_have_room_for_less(kind, lost):
    long = {f"p{number}": f"{number}" + "x" * 3900 for number in range(10, 20)} | {
        f"p{number}": f"{number}" + "y" * 3900 for number in range(20, 27)
    }
    named = {"assertion": "row_count", "name": "mine", "success": True, "params": {**long, "min_value": 1}}
    found = of_input(
        "dataQualityAssertions", facet(assertions=[named]), bag="inputFacets", report=True, assertions={"type": kind}
    )
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    text = str(info)
    gone = {name for name, value in long.items() if value not in text}
    assert gone == {name for name, stated in assertion_params(found).items() if stated == ("dropped", "too-large")}
    assert bool(gone) is lost


@pytest.mark.parametrize(("profile", "kind"), [("0.15.0", "auto"), ("1.7", "auto"), ("1.7", "native")])
def test_check_texts_and_sql_are_redacted(profile, kind):
    url = "postgres://ann:hunter2@db/x"
    check = {
        "assertion": "custom_sql", "name": "mine", "success": False, "description": f"see {url}", "content": " ".join(("select", f"'{url}'")),
        "params": {"at": url}, "expected": url, "actual": url,
    }  # fmt: skip
    for name in ("custom_sql", "expression_is_true", "custom_sql_query"):
        body = facet(assertions=[{**check, "assertion": name}])
        found = of_input(
            "dataQualityAssertions", body, bag="inputFacets", datahub_version=profile, assertions={"type": kind}
        )
        text = str([one.value for one in found.proposals if one.aspect_name.startswith("assertion")])
        assert "hunter2" not in text
        assert text.count("***@db") >= 4


SECRETS = ["hunter2", "tr0ub4dor"]
HELD = {
    "assertion": "accepted_values",
    "column": "api_key",
    "success": False,
    "actual": "hunter2",
    "expected": "hunter2",
}


def of_check(check, **settings):
    return of_input("dataQualityAssertions", facet(assertions=[check]), bag="inputFacets", report=True, **settings)


@pytest.mark.parametrize(("profile", "kind"), [("0.15.0", "auto"), ("1.7", "auto"), ("1.7", "native")])
@pytest.mark.parametrize("more", [{}, {"column": None, "params": {"column": "api_key"}}])
def test_values_of_secret_columns_are_redacted_in_checks(profile, kind, more):
    """As in profiles; the URN is that of the check with its values."""
    params = {
        "values": SECRETS,
        "equal_to": "hunter2",
        "partial_unexpected_list": [1, "hunter2"],
        **more.get("params", {}),
    }
    found = of_check({**HELD, **more, "params": params}, datahub_version=profile, assertions={"type": kind})
    text = str([one.value for one in found.proposals])
    assert not any(secret in text for secret in SECRETS)
    outcomes = found.outcomes()
    where = "$.inputs[0].inputFacets.dataQualityAssertions.assertions[0]"
    leaves = ("actual", "expected", "params.values[1]", "params.equal_to", "params.partial_unexpected_list[1]")
    assert {outcomes[f"{where}.{leaf}"] for leaf in leaves} == {("dropped", "secret")}
    shown = of_check({**HELD, **more, "params": params}, redaction="off")
    assert "hunter2" in str([one.value for one in shown.proposals])
    assert found.entities("assertion") == shown.entities("assertion")


def test_counts_and_limits_of_secret_columns_are_kept():
    params = {
        "min_value": 3,
        "max_value": "9",
        "accept_none": True,
        "regex": "^sk_",
        "to": "ref('keys')",
        "field": "id",
    }
    stated = {"actual": "3", "expected": ">= 3, <= 9", "description": "as long as it has to be", "failures": 1}
    found = of_check({**HELD, "params": params, **stated})
    text = str([one.value for one in found.proposals])
    assert "[REDACTED]" not in text
    assert all(word in text for word in ("^sk_", "ref('keys')", ">= 3, <= 9", "as long as"))


def test_values_of_other_columns_stay():
    found = of_check({**HELD, "column": "status", "params": {"values": ["open"]}})
    text = str([one.value for one in found.proposals])
    assert "hunter2" in text
    assert "open" in text


@pytest.mark.parametrize("quoted", ['"Order Id"', "`Order Id`", "[Order Id]", "Order Id"])
def test_column_name_is_written_without_its_sql_quotes(quoted):
    """dbt sends the column of a test as it writes it into the query, where ``quote: true`` asks for quotes."""
    check = {"assertion": "not_null", "name": "not_null_order_id", "column": quoted, "success": True}
    found = of_input("dataQualityAssertions", facet(assertions=[check]))
    (info,) = (one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info["fields"] == [f"urn:li:schemaField:({ORDERS},Order Id)"]
    plain = of_input("dataQualityAssertions", facet(assertions=[{**check, "column": "Order Id"}]))
    assert found.entities("assertion") == plain.entities("assertion")


@pytest.mark.parametrize("column", ['a."b c"', "a.b", '"', ""])
def test_unquoted_column_name_is_unchanged(column):
    check = {"assertion": "not_null", "name": "x", "column": column or None, "success": True}
    found = of_input("dataQualityAssertions", facet(assertions=[check]))
    (info,) = (one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info.get("fields", []) == ([f"urn:li:schemaField:({ORDERS},{column})"] if column else [])
