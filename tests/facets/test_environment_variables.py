"""environmentVariables (run)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import environment_variables_run
from support.facet_cases import DPI, client_pair, facet, of_run, spec, translate_events

KEY = "environmentVariables"


def variables(*pairs):
    return facet(environmentVariables=[{"name": name, "value": value} for name, value in pairs])


def properties(body, **settings):
    found = of_run(KEY, body, **settings).properties(DPI)
    return {key.removeprefix(f"{KEY}."): value for key, value in found.items() if key.startswith(KEY)}


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_each_variable_is_a_property_of_the_run(profile):
    assert properties(variables(("HOME", "/root"), ("LANG", "")), datahub_version=profile) == {
        "HOME": "/root",
        "LANG": "",
    }


def test_secrets_are_masked_by_name_and_by_shape():
    body = variables(
        ("DB_PASSWORD", "hunter2"),
        ("URL", "jdbc://a:b@c"),
        ("AWS_SECRET_ACCESS_KEY", "***"),
        ("JWT", "eyJhbGciOiJI.eyJzdWIiOiIx.x"),
    )
    assert properties(body) == {
        "DB_PASSWORD": "[REDACTED]", "URL": "jdbc://a:***@c", "AWS_SECRET_ACCESS_KEY": "***", "JWT": "[REDACTED]",
    }  # fmt: skip
    outcomes = of_run(KEY, body, report=True).outcomes()
    assert outcomes[f"$.run.facets.{KEY}.{KEY}[0].value"] == ("dropped", "secret")
    assert outcomes[f"$.run.facets.{KEY}.{KEY}[0].name"][0] == "property"
    assert outcomes[f"$.run.facets.{KEY}.{KEY}[1].value"][0] == "property"


def test_strict_redaction_keeps_names_only():
    assert properties(variables(("HOME", "/root"), ("EMPTY", "")), redaction="strict") == {
        "HOME": "[REDACTED]",
        "EMPTY": "",
    }
    found = of_run(KEY, variables(("HOME", "/root")), report=True, redaction="strict").outcomes()
    assert found[f"$.run.facets.{KEY}.{KEY}[0].value"] == ("dropped", "policy:redaction")


def test_variables_beyond_the_first_hundred_are_counted():
    body = variables(*((f"V{number:03}", "x") for number in reversed(range(130))))
    found = properties(body)
    assert sorted(found) == [*(f"V{number:03}" for number in range(100)), "more"]
    assert found["more"] == "30"
    assert of_run(KEY, body, report=True).outcomes()[f"$.run.facets.{KEY}.{KEY}[0].value"] == ("dropped", "too-large")


def test_variable_with_a_repeated_name_has_the_last_value():
    body = variables(("A", "1"), ("A", "2"), ("n" * 300, "x"), ("", "y"), (None, "z"))
    assert properties(body) == {"A": "2"}
    found = of_run(KEY, body, report=True).outcomes()
    rows = [found[f"$.run.facets.{KEY}.{KEY}[{position}].value"] for position in range(5)]
    assert rows[0] == ("dropped", f"duplicate-of:{KEY}[1].name")
    assert rows[1][0] == "property"
    assert rows[2:] == [("dropped", "too-large"), ("dropped", "malformed"), ("dropped", "malformed")]


@pytest.mark.parametrize(
    "body", [facet(), facet(environmentVariables=None), facet(environmentVariables=[]), facet(environmentVariables="x")]
)
def test_empty_facet_adds_no_properties(body):
    assert properties(body) == {}


def test_hostile_values_are_capped_and_wrong_types_are_mended():
    found = properties(
        facet(
            environmentVariables=[
                {"name": "N", "value": 5},
                {"name": "L", "value": "é" * 9000},
                {"name": "D", "value": {}},
                7,
            ]
        )
    )
    assert found["N"] == "5"
    assert len(found["L"]) == 4000
    assert found["D"] == ""


def test_specification_s_document_is_read():
    assert properties(spec("EnvironmentVariablesRunFacet")[KEY])["JAVA_HOME"] == "/usr/lib/jvm/java-11-openjdk"


def test_client_s_class_is_read():
    made = environment_variables_run.EnvironmentVariablesRunFacet(
        environmentVariables=[environment_variables_run.EnvironmentVariable(name="A", value="b")]
    )
    assert translate_events(client_pair(run={KEY: made})).properties(DPI)[f"{KEY}.A"] == "b"
