"""``learn``: YAML on stdout, JSON for programs."""

from __future__ import annotations

import json

import yaml

EVENT = {
    "eventTime": "2026-01-01T00:00:00Z", "eventType": "START", "producer": "https://github.com/apache/airflow/tree/x",
    "run": {"runId": "018cc251-f400-7026-81fb-56cf8ce05681"}, "job": {"namespace": "ns", "name": "dag.task"},
    "outputs": [{"namespace": "postgres://db", "name": "a.b.c"}, {"namespace": "postgres://db:5432", "name": "a.b.c"}],
}  # fmt: skip


def test_learn_writes_settings(run, tmp_path):
    result = run("learn", "-", stdin=json.dumps(EVENT) + "\n")
    assert (result.exit_code, result.stderr) == (0, "")
    assert yaml.safe_load(result.stdout) == {"naming": {"locations": {"postgres://db:5432": ["postgres://db"]}}}
    (tmp_path / "learned.yml").write_text(result.stdout)
    again = run("learn", "-", "-c", "learned.yml", stdin=json.dumps(EVENT) + "\n")
    assert again.stdout == "# 1 event: 0 suggestions, 0 warnings\n"


def test_learn_writes_json_for_programs(run):
    result = run("learn", "-", "--json", stdin=json.dumps(EVENT) + "\n")
    (row,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (row["kind"], row["path"], row["count"], row["sure"]) == ("one-location", ["naming", "locations"], 2, True)


def test_events_that_cannot_be_used_are_told(run):
    result = run("learn", "-", stdin="{}\n")
    assert result.exit_code == 1
    assert "not an OpenLineage event: run, job and dataset are missing" in result.stderr
    assert result.stdout.startswith("# 0 events")
