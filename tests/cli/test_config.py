"""``dh-bridge config``: what is wrong, what holds, and where it comes from."""

from __future__ import annotations

import json

import pytest


def test_config_check_accepts_valid_settings(run, tmp_path):
    (tmp_path / "dh_bridge.yml").write_text("window: 5\n")
    result = run("config", "check")
    assert result.exit_code == 0
    assert result.stdout == "the settings of dh_bridge.yml and the environment are fine: 1 given\n"
    assert run("config", "check", "-c", "dh_bridge.yml", "--set", "redaction=off").exit_code == 0


def test_config_check_without_a_file_reports_no_file(run):
    assert "(no file)" in run("config", "check").stdout


def test_every_problem_is_a_line_on_stderr_and_exit_code_2(run, tmp_path):
    (tmp_path / "bad.yml").write_text("windw: 5\nredaction: some\n")
    result = run("config", "check", "-c", "bad.yml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bad.yml:1: unknown key `windw` (did you mean `window`?)" in result.stderr
    assert "bad.yml:2: `redaction` should be 'off', 'default' or 'strict', not 'some'" in result.stderr


@pytest.mark.parametrize("command", [("config", "check"), ("doctor",)])
def test_settings_invalid_only_in_translation_are_reported(command, run):
    result = run(*command, "--set", "naming.rules=[{namespace: x, select: nosuch}]")
    assert result.exit_code != 0
    assert "unknown opt-in system: nosuch" in result.output


def test_wrong_settings_stop_any_command_with_exit_code_2(run):
    result = run("urn", "s3://a", "b", "--set", "windw=5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: flag --set: unknown key `windw` (did you mean `window`?)\n"


def test_show_names_the_origin_of_each_value(run, tmp_path, monkeypatch):
    (tmp_path / "dh_bridge.yml").write_text("runs:\n  abort: failure\n")
    monkeypatch.setenv("DH_BRIDGE_REDACTION", "strict")
    shown = run("config", "show", "--origin", "--given", "--json", "--set", "window=7").stdout
    rows = {row["key"]: (row["value"], row["origin"]) for row in map(json.loads, shown.splitlines())}
    assert rows == {
        "runs.abort": ("failure", "dh_bridge.yml:2"),
        "redaction": ("strict", "env DH_BRIDGE_REDACTION"),
        "window": (7, "flag --set"),
    }


def test_show_without_origin_lists_keys_and_values(run):
    lines = run("config", "show").stdout.splitlines()
    assert lines[0].split() == ["key", "value"]
    assert ["window", "20000"] in [line.split() for line in lines]
    assert json.loads(run("config", "show", "--json").stdout.splitlines()[0]).keys() == {"key", "value"}


def test_schema_is_json_schema(run):
    assert json.loads(run("config", "schema").stdout)["additionalProperties"] is False


@pytest.mark.parametrize("assignment", ["window", "", "rest.token:s3cret"])
def test_set_without_a_value_is_wrong_usage(run, assignment):
    result = run("config", "show", "--set", assignment)
    assert result.exit_code == 2
    assert "write --set KEY=VALUE" in result.stderr
    assert "s3cret" not in result.stderr
