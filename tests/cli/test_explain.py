"""``explain``: a table for every entity, colours on a terminal, and what was lost by itself."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from dh_bridge.cli import commands

RUN = "01890d3e-0000-7000-8000-000000000001"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2024-05-01T10:00:00Z",
    "producer": "https://example.com/me",
    "run": {"runId": RUN, "facets": {"nominalTime": {"_producer": "x", "nominalStartTime": "2024-05-01T10:00:00Z"}}},
    "job": {"namespace": "n", "name": "j", "facets": {"documentation": {"description": "What it does."}}},
    "outputs": [{"namespace": "postgres://db:5432", "name": "shop.public.orders", "facets": {"mine": {"a": 1}}}],
}
JOB = {"eventTime": "2024-05-01T10:00:00Z", "producer": "x", "job": {"namespace": "n", "name": "k"}, "inputs": []}
DATASET = {"eventTime": "2024-05-01T10:00:00Z", "producer": "x", "dataset": EVENT["outputs"][0]}


@pytest.fixture
def events(tmp_path):
    """Return a file with an event of each kind."""
    (tmp_path / "e.ndjson").write_text("".join(json.dumps(one) + "\n" for one in (EVENT, JOB, DATASET)))
    return "e.ndjson"


def titles(text):
    return re.findall(r"^  (\w+)  (\S+)  \((.+)\)$", text, re.MULTILINE)


def test_explain_prints_one_table_per_entity(run, events):
    shown = run("explain", events)
    assert shown.exit_code == 0
    first, *rest = shown.stdout.split("e.ndjson:")[1:]
    assert first.startswith("1\n\n  run  ")
    assert [(kind, urn) for kind, urn, _ in titles(first)] == [
        ("run", f"urn:li:dataProcessInstance:{RUN}"),
        ("job", "urn:li:dataJob:(urn:li:dataFlow:(openlineage,j,n),j)"),
        ("output", TABLE),
    ]
    assert [[kind for kind, _, _ in titles(one)] for one in rest] == [["job"], ["dataset"]]
    assert "    mapped    $.eventType" in first
    assert re.search(r"^    dropped   \$\.run\.facets\.nominalTime\._producer +envelope$", first, re.MULTILINE)


def test_dataset_list_entry_is_shown_under_all_its_datasets(run, tmp_path):
    listed = {"namespace": "kafka://b:9092", "name": "orders;returns"}
    (tmp_path / "e.ndjson").write_text(json.dumps(EVENT | {"inputs": [listed]}))
    topics = [f"urn:li:dataset:(urn:li:dataPlatform:kafka,{name},PROD)" for name in ("orders", "returns")]
    assert f"\n  input  {', '.join(topics)}  (2 mapped)\n" in run("explain", "e.ndjson").stdout


def test_explain_tables_equal_the_json_lines_and_their_counts(run, events):
    rows = [json.loads(line) for line in run("explain", events, "--json").stdout.splitlines()]
    shown = run("explain", events).stdout
    for row in rows:
        end = row["target"] or row["reason"]
        assert re.search(f"^    {row['outcome']} +{re.escape(row['path'])} +{re.escape(end)}$", shown, re.MULTILINE), (
            row
        )
    counted = sum(int(number) for *_, stated in titles(shown) for number in re.findall(r"\d+", stated))
    assert counted == len(rows) == len(re.findall(r"^    \S", shown, re.MULTILINE))


def test_outcome_leaves_out_the_fields_with_another(run, events):
    shown = run("explain", events, "--outcome", "dropped").stdout
    assert {line.split()[0] for line in re.findall(r"^    .*$", shown, re.MULTILINE)} == {"dropped"}
    assert "  output" not in shown.split("e.ndjson:")[1]
    rows = [json.loads(line) for line in run("explain", events, "--json", "--outcome", "dropped").stdout.splitlines()]
    assert {row["outcome"] for row in rows} == {"dropped"}


LOSSY = {
    **EVENT,
    "job": {**EVENT["job"], "facets": {"sql": {"query": "select 1", "_producer": "x", "password": "hunter22"}}},
}


def test_explain_loss_without_losses_counts_ignored_fields(run, tmp_path):
    events = "lossless.ndjson"
    (tmp_path / events).write_text(json.dumps({**EVENT, "inputs": []}))
    result = run("explain", events, "--loss")
    assert (result.exit_code, result.stdout) == (0, "Nothing is lost.\n")
    assert "Not counted as lost: 1 envelope, 1 empty (--all shows them" in result.stderr


def test_loss_is_counted_by_facet_and_reason_with_the_meaning(run, tmp_path):
    (tmp_path / "e.ndjson").write_text(2 * (json.dumps(LOSSY) + "\n"))
    lines = run("explain", "e.ndjson", "--loss").stdout.splitlines()
    assert lines[0].split() == ["fields", "of", "facet", "reason", "first", "field"]
    assert lines[1].split() == ["2", "job", "sql", "secret", "$.job.facets.sql.password"]
    assert lines[2:] == ["", "secret: The value looks like a secret, so it is masked."]


def test_loss_with_all_has_the_envelope_and_empty_values(run, events):
    rows = [line.split()[:4] for line in run("explain", events, "--loss", "--all").stdout.splitlines()]
    assert ["1", "run", "nominalTime", "envelope"] in rows
    assert ["1", "event", "(no", "facet)"] in rows


def test_loss_as_json_is_one_line_for_each_lost_field(run, tmp_path, events):
    (tmp_path / "lossy.ndjson").write_text(json.dumps(LOSSY))
    (row,) = [json.loads(line) for line in run("explain", "lossy.ndjson", "--loss", "--json").stdout.splitlines()]
    assert (row["outcome"], row["path"], row["reason"]) == ("dropped", "$.job.facets.sql.password", "secret")
    every = run("explain", events, "--loss", "--all", "--json").stdout.splitlines()
    assert {json.loads(line)["reason"] for line in every} == {
        "envelope",
        "empty",
        "no-field:no run",
        "pending-terminal",
    }


def test_reasons_are_listed_with_their_meanings_without_events(run):
    shown = run("explain", "--reasons")
    assert shown.exit_code == 0
    assert re.search(r"^envelope +no +The field describes the facet itself", shown.stdout, re.MULTILINE)
    rows = [json.loads(line) for line in run("explain", "--reasons", "--json").stdout.splitlines()]
    assert {"name": "secret", "meaning": "The value looks like a secret, so it is masked.", "is_loss": True} in rows


def test_all_goes_with_loss(run, events):
    assert run("explain", events, "--all").exit_code == 2


def test_loss_and_another_outcome_exclude_each_other(run, events):
    result = run("explain", events, "--loss", "--outcome", "property")
    assert result.exit_code == 2
    assert "--outcome is property" in result.stderr


def test_colours_are_for_terminals_alone(run, events):
    assert "\x1b" not in run("explain", events).stdout
    coloured = CliRunner().invoke(commands, ["explain", events], color=True).stdout
    assert "\x1b[32mmapped" in coloured
    assert "\x1b[36mproperty" in coloured
    assert "\x1b[33mdropped" in coloured


def test_dataset_without_a_urn_has_its_raw_name_as_title(run, tmp_path):
    odd = {**EVENT, "outputs": [{"namespace": "nowhere", "name": ""}]}
    (tmp_path / "odd.ndjson").write_text(json.dumps(odd))
    shown = run("explain", "odd.ndjson", "--fail-on", "never").stdout
    assert "  output  nowhere" in shown or "  output  urn:li:dataset:" in shown


def test_unknown_nested_envelope_fields_belong_to_the_run(run, tmp_path):
    (tmp_path / "odd.ndjson").write_text(json.dumps({**EVENT, "outputs": [], "jobs": {"x": "half"}}))
    shown = run("explain", "odd.ndjson").stdout
    assert [kind for kind, *_ in titles(shown)] == ["run", "job"]
    assert "$.jobs.x" in shown


def test_explain_titles_are_right_for_runs_that_close_late(run, tmp_path):
    def lines(number, state):
        job = {"namespace": "n", "name": f"j{number}"}
        return json.dumps({**EVENT, "eventType": state, "run": {"runId": f"{RUN[:-1]}{number}"}, "job": job}) + "\n"

    output = [lines(0, "START"), lines(1, "START"), *(lines(number, "COMPLETE") for number in (2, 3, 4, 0, 1))]
    (tmp_path / "e.ndjson").write_text("".join(output))
    shown = run("explain", "e.ndjson", "e.ndjson", "--set", "window=1").stdout
    named = [
        (part[0], next(urn for kind, urn, _ in titles(part) if kind == "run")) for part in shown.split("e.ndjson:")[1:]
    ]
    assert sorted(named) == sorted(
        (str(place), f"urn:li:dataProcessInstance:{RUN[:-1]}{number}")
        for place, number in enumerate((0, 1, 2, 3, 4, 0, 1), 1)
        for _ in range(2)
    )


@pytest.mark.parametrize("flags", [["--loss"], ["--outcome", "property"]])
def test_story_has_no_outcomes(run, events, flags):
    assert run("emit", events, "--to", "catalog:c.db").exit_code == 0
    result = run("explain", "c.db", "--run", RUN, *flags)
    assert result.exit_code == 2
    assert "The history of a run has no outcomes" in result.stderr
