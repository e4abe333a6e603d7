"""``check`` on small inputs, each with one kind of fault: the finding, its effect, and the URNs that its rule gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dh_bridge import translate
from dh_bridge.checking import check_events
from dh_bridge.openlineage.events import Event
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import load

CASES = Path(__file__).parent / "cases"


def read_case(name):
    events = [item for item in read_events([str(CASES / name)]) if isinstance(item, Event)]
    assert events
    return events


def proposed(tmp_path, checker):
    file = tmp_path / "proposed.yml"
    file.write_text(checker.to_yaml(), encoding="utf-8")
    return load(file, environ={}).settings


def urns(events, settings, kind):
    """Return what stands between the platform and the environment, or the ids of flows and jobs."""
    proposals = translate([json.loads(event.raw) for event in events], settings=settings).proposals
    return {proposal.entity_urn for proposal in proposals if proposal.entity_urn.startswith(f"urn:li:{kind}:(")}


def datasets(events, settings):
    return {urn.partition("dataPlatform:")[2].rpartition(",")[0] for urn in urns(events, settings, "dataset")}


def flows(events, settings):
    return {urn.split(",")[1] for urn in urns(events, settings, "dataFlow")}


@pytest.mark.parametrize(
    ("case", "flow"),
    [
        ("application_hash.ndjson", "sales-daily-run"),
        ("application_number.ndjson", "acme-batch"),
        ("application_short_hash.ndjson", "acme shell"),
        ("application_uuid.ndjson", "orders-load"),
    ],
)
def test_names_per_run_become_one_flow_with_one_job(tmp_path, case, flow):
    events = read_case(case)
    sent = Settings(identity={"varying_names": "keep"})  # by default two of the forms are cut without a rule
    assert len(flows(events, sent)) == 4
    checker = check_events(events, sent)
    (finding,) = checker.findings()
    assert (finding.kind, finding.count, finding.effect) == ("name-per-run", 4, f"4 flows become 1: {flow}")
    settings = proposed(tmp_path, checker)
    assert flows(events, settings) == {flow}
    (job,) = urns(events, settings, "dataJob")
    assert job.endswith(f",{flow}.execute_insert_into_hadoop_fs_relation_command)")
    assert check_events(events, settings).findings() == []


@pytest.mark.parametrize(
    ("case", "kinds", "effects", "names"),
    [
        (
            "part_files.ndjson",
            ["part-file", "part-file"],
            ["4 datasets become 1: /examples/csv/in", "3 datasets become 1: events"],
            {"abs,raw/examples/csv/in", "s3,raw/events", "abs,raw/examples/csv/out"},
        ),
        (
            "date_folders.ndjson",
            ["dated-name", "dated-name"],
            ["4 datasets become 1: warehouse/orders", "4 datasets become 1: events"],
            {"s3,landing/events", "s3,lake/warehouse/orders"},
        ),
    ],
)
def test_files_and_days_become_one_dataset(tmp_path, case, kinds, effects, names):
    events = read_case(case)
    checker = check_events(events, Settings())
    assert [finding.kind for finding in checker.findings()] == kinds
    assert sorted(finding.effect for finding in checker.findings()) == sorted(effects)
    settings = proposed(tmp_path, checker)
    assert names - {"abs,raw/examples/csv/out"} <= datasets(events, settings)
    assert not [name for name in datasets(events, settings) if "part-" in name or "2026" in name]
    assert check_events(events, settings).findings() == []


def test_one_day_of_a_date_folder_is_a_finding_if_it_is_the_day_of_the_event(tmp_path):
    events = read_case("date_folders.ndjson")[:1]
    checker = check_events(events, Settings())
    assert {finding.kind for finding in checker.findings()} == {"dated-name"}
    assert {finding.effect for finding in checker.findings()} == {
        "one dataset instead of one for each day: events",
        "one dataset instead of one for each day: warehouse/orders",
    }
    assert datasets(events, proposed(tmp_path, checker)) == {"s3,landing/events", "s3,lake/warehouse/orders"}
    events[0].time += 40 * 86_400_000_000  # a fixed snapshot that a later run reads
    assert check_events(events, Settings()).findings() == []


def test_lineage_skips_staging_folders(tmp_path):
    events = read_case("staging_folders.ndjson")
    assert len([name for name in datasets(events, Settings()) if "exchange" in name]) == 3
    checker = check_events(events, Settings())
    (finding,) = checker.findings()
    assert (finding.kind, finding.effect) == ("staging-folder", "3 datasets are not written. Lineage skips them")
    settings = proposed(tmp_path, checker)
    assert not [name for name in datasets(events, settings) if "exchange" in name]
    assert check_events(events, settings).findings() == []


def test_random_and_temporary_tables_are_not_written(tmp_path):
    for case, count, left in (
        ("random_tables.ndjson", 2, "acme.mart.orders"),
        ("temporary_tables.ndjson", 1, "raw.orders"),
    ):
        events = read_case(case)
        checker = check_events(events, Settings())
        tables = [finding for finding in checker.findings() if finding.kind == "temporary-table"]
        assert [finding.path for finding in tables] == [("temporary", "datasets")] * count
        names = datasets(events, proposed(tmp_path, checker))
        assert any(left in name.lower() for name in names)
        assert not [name for name in names if "scratch" in name or "cache" in name or "tmp_" in name.lower()]


def test_queries_are_findings_without_a_rule():
    found = check_events(read_case("queries.ndjson"), Settings()).findings()
    assert [(finding.kind, finding.count, finding.path) for finding in found] == [
        ("query-name", 1, ()),
        ("query-name", 3, ()),
    ]
    assert found[0].examples == ("(SELECT a FROM shop.orders) AS t",)


def test_names_without_a_database_are_one_finding_for_each_server():
    found = check_events(read_case("names_without_database.json"), Settings()).findings()
    incomplete = [finding for finding in found if finding.kind == "incomplete-name"]
    assert [finding.value["namespace"] for finding in incomplete] == [
        "postgres://db:5432",
        "snowflake://acct",
        "trino://h:8080",
    ]
    assert not any(finding.sure for finding in incomplete)  # nobody but a person knows the database


def test_one_table_under_two_paths_is_a_rule_to_decide():
    events = read_case("table_with_two_paths.ndjson")
    (finding,) = check_events(events, Settings()).findings()
    assert (finding.kind, finding.path, finding.sure) == ("double-name", ("naming", "rules"), False)
    assert finding.effect == "1 dataset gets another URN"
    settings = Settings(naming={"rules": [finding.value]})
    assert len([name for name in datasets(events, settings) if "test" in name]) == 1


def test_runs_that_are_silent_for_hours_have_no_end():
    (finding,) = check_events(read_case("runs_without_end.ndjson"), Settings()).findings()
    assert (finding.kind, finding.count) == ("run-without-end", 2)
    assert finding.examples[0].endswith(" of lake w.execute_insert")
