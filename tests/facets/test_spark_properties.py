"""spark_properties (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run

VALUES = {"spark.master": "yarn", "spark.app.name": "orders", "spark.hadoop.fs.s3a.secret.key": "s3cret", "none": None}


def test_spark_properties_are_one_redacted_json_plus_the_master():
    run_properties = of_run("spark_properties", facet(properties=VALUES)).properties(DPI)
    assert run_properties["spark_properties.spark.master"] == "yarn"
    assert '"spark.app.name":"orders"' in run_properties["spark_properties"]
    assert "s3cret" not in run_properties["spark_properties"]


def test_older_form_has_no_inner_object():
    run_properties = of_run("spark_properties", facet(**{"spark.master": "local"})).properties(DPI)
    assert run_properties["spark_properties"] == '{"spark.master":"local"}'
    assert run_properties["spark_properties.spark.master"] == "local"


def test_leaves_beside_the_inner_object_are_kept():
    run_properties = of_run("spark_properties", facet(properties={"a": 1}, more={"b": 2})).properties(DPI)
    assert run_properties["spark_properties"] == '{"a":1}'
    assert run_properties["spark_properties.more.b"] == "2"


def test_empty_facet_has_no_effect():
    for body in (facet(), facet(properties={})):
        assert not any(key.startswith("spark") for key in of_run("spark_properties", body).properties(DPI))


def test_report_names_the_property_of_the_flat_form():
    outcomes = of_run("spark_properties", facet(**{"spark.master": "yarn"}), report=True).outcomes()
    target = "dataProcessInstanceProperties.customProperties[openlineage.spark_properties.spark.master]"
    assert [outcome for where, outcome in outcomes.items() if "master" in where] == [("property", target)]
