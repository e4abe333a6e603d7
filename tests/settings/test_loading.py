"""Settings from file, environment and flags: who wins, what is refused, and what is said about it."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.errors import to_settings_error
from dh_bridge.settings.loading import CONFIG_VARIABLE, Flag, examine, json_schema, load, settings_of


def _file(folder: Path, text: str, name: str = "dh_bridge.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _only(text: str, folder: Path, **environ: str) -> str:
    loaded, problems = examine(_file(folder, text), environ=environ)
    assert loaded is None
    assert len(problems) == 1
    return str(problems[0])


def test_settings_without_any_source_are_the_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = load(environ={})
    assert loaded.settings == Settings()
    assert loaded.file is None
    assert {row["origin"] for row in loaded.rows()} == {"default"}


def test_flag_beats_environment_beats_file_beats_default(tmp_path):
    file = _file(tmp_path, "window: 10\npipeline_name: urn:li:corpuser:file\nredaction: strict\n")
    environ = {"DH_BRIDGE_WINDOW": "20", "DH_BRIDGE_PIPELINE_NAME": "urn:li:corpuser:env"}
    loaded = load(file, flags=[Flag("window", "30", "--set")], environ=environ)
    assert (loaded.settings.window, loaded.settings.pipeline_name) == (30, "urn:li:corpuser:env")
    assert loaded.settings.redaction == "strict"
    origins = {row["key"]: row["origin"] for row in loaded.rows()}
    assert origins["window"] == "flag --set"
    assert origins["pipeline_name"] == "env DH_BRIDGE_PIPELINE_NAME"
    assert origins["redaction"] == f"{file}:3"
    assert origins["source_code"] == "default"


def test_settings_file_precedence_is_flag_variable_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _file(tmp_path, "window: 1\n")
    named = _file(tmp_path, "window: 2\n", "named.yml")
    flagged = _file(tmp_path, "window: 3\n", "flagged.yml")
    assert load(environ={}).settings.window == 1
    assert load(environ={CONFIG_VARIABLE: str(named)}).settings.window == 2
    assert load(flagged, environ={CONFIG_VARIABLE: str(named)}).settings.window == 3


@pytest.mark.parametrize("name", ["dh_bridge.yaml", "dh-bridge.yml", "dh-bridge.yaml"])
def test_similarly_named_settings_file_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    near = _file(tmp_path, "window: 1\n", name)
    with pytest.raises(SettingsError, match=f"{name}: is not read by this name .rename it to dh_bridge.yml"):
        load(environ={})
    assert load(near, environ={}).settings.window == 1
    assert load(environ={CONFIG_VARIABLE: str(near)}).settings.window == 1
    _file(tmp_path, "window: 2\n")
    assert load(environ={}).settings.window == 2


def test_missing_file_names_who_named_it(tmp_path):
    with pytest.raises(SettingsError, match=r"none.yml: the settings file cannot be read: "):
        load(tmp_path / "none.yml", environ={})
    with pytest.raises(SettingsError, match=r"\(named by DH_BRIDGE_CONFIG\)"):
        load(environ={CONFIG_VARIABLE: str(tmp_path / "none.yml")})


BROKEN = "window: many\nwindow: 2\npipeline_name: ${NOBODY}\nrest: {timeuot: 1}\nspark: soon\n"
"""Nothing in it is right, but that it is YAML."""


@pytest.mark.parametrize(
    ("text", "environ", "timeout"),
    [
        ("airflow: {timeout: 3}\n", {}, 3),
        ("airflow: {timeout: 3}\n", {"AIRFLOW__TIMEOUT": "4"}, 4),
        ("airflow: {timeout: 3}\n", {"AIRFLOW": "{timeout: 4}"}, 4),
        ("airflow: {timeout: 3}\n", {"AIRFLOW": "{timeout: 4}", "AIRFLOW__TIMEOUT": "5"}, 5),
        ("airflow: {timeout: 3}\n", {"AIRFLOW__TIMEOUT": ""}, 3),
        ("airflow: {timeout: '${SECONDS}'}\n", {}, 7),
        ("airflow: ~\n", {}, 8),
        ("", {}, 8),
    ],
)
@pytest.mark.parametrize("only", ["airflow", "airflow.timeout"])
def test_single_area_is_read_despite_errors_in_others(only, text, environ, timeout, tmp_path):
    given = {f"DH_BRIDGE_{name}": stated for name, stated in environ.items()}
    given |= {
        "SECONDS": "7",
        "DH_BRIDGE_TEMPORARY__DATASETS": "['a'",
        "DH_BRIDGE_AIRFLOWS": "x",
        "DH_BRIDGE_WINDOW": "x",
    }
    file = _file(tmp_path, BROKEN + text)
    flags = [Flag("datahub_versoin", "1", "--set")]
    loaded = load(file, flags=flags, environ=given, only=only)
    assert loaded.settings == Settings(airflow={"timeout": timeout})
    assert set(loaded.origins) <= {("airflow", "timeout")}
    with pytest.raises(SettingsError):
        load(file, flags=flags, environ=given)


def test_flag_beats_the_others_of_the_area_that_is_read_alone(tmp_path):
    file = _file(tmp_path, f"{BROKEN}airflow: {{timeout: 3}}\n")
    flags = [Flag("airflow.timeout", "5", "argument timeout"), Flag("windw", "1", "--set")]
    loaded = load(file, flags=flags, environ={"DH_BRIDGE_AIRFLOW__TIMEOUT": "4"}, only="airflow")
    assert loaded.settings.airflow.timeout == 5
    assert loaded.origins == {("airflow", "timeout"): "flag argument timeout"}


@pytest.mark.parametrize(
    ("text", "environ", "stated"),
    [
        ("airflow: {timeout: soon}", {}, "dh_bridge.yml:6: `airflow.timeout` should be a valid number"),
        ("airflow: {timeuot: 1}", {}, "dh_bridge.yml:6: unknown key `airflow.timeuot` (did you mean `timeout`?)"),
        ("airflow:\n  namespace: ${NOBODY}", {}, "dh_bridge.yml:7: the variable NOBODY is not set"),
        ("airflow: soon", {}, "dh_bridge.yml:6: `airflow` should be a mapping of settings"),
        ("airflow: {}\nairflow: {}", {}, "dh_bridge.yml:7: `airflow` is set twice"),
        ("airflow: {}", {"DH_BRIDGE_AIRFLOW": "{timeout: "}, "env DH_BRIDGE_AIRFLOW: `airflow` is not YAML"),
        ("airflow: [", {}, "not YAML"),
    ],
)
def test_errors_in_the_single_area_are_reported(text, environ, stated, tmp_path):
    with pytest.raises(SettingsError) as caught:
        load(_file(tmp_path, BROKEN + text), environ=environ, only="airflow")
    assert stated in str(caught.value)


@pytest.mark.parametrize(
    "text", ["airflow: {namespace: x, timeout: soon}", "airflow: {timeout: '${NOBODY}', namespace: x}"]
)
def test_setting_that_is_read_alone_needs_no_other_of_its_area(text, tmp_path):
    file = _file(tmp_path, text)
    assert load(file, environ={}, only="airflow.namespace").settings.airflow.namespace == "x"
    with pytest.raises(SettingsError):
        load(file, environ={}, only="airflow")


@pytest.mark.parametrize(
    ("name", "text", "key", "expected"),
    [
        ("DH_BRIDGE_WINDOW", "5", "window", 5),
        ("DH_BRIDGE_RUNS__UP_FOR_RETRY", "on", "runs.up_for_retry", True),
        ("DH_BRIDGE_DATAHUB_VERSION", "1.10", "datahub_version", "1.10"),
        ("DH_BRIDGE_DATAHUB_VERSION", "", "datahub_version", None),
        ("DH_BRIDGE_REDACTION", "off", "redaction", "off"),
        ("DH_BRIDGE_SCHEMA__WRITE", "never", "schema.write", "never"),
        ("DH_BRIDGE_TEMPORARY__DATASETS", "tmp_*, stage/*", "temporary.datasets", ["tmp_*", "stage/*"]),
        ("DH_BRIDGE_TEMPORARY__DATASETS", "['a,b']", "temporary.datasets", ["a,b"]),
        ("DH_BRIDGE_FILTERS", "{jobs: [x]}", "filters.jobs", ["x"]),
        ("DH_BRIDGE_FILTERS", "{jobs: [007, 2024-01-01]}", "filters.jobs", ["007", "2024-01-01"]),
        ("DH_BRIDGE_RUNS", "{heartbeat: off}", "runs.heartbeat", "off"),
    ],
)
def test_environment_is_read_as_its_field_wants_it(*, name, text, key, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {row["key"]: row for row in load(environ={name: text}).rows()}
    assert rows[key]["value"] == expected
    assert rows[key]["origin"] == (f"env {name}" if text else "default")


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("datahub_versoin: '1.0'", "dh_bridge.yml:1: unknown key `datahub_versoin` (did you mean `datahub_version`?)"),
        ("\nschema:\n  wirte: all", "dh_bridge.yml:3: unknown key `schema.wirte` (did you mean `write`?)"),
        ("event_time: {zzz: 1}", "unknown key `event_time.zzz` (known here: default_zone)"),
        (
            "schema: {write: nevr}",
            "`schema.write` should be 'all', 'outputs', 'never' or 'if_absent', not 'nevr' (did you mean `never`?)",
        ),
        ("window: 0", "`window` should be greater than or equal to 1, not '0'"),
        ("window: some", "`window` should be a valid integer, unable to parse string as an integer, not 'some'"),
        (
            "naming: {rules: [{namespace: a, case: uper}]}",
            "`naming.rules[0].case` should be 'keep', 'lower' or 'upper', not 'uper' (did you mean `upper`?)",
        ),
        ("naming: {rules: [{namespace: a, cse: x}]}", "unknown key `naming.rules[0].cse` (did you mean `case`?)"),
        (
            "event_time: {default_zone: Mars/Base}",
            "`event_time.default_zone` is not a time zone of this machine, not 'Mars/Base'",
        ),
        (
            "temporary:\n  datasets:\n  - a\n  - ''",
            "dh_bridge.yml:4: `temporary.datasets[1]` should have at least 1 character, not ''",
        ),
        ("edges: ann", "`edges` should match pattern"),
        ("runs: fast", "`runs` should be a mapping of settings"),
        ("window: 1\nwindow: 2", "dh_bridge.yml:2: `window` is set twice (remove one)"),
        ("window: [", "dh_bridge.yml:2: not YAML: "),
        ("- a", "holds no mapping of settings"),
        (
            "pipeline_name: ${NOBODY}",
            "dh_bridge.yml:1: the variable NOBODY is not set (set it, or write ${NOBODY:-default})",
        ),
        ("pipeline_name: ${}", "contains a `${` without the name of a variable"),
        (
            "pipeline_name: ${NOBODY:-${SOMEBODY}}",
            "dh_bridge.yml:1: the value contains a `${` without the name of a variable, or inside",
        ),
        ("pipeline_name: \x00", "not YAML: "),
        ("actor:\n- &a [*a]", "dh_bridge.yml:2: `actor[0][0]` contains itself (write it without an alias)"),
        ("window: &a\n  b: *a", "dh_bridge.yml:2: `window.b` contains itself"),
    ],
)
def test_invalid_value_is_refused_with_location_and_remedy(text, stated, tmp_path):
    assert stated in _only(text, tmp_path)


@pytest.mark.parametrize(
    ("flags", "environ", "stated"),
    [
        (
            {"rest.headers": "Authorization:Bearer hunter22"},
            {},
            "flag --set: `rest.headers` should be a mapping (",
        ),
        ({"rest.headers": "{Authorization:Bearer hunter22}"}, {}, "`rest.headers.Authorization:…` should be a valid"),
        ({"rest.headers": "{X-Api: [22222222]}"}, {}, "`rest.headers.X-Api` should be a valid string ("),
        ({"rest": "{token:hunter22}"}, {}, "flag --set: unknown key `rest.token:…` ("),
        ({"rest": "token:hunter22"}, {}, "`rest` should be a mapping of settings ("),
        (
            {},
            {"DH_BRIDGE_KAFKA__PRODUCER": "sasl.username=u,sasl.password=hunter22"},
            "env DH_BRIDGE_KAFKA__PRODUCER: `kafka.producer` should be a mapping (",
        ),
    ],
)
def test_mapping_that_is_mistyped_is_refused_without_its_secrets(*, flags, environ, stated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = [Flag(key, text, "--set") for key, text in flags.items()]
    loaded, problems = examine(flags=given, environ=environ)
    assert loaded is None
    assert stated in str(problems[0])
    assert "22" not in "".join(map(str, problems))


def test_mistyped_mapping_is_refused_without_its_secrets(tmp_path):
    stated = _only("rest:\n  headers: Authorization:Bearer hunter22", tmp_path)
    assert "dh_bridge.yml:2: `rest.headers` should be a mapping (" in stated
    assert "hunter22" not in stated


def test_mappings_path_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "text").write_text("x")
    for name in ("nosuch", "text"):
        stated = _only(f"window: 1\nmappings: {name}", tmp_path)
        assert f"dh_bridge.yml:2: `mappings` {tmp_path / name} is not a folder (name the folder" in stated


def test_path_in_a_file_is_relative_to_it_or_to_the_home_folder(tmp_path):
    for name, meant in (("runs.db", tmp_path / "runs.db"), ("~/runs.db", Path.home() / "runs.db")):
        file = _file(tmp_path, f"ledger: {{file: {name}}}")
        assert load(file, environ={}).settings.ledger.file == meant
    assert settings_of({"ledger.file": "~/runs.db"}).ledger.file == Path.home() / "runs.db"
    variable = {"DH_BRIDGE_LEDGER__FILE": "~/runs.db"}
    assert load(environ=variable).settings.ledger.file == Path.home() / "runs.db"


def test_misspelt_variable_is_refused_with_the_nearest_known_one(tmp_path):
    assert _only("", tmp_path, DH_BRIDGE_FILTER__THROUGH="x").startswith(
        "env DH_BRIDGE_FILTER__THROUGH: unknown key `filter` (did you mean `filters`?)"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DH_BRIDGE_REST_TOKEN", "DH_BRIDGE_REST__TOKEN"),
        ("DH_BRIDGE_KAFKA__REGISTRY_URL", "DH_BRIDGE_KAFKA__REGISTRY__URL"),
        ("DH_BRIDGE_COLUMN_LINEAGE_TARGET", "DH_BRIDGE_COLUMN_LINEAGE__TARGET"),
    ],
)
def test_variable_with_one_underscore_suggests_two(name, meant, tmp_path):
    assert f"env {name}: unknown key" in (stated := _only("", tmp_path, **{name: "x"}))
    assert f"(did you mean `{meant}`?)" in stated


def test_value_where_an_area_is_wanted_is_refused(tmp_path):
    file = _file(tmp_path, "event_time: fast\n")
    loaded, problems = examine(file, environ={"DH_BRIDGE_EVENT_TIME__DEFAULT_ZONE": "UTC"})
    assert loaded is None
    assert str(problems[0]) == f"{file}:1: `event_time` is an area (known here: default_zone)"


def test_unreadable_yaml_in_the_environment_names_the_variable(tmp_path):
    assert _only("", tmp_path, DH_BRIDGE_TEMPORARY__DATASETS="['a'").startswith(
        "env DH_BRIDGE_TEMPORARY__DATASETS: `temporary.datasets`"
    )


def test_deep_nesting_error_names_the_file_or_variable(tmp_path):
    assert "dh_bridge.yml: nested too deeply" in _only("pipeline_name: " + "[" * 990 + "]" * 990, tmp_path)
    # since 6.0.4 PyYAML has a limit of its own, and knows the line
    refused = r"dh_bridge\.yml(: nested too deeply|:1: not YAML: exceeded maximum nesting depth)"
    assert re.search(refused, _only("pipeline_name: " + "[" * 3000 + "]" * 3000, tmp_path))
    assert _only("", tmp_path, DH_BRIDGE_TEMPORARY__DATASETS="[" * 3000 + "]" * 3000).startswith(
        "env DH_BRIDGE_TEMPORARY__DATASETS: `temporary.datasets"
    )


@pytest.mark.parametrize("line", ["- !tmp_*", "- !s3://scratch/*", "- !*.tmp", "- !a/b x"])
def test_unquoted_exclusion_is_refused_with_the_correct_form(tmp_path, line):
    file = _file(tmp_path, f"filters:\n  jobs:\n  {line}\n")
    with pytest.raises(SettingsError, match=r":3: "):
        load(file, environ={})
    with pytest.raises(SettingsError, match=r":3: `filters.jobs\[0\]` has the YAML tag !x \(put a text .*: '!x'\)"):
        load(_file(tmp_path, "filters:\n  jobs:\n  - !x\n"), environ={})


def test_identity_modes_are_a_list_in_file_and_variable(tmp_path):
    tools = ("datahub-airflow-plugin", "datahub-dbt-source")
    file = _file(tmp_path, "identity: {mode: [datahub-airflow-plugin, datahub-dbt-source]}\n")
    assert load(file, environ={}).settings.identity.mode == tools
    assert load(environ={"DH_BRIDGE_IDENTITY__MODE": ", ".join(tools)}).settings.identity.mode == tools
    one = _file(tmp_path, "identity: {mode: datahub-openlineage}\n")
    assert load(one, environ={}).settings.identity.mode == ("datahub-openlineage",)


def test_node_that_is_named_twice_is_no_node_inside_itself(tmp_path):
    file = _file(tmp_path, "naming:\n  project_numbers: &a {'1': x}\n  rules:\n  - {namespace: a, database_map: *a}\n")
    settings = load(file, environ={}).settings
    assert settings.naming.rules[0].database_map == settings.naming.project_numbers == {"1": "x"}


def test_all_errors_are_found_and_load_counts_the_rest(tmp_path):
    file = _file(tmp_path, "a: 1\nb: 2\nwindow: -1\n")
    _, problems = examine(file, environ={})
    assert {problem.location for problem in problems} == {f"{file}:1", f"{file}:2", f"{file}:3"}
    with pytest.raises(SettingsError, match="2 more: dh-bridge config check"):
        load(file, environ={})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${ZONE}", "Europe/Berlin"),
        ("${NONE:-UTC}", "UTC"),
        ("${EMPTY:-UTC}", "UTC"),
        ("Europe/${CITY:-Paris}", "Europe/Paris"),
    ],
)
def test_variables_in_a_file_are_filled_in(text, expected, tmp_path):
    file = _file(tmp_path, f"event_time:\n  default_zone: {text}\n")
    environ = {"ZONE": "Europe/Berlin", "EMPTY": ""}
    assert load(file, environ=environ).settings.event_time.default_zone == expected


def test_doubled_dollar_is_literal_and_empty_variable_is_null(tmp_path):
    file = _file(tmp_path, "datahub_version: ${NONE:-}\ntemporary: {datasets: ['$${x}', '${NONE:-}y']}\n")
    settings = load(file, environ={}).settings
    assert settings.datahub_version is None
    assert settings.temporary.datasets == ("${x}", "y")


def test_file_values_stay_text_until_a_field_converts_them(tmp_path):
    text = "datahub_version: 1.10\nredaction: off\nwindow: '7'\nruns: {up_for_retry: yes, heartbeat: off}\ntags:\nmappings: ~\n"
    settings = load(_file(tmp_path, text), environ={}).settings
    assert (settings.datahub_version, settings.redaction, settings.window) == ("1.10", "off", 7)
    assert (settings.runs.up_for_retry, settings.runs.heartbeat) == (True, "off")
    assert settings.tags == Settings().tags
    assert settings.mappings is None


def test_path_in_a_file_is_relative_to_that_file(tmp_path):
    (tmp_path / "mine").mkdir()
    settings = load(_file(tmp_path, "mappings: mine\n"), environ={}).settings
    assert settings.mappings == tmp_path / "mine"


def test_flag_of_an_unknown_key_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"flag --set: unknown key `windw` \(did you mean `window`\?\)"):
        load(flags=[Flag("windw", "1", "--set")], environ={})


def test_published_schema_agrees_with_the_validation():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert check.is_valid({"schema": {"write": "never"}, "temporary": {"datasets": ["a"]}})
    for wrong in ({"schema_": {}}, {"schema": {"write": "x"}}, {"window": 0}, {"runs": {"x": 1}}):
        assert not check.is_valid(wrong)


def test_error_without_a_location_is_located_at_the_settings():
    assert (
        to_settings_error({"loc": (), "type": "value_error", "msg": "Value error, odd", "input": 1}, {}).location
        == "settings"
    )


def test_empty_datahub_version_is_refused(tmp_path):
    assert "datahub_version" in _only("datahub_version: ''", tmp_path)


def test_each_path_of_a_list_in_a_file_is_relative_to_that_file(tmp_path):
    file = _file(tmp_path, "rest: {client_certificate: [tls/tls.crt, ~/tls.key]}\n")
    found = load(file, environ={}).settings.rest.client_certificate
    assert found == (tmp_path / "tls" / "tls.crt", Path("~/tls.key").expanduser())


def test_path_list_in_a_variable_is_unchanged():
    environ = {"DH_BRIDGE_REST__CLIENT_CERTIFICATE": "tls.crt,tls.key"}
    assert load(environ=environ).settings.rest.client_certificate == (Path("tls.crt"), Path("tls.key"))


@pytest.mark.parametrize("edges", ["window:0d", "window:14", "windows", "last_run:3d"])
def test_edges_that_are_no_rule_are_refused(edges):
    with pytest.raises(ValidationError):
        Settings(edges=edges)
