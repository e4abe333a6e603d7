"""``runs``, ``list``, ``search``, ``assertions`` and ``lineage``: everyday questions, asked of a catalogue and of a ledger."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner

from dh_bridge.cli import commands

EVENTS = Path(__file__).resolve().parents[2] / "examples" / "events"
LOAD = "01a1fbd4-f500-7410-9c3a-095e2ed6539e"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.staging.orders,PROD)"
IS_A_LEDGER = " is a ledger. The answer is rendered from the runs that it stores"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a catalogue and a ledger of the example events."""
    folder = tmp_path_factory.mktemp("everyday")
    for target in (
        ["--to", f"catalog:{folder}/catalogue.db"],
        ["--to", f"file:{folder}/p.ndjson", "--ledger", f"{folder}/ledger.db"],
    ):
        result = CliRunner().invoke(commands, ["emit", str(EVENTS), *target])
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(params=["catalogue", "ledger"])
def file(request, files, tmp_path):
    """Return the catalogue, then the ledger, in the folder of the test."""
    name = f"{request.param}.db"
    shutil.copy(files / name, tmp_path / name)
    return name


@pytest.fixture
def asked(run, file):
    """Return a function that runs a look command on the file and returns its rows and the lines of stderr."""

    def ask(command: str, *arguments: str):
        result = run(command, file, *arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()], result.stderr.splitlines()

    return ask


def event(state: str, ago: timedelta, number: int = 1, **job: str):
    return {
        "eventType": state,
        "eventTime": (datetime.now(timezone.utc) - ago).isoformat(),
        "producer": "https://example.com/nightly/1.0",
        "run": {
            "runId": f"01890d3e-0000-7000-8000-00000000000{number}",
            "facets": {"errorMessage": {"message": "disk full\nmore", "programmingLanguage": "x"}}
            if state == "FAIL"
            else {},
        },
        "job": {"namespace": "n", "name": "nightly", **job},
    }


@pytest.fixture
def recent(run, tmp_path, request):
    """Return a catalogue or ledger with a run that failed two hours ago and one that failed two days ago."""
    sent = [
        event("FAIL", timedelta(hours=2)),
        event("FAIL", timedelta(days=2), 2),
        event("COMPLETE", timedelta(hours=1), 3),
    ]
    (tmp_path / "e.ndjson").write_text("".join(json.dumps(one) + "\n" for one in sent))
    target = ["catalog:recent.db"] if request.param == "catalogue" else ["file:p.ndjson", "--ledger", "recent.db"]
    assert run("emit", "e.ndjson", "--to", *target).exit_code == 0
    return "recent.db"


@pytest.mark.parametrize("recent", ["catalogue", "ledger"], indirect=True)
def test_failed_runs_of_the_last_day(run, recent):
    result = run("runs", recent, "--failed", "--since", "1d")
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].split()[:3] == ["name", "status", "job"]
    assert lines[1].split()[:3] == ["01890d3e-0000-7000-8000-000000000001", "FAILURE", "nightly"]
    assert lines[1].endswith("disk full")
    assert len(run("runs", recent, "--failed").stdout.splitlines()) == 3
    assert len(run("runs", recent, "--since", "90m").stdout.splitlines()) == 2
    assert len(run("runs", recent, "--since", "1w").stdout.splitlines()) == 4


@pytest.mark.parametrize("recent", ["catalogue"], indirect=True)
def test_time_that_cannot_be_read_is_wrong_usage(run, recent):
    result = run("runs", recent, "--since", "yesterday")
    assert result.exit_code == 2
    assert "'yesterday' is neither an age nor a time. Write 1d, 36h, 30m, 2w or 2026-11-26." in result.stderr


def test_runs_of_all_jobs_are_newest_first_and_limited(asked):
    rows, stated = asked("runs", "--limit", "3")
    assert len(rows) == 3
    assert [row["started"] for row in rows] == sorted((row["started"] for row in rows), reverse=True)
    assert "52 of 55 runs are not shown. Pass --limit 0 to see all." in stated
    assert len(asked("runs", "--limit", "0")[0]) == 55


def test_runs_are_filtered_by_status_job_and_producer(asked):
    failed, _ = asked("runs", "--failed", "--limit", "0")
    assert len(failed) == 17  # the statement that failed is part of the run of its node, which failed, too
    assert {row["status"] for row in failed} == {"FAILURE"}
    named, _ = asked("runs", "--job", "SHOP_nightly.load_staging")
    assert {row["job"].rpartition(",")[2] for row in named} == {"shop_nightly.load_staging)"}
    assert LOAD in {row["urn"].rpartition(":")[2] for row in named}
    spark, _ = asked("runs", "--producer", "spark", "--limit", "0")
    assert {row["job"].split("(")[-1].split(",")[0] for row in spark} == {"spark"}
    by_uri, _ = asked("runs", "--producer", "git.shop.example", "--since", "2026-11-21", "--limit", "0")
    assert by_uri
    assert asked("runs", "--job", "nowhere")[0] == []


def test_runs_of_a_job_are_found_by_its_name_and_filtered(asked):
    rows, stated = asked("runs", "load_staging")
    assert [row["role"] for row in rows] == 2 * [["runs"]]
    assert stated[0].startswith("load_staging is urn:li:dataJob:")
    assert len(asked("runs", "load_staging", "--failed")[0]) < 2


@pytest.mark.parametrize(
    ("kind", "number"), [("datasets", 28), ("jobs", 44), ("flows", 8), ("runs", 55), ("checks", 29)]
)
def test_entities_of_a_kind_are_listed_and_the_rest_is_counted(kind, number, asked, run, file):
    rows, stated = asked("list", kind, "--limit", "5")
    assert len(rows) == 5
    assert f"{number - 5} of {number} {kind} are not shown. Pass --limit 0 to see all." in stated
    table = run("list", file, kind, "--limit", "0").stdout.splitlines()
    assert len(table) == number + 1
    assert table[0].split()[-1] == "urn"
    assert ("'" in table[1].split()[-1]) is ("(" in table[1])


def test_search_finds_names_whatever_their_case(asked):
    rows, _ = asked("search", "Staging.ORDERS")
    assert ORDERS in {row["urn"] for row in rows}
    assert {row["type"] for row in asked("search", "orders", "--kind", "jobs")[0]} == {"dataJob"}
    none, stated = asked("search", "no such thing")
    assert none == []
    assert any(line.startswith("No entity in ") for line in stated)


def test_search_of_a_catalogue_finds_columns_and_descriptions(run, files):
    catalogue = str(files / "catalogue.db")
    by_column = run("search", catalogue, "country_code", "--kind", "datasets").stdout
    assert "shop.marts.revenue_by_country" in by_column
    assert "shop.mart.daily_revenue" in run("search", catalogue, "What was sold").stdout


def test_results_of_the_checks_of_a_dataset_over_time(asked):
    rows, stated = asked("assertions", "staging.orders", "--limit", "4")
    assert [row["time"] for row in rows] == sorted((row["time"] for row in rows), reverse=True)
    assert {row["dataset"] for row in rows} == {ORDERS}
    assert "8 of 12 results are not shown. Pass --limit 0 to see all." in stated
    failed, _ = asked("assertions", ORDERS, "--failed", "--limit", "0")
    assert {row["result"] for row in failed} == {"FAILURE"}
    assert 0 < len(failed) < 12
    assert len(asked("assertions", "--limit", "0")[0]) == 35
    (urn,) = {row["urn"] for row in failed if row["check"] == "expect_column_mean_to_be_between"}
    assert {row["urn"] for row in asked("assertions", urn)[0]} == {urn}
    assert asked("assertions", "--since", "1m")[0] == []


def test_lineage_of_a_run_has_the_runs_that_events_name(run, file):
    lines = [line.strip("│├└─ ") for line in run("lineage", file, LOAD).stdout.splitlines()]
    assert lines[0] == f"shop_nightly.load_staging {LOAD}  run"
    assert "shop_nightly 01a1fbd4-f500-7dc0-819b-5f4acb16d806  run  (parent)" in lines
    assert any(line.startswith("shop_nightly.land_") and line.endswith("run  (upstream)") for line in lines)
    assert any(line.endswith("run  (downstream)") for line in lines)
    assert "-->" in run("lineage", file, LOAD, "--mermaid").stdout


def test_lineage_of_the_full_graph_is_a_table_or_dot(run, file, asked):
    rows, stated = asked("lineage", "--limit", "3")
    assert [set(row) for row in rows] == 3 * [{"upstream", "downstream"}]
    assert "87 of 90 edges are not shown. Pass --limit 0 to see all." in stated
    assert len(run("lineage", file, "--limit", "0").stdout.splitlines()) == 91
    dot = run("lineage", file, "--dot").stdout
    assert dot.count(" -> ") == 90
    assert run("lineage", file, "--up").exit_code == 2


def test_long_trees_end_with_a_count(run, file):
    result = run("lineage", file, "mart.daily_revenue", "--limit", "4")
    assert len(result.stdout.splitlines()) == 4
    assert "lines are not shown. Pass --limit 0 to see all." in result.stderr


def test_get_follows_a_name(run, file):
    found = json.loads(run("get", file, "mart.daily_revenue").stdout)
    assert found["name"] == "shop.mart.daily_revenue"
    assert "schemaMetadata" in found["aspects"]


def test_ledger_queries_report_limits_and_change_no_file(run, files, tmp_path):
    shutil.copy(files / "ledger.db", tmp_path / "ledger.db")
    before = (tmp_path / "ledger.db").read_bytes()
    for command in (
        ("runs",),
        ("list", "jobs"),
        ("search", "orders"),
        ("assertions",),
        ("lineage",),
        ("list",),
    ):
        name, *rest = command
        result = run(name, "ledger.db", *rest)
        assert (result.exit_code, f"ledger.db{IS_A_LEDGER}" in result.stderr) == (0, True)
    assert (tmp_path / "ledger.db").read_bytes() == before
    dump = run("get", "ledger.db", "--all")
    assert (dump.exit_code, dump.stdout) == (1, "")
    assert "To get a catalogue, emit the events to catalog:FILE." in dump.stderr


def test_ledger_that_may_only_be_read_is_looked_up_in_a_copy(run, files, tmp_path, monkeypatch):
    shutil.copy(files / "ledger.db", tmp_path / "ledger.db")
    monkeypatch.setattr("dh_bridge.cli.lookup.is_writable", lambda _file: False)
    assert len(run("runs", "ledger.db", "--limit", "0").stdout.splitlines()) == 56


def test_large_ledger_is_searched_in_its_latest_runs_only(run, files, tmp_path, monkeypatch):
    shutil.copy(files / "ledger.db", tmp_path / "ledger.db")
    monkeypatch.setattr("dh_bridge.ledger.contents.MAX_RENDERED_RUNS", 10)
    result = run("runs", "ledger.db")
    assert 10 < len(result.stdout.splitlines()) < 20  # the runs that are rendered with them are shown, too
    assert "Only the latest 10 of 55 runs in the ledger were looked at. Narrow it with --since." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "command", "page"),
    [
        (("runs", ORDERS), f"datahub get --urn '{ORDERS}'", "/dataset/urn%3Ali%3Adataset"),
        (("get", ORDERS), f"datahub get --urn '{ORDERS}'", "/dataset/urn%3Ali%3Adataset"),
        (("lineage", ORDERS, "--up"), f"datahub lineage --urn '{ORDERS}' --direction upstream", "(tab Lineage)"),
        (("search", "my orders"), "datahub search 'my orders'", "/search?query=my%20orders"),
        (("list", "jobs"), "datahub search '*' --where 'entity_type = data_job'", "EQUAL___0=DATA_JOB"),
        (("assertions", ORDERS), f"datahub get --urn '{ORDERS}'", "(tab Quality)"),
    ],
)
def test_for_a_server_the_command_and_the_page_are_named(arguments, command, page, run):
    name, *rest = arguments
    result = run(name, "rest:http://gms.example.com:8080", *rest)
    assert result.exit_code == 0
    first, second, third = result.stdout.splitlines()
    assert first == f"dh-bridge {name} reads catalogues and ledgers. For a server, use DataHub itself:"
    assert second == f"  command  {command}"
    assert third.startswith("  page     http://gms.example.com:9002/")
    assert page in third
    if name != "lineage":
        assert run(name, "rest:http://gms.example.com:8080", *rest, "--json").exit_code == 2


def test_page_of_a_server_behind_api_gms_has_its_host(run):
    shown = run("get", "rest:https://ann:secret@data.example.com/api/gms", ORDERS).stdout
    assert "https://data.example.com/dataset/" in shown
    assert "secret" not in shown
