"""``identity`` with ``--mode`` and ``--compare``."""

from __future__ import annotations

import json

import pytest
from datahub.cli.migrate import _load_mapping_pairs

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
RUN = "018cc251-f400-7026-81fb-56cf8ce05681"


@pytest.fixture
def events(tmp_path):
    lines = [
        {"eventTime": "2026-01-01T00:00:00Z", "eventType": "START", "producer": AIRFLOW, "run": {"runId": RUN},
         "job": {"namespace": namespace, "name": name}}
        for namespace, name in (("one", "dag"), ("one", "dag.task"), ("two", "dag.task"))
    ]  # fmt: skip
    file = tmp_path / "events.ndjson"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


@pytest.mark.parametrize(
    ("mode", "urn"),
    [
        ("default", "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,one),dag.task)"),
        ("datahub-openlineage", "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,one),dag.task)"),
        ("datahub-airflow-plugin", "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,test),task)"),
        ("datahub-dbt-source", "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,one),dag.task)"),
    ],
)
def test_identity_shows_any_mode_as_the_settings_configure_it(run, events, mode, urn):
    result = run("identity", events, "--json", "--mode", mode, "--set", "identity.airflow_plugin.cluster=test")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows[1]["dataJob"] == urn
    assert (rows[0]["dataJob"] is None) is (mode != "datahub-openlineage")


def test_identity_keeps_the_mode_of_the_settings(run, events):
    result = run("identity", events, "--json", "--set", "identity.mode=datahub-openlineage")
    assert json.loads(result.stdout.splitlines()[0])["rules"] == ["mode: datahub-openlineage"]
    result = run("identity", events, "--set", "identity.mode=join")
    assert result.exit_code == 2
    assert "identity.mode[0]` should be 'default', 'datahub-openlineage'," in result.stderr


def test_identity_warns_about_two_jobs_or_two_platforms(run, events, tmp_path):
    rows = [json.loads(line) for line in run("identity", events, "--json").stdout.splitlines()]
    assert [row["lints"] for row in rows] == [[], ["run-two-jobs"], ["run-two-jobs"]]
    spark = {
        "eventTime": "2026-01-01T00:00:00Z", "producer": "https://github.com/OpenLineage/OpenLineage/tree/1/integration/spark",
        "job": {"namespace": "one", "name": "dag"},
    }  # fmt: skip
    dataset = {"eventTime": "2026-01-01T00:00:00Z", "producer": AIRFLOW, "dataset": {"namespace": "one", "name": "dag"}}
    (tmp_path / "later.ndjson").write_text(f"{json.dumps(spark)}\n{json.dumps(dataset)}\n")
    rows = run("identity", events, str(tmp_path / "later.ndjson"), "--json").stdout.splitlines()
    assert [json.loads(row)["lints"] for row in rows[3:]] == [["two-platforms"], []]


def settings(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def test_diff_writes_what_datahubs_command_reads(run, events, tmp_path):
    old = settings(tmp_path, "old.yml", "identity: {mode: datahub-openlineage}")
    new = settings(tmp_path, "new.yml", "identity:\n  rules: [{namespace: one, cluster: prod}]\n")
    result = run("identity", events, "--compare", old, "-c", new, "--to", str(tmp_path / "moves"))
    assert result.stdout.splitlines()[0].split() == ["what", "entity", "from", "to"]
    assert result.stderr == "2 change their URN (1 dataFlow, 1 dataJob); 1 become obsolete (1 dataJob)\n"
    pairs = _load_mapping_pairs(str(tmp_path / "moves" / "mapping.jsonl"))
    assert next((pair.source_urn, pair.target_urn) for pair in pairs) == (
        "urn:li:dataFlow:(airflow,dag,one)", "urn:li:dataFlow:(airflow,dag,prod)",
    )  # fmt: skip
    unwritten = (tmp_path / "moves" / "unwritten.txt").read_text()
    assert unwritten == "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,one),dag)\n"
    assert not (tmp_path / "moves" / "manual.jsonl").exists()


def test_single_pair_is_read_too_and_old_files_go(run, events, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    one = settings(tmp_path, "one.yml", "identity: {rules: [{namespace: one, name: dag, flow: other, job: other}]}")
    folder = tmp_path / "moves"
    folder.mkdir()
    (folder / "unwritten.txt").write_text("stale")
    result = run("identity", events, "--compare", empty, "-c", one, "--to", str(folder), "--json")
    assert [json.loads(line)["what"] for line in result.stdout.splitlines()] == ["one-to-many"]
    assert sorted(file.name for file in folder.iterdir()) == ["manual.jsonl"]
    one = settings(tmp_path, "one.yml", "identity: {rules: [{namespace: two, flow: other}]}")
    run("identity", events, "--compare", empty, "-c", one, "--to", str(folder))
    assert len(_load_mapping_pairs(str(folder / "mapping.jsonl"))) == 2


def test_identity_diff_reports_merged_entities_for_a_decision(run, events, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    new = settings(tmp_path, "new.yml", "identity: {cluster: prod}")
    result = run("identity", events, "--compare", empty, "-c", new, "--to", str(tmp_path / "moves"))
    assert result.stderr == "4 need a decision (2 dataFlow, 2 dataJob)\n"
    lines = [json.loads(line) for line in (tmp_path / "moves" / "manual.jsonl").read_text().splitlines()]
    assert {line["why"] for line in lines} == {"many-to-one"}
    assert not (tmp_path / "moves" / "mapping.jsonl").exists()


def test_same_settings_move_nothing(run, events, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    result = run("identity", events, "--compare", empty, "-c", empty)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no URN changes\n")


def test_invalid_events_are_reported_with_exit_code_1(run, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    result = run("identity", "-", "--compare", empty, "-c", empty, stdin="{}\n")
    assert result.exit_code == 1
    assert "not an OpenLineage event: run, job and dataset are missing" in result.stderr


def test_unwritable_output_folder_is_an_error(run, events, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    result = run("identity", events, "--compare", empty, "-c", empty, "--to", "/proc/moves")
    assert result.exit_code == 2
    assert "/proc/moves" in result.stderr


def test_files_need_a_comparison(run, events, tmp_path):
    result = run("identity", events, "--to", str(tmp_path / "moves"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--to needs --compare OLD" in result.stderr


def test_comparison_uses_mode_and_assignments(run, events, tmp_path):
    empty = settings(tmp_path, "old.yml", "")
    changed = run("identity", events, "--compare", empty, "--set", "identity.cluster=prod")
    assert changed.stderr == "4 need a decision (2 dataFlow, 2 dataJob)\n"
    old = settings(tmp_path, "endpoint.yml", "identity: {mode: datahub-openlineage}")
    assert run("identity", events, "--compare", old).stderr != "no URN changes\n"
    assert run("identity", events, "--compare", old, "--mode", "datahub-openlineage").stderr == "no URN changes\n"
