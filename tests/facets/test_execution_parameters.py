"""executionParameters (run)."""

from __future__ import annotations

import pytest
from openlineage.client.generated import execution_parameters_run
from support.facet_cases import DPI, client_pair, facet, of_run, translate_events

KEY = "executionParameters"


def properties(*parameters, **settings):
    found = of_run(KEY, facet(parameters=list(parameters)), **settings).properties(DPI)
    return {key.removeprefix(f"{KEY}."): value for key, value in found.items() if key.startswith(KEY)}


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_parameters_are_properties_with_their_names_in_one_json(profile):
    found = properties(
        {"key": "task.timeout", "value": "3600", "name": "Timeout", "description": "seconds"},
        {"key": "mode"},
        {"key": "n", "value": 5, "name": None},
        datahub_version=profile,
    )
    assert found == {
        "task.timeout": "3600", "mode": "", "n": "5",
        "meta": '{"task.timeout":{"description":"seconds","name":"Timeout"}}',
    }  # fmt: skip


def test_non_text_parameter_is_kept_as_json():
    values = {
        "tables": ["a", "b"],
        "window": {"days": 3, "token": "t"},
        "pwd": ["x"],
        "off": False,
        "none": None,
        "empty": [],
        "zero": 0,
    }
    found = of_run(KEY, facet(parameters=[{"key": key, "value": value} for key, value in values.items()]), report=True)
    assert {key: found.properties(DPI)[f"{KEY}.{key}"] for key in values} == {
        "tables": '["a","b"]', "window": '{"days":3,"token":"[REDACTED]"}', "pwd": '["[REDACTED]"]',
        "off": "false", "none": "", "empty": "", "zero": "0",
    }  # fmt: skip
    outcomes, start = found.outcomes(), f"$.run.facets.{KEY}.parameters"
    kept_there = ("property", "dataProcessInstanceProperties.customProperties")
    assert outcomes[f"{start}[0].value[1]"] == outcomes[f"{start}[1].value.days"] == kept_there
    assert outcomes[f"{start}[1].value.token"] == outcomes[f"{start}[2].value[0]"] == ("dropped", "secret")
    assert outcomes[f"{start}[4].value"] == ("dropped", "empty:null")
    assert outcomes[f"{start}[5].value"] == ("dropped", "empty")
    strict = of_run(KEY, facet(parameters=[{"key": "n", "value": 0}, {"key": "l", "value": [1]}]), redaction="strict")
    assert (strict.properties(DPI)[f"{KEY}.n"], strict.properties(DPI)[f"{KEY}.l"]) == ("[REDACTED]", "[REDACTED]")


def test_secrets_are_masked_and_strict_keeps_keys_only():
    assert properties({"key": "db.password", "value": "x"}) == {"db.password": "[REDACTED]"}
    assert properties({"key": "mode", "value": "fast"}, redaction="strict") == {"mode": "[REDACTED]"}


def test_parameter_named_meta_is_kept():
    assert properties({"key": "meta", "value": "v"}) == {"meta": "v"}
    assert properties({"key": "meta", "value": "v"}, {"key": "a", "value": "b", "name": "A"}) == {
        "a": "b", "meta": '{"a":{"name":"A"},"meta":{"value":"v"}}',
    }  # fmt: skip


def test_null_parameters_and_missing_keys_are_ignored():
    assert of_run(KEY, facet(parameters=None)).has(DPI, "dataProcessInstanceProperties")
    assert properties({"value": "x", "name": "y"}, {"key": "", "value": "x"}, 7, {"key": ["a"]}) == {}


def test_client_s_class_is_read():
    made = execution_parameters_run.ExecutionParametersRunFacet(
        parameters=[execution_parameters_run.ExecutionParameter(key="a", value="b")]
    )
    assert translate_events(client_pair(run={KEY: made})).properties(DPI)[f"{KEY}.a"] == "b"
