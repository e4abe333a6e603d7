"""``plan`` and ``verify``: before and after a delivery, against a server, a catalogue and a file of URNs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.gms import Gms

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.datahub.timeseries import is_timeseries

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "spark.ndjson")


def counted(text):
    rows = [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]
    return {name: int(number.replace(",", "")) for name, number in rows if number != "0"}


@pytest.mark.parametrize("batches", [True, False])
def test_server_before_and_after(run, gms, batches):
    before = run("plan", EVENTS, "--to", f"rest:{gms.url}")
    assert before.exit_code == 0, before.stderr
    assert set(counted(before.stdout)) == {"new", "changed", "added", "points"}
    assert run("verify", EVENTS, "--to", f"rest:{gms.url}").exit_code == 1
    assert gms.writes == []
    run("emit", EVENTS, "--to", f"rest:{gms.url}")
    gms.batches = batches
    after = run("plan", EVENTS, "--to", f"rest:{gms.url}", "--fail-on", "new>0", "--fail-on", "changed>0")
    assert after.exit_code == 0, after.stderr
    assert set(counted(after.stdout)) == {"found", "unchanged", "points"}
    checked = run("verify", EVENTS, "--to", f"rest:{gms.url}")
    assert checked.exit_code == 0, checked.stdout
    assert "0 missing, 0 trimmed, 0 overwritten" in checked.stderr


def test_catalogue_before_and_after(run):
    run("emit", EVENTS, "--to", "catalog:c.db", "--datahub-version", "1.4")
    assert set(counted(run("plan", EVENTS, "--to", "catalog:c.db", "--datahub-version", "1.4").stdout)) == {
        "found",
        "unchanged",
        "points",
    }
    assert run("verify", EVENTS, "--to", "catalog:c.db", "--datahub-version", "1.4", "--sample", "50%").exit_code == 0
    none = run("verify", EVENTS, "--to", "catalog:c.db", "--datahub-version", "1.4", "--sample", "0.0001%")
    assert "0 held" in none.stderr
    assert "nothing was compared: no entity is in so small a sample" in none.stderr


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_file_that_is_no_catalogue_does_not_become_one(run, command):
    Path("c.db").touch()
    result = run(command, EVENTS, "--to", "catalog:c.db")
    assert result.exit_code == 3
    assert "c.db: the file is empty" in result.stderr
    assert Path("c.db").read_bytes() == b""


def test_plan_leaves_schemas_to_others_where_emit_would(run, gms):
    events = str(Path(EVENTS).with_name("client.ndjson"))
    run("emit", events, "--to", f"rest:{gms.url}")
    schemas = [key for key in gms.metadata if key[1] == "schemaMetadata"]
    gms.metadata.update({key: {"runId": "theirs", "pipelineName": "etl"} for key in schemas})
    with Catalog(gms.place) as catalog:
        catalog.apply([upsert("dataset", *key, {**catalog.aspect(*key), "hash": "theirs"}) for key in schemas])
    flags = ("--to", f"rest:{gms.url}", "--set", "schema.write=if_absent")
    assert counted(run("plan", events, "--to", f"rest:{gms.url}").stdout)["foreign"] == len(schemas) > 0
    assert "foreign" not in counted(run("plan", events, *flags).stdout)
    assert run("verify", events, "--to", f"rest:{gms.url}").exit_code == 1
    assert run("verify", events, *flags).exit_code == 0


def parts(tmp_path):
    """Write the START and the COMPLETE of a job to a file each, and return their names."""
    table = {"namespace": "postgres://h:5432", "name": "shop.public.orders"}
    for number, (kind, outputs) in enumerate((("START", []), ("COMPLETE", [table]))):
        lines_of_output = {
            "eventType": kind,
            "eventTime": f"2026-11-20T10:0{number}:00Z",
            "producer": "https://example.com/own",
            "run": {"runId": "018cc251-f400-734d-88b3-000000000001"},
            "job": {"namespace": "ns", "name": "etl.load"},
            "outputs": outputs,
        }
        (tmp_path / f"{kind}.json").write_text(json.dumps(lines_of_output))
    return "START.json", "COMPLETE.json"


def test_plan_with_a_ledger_is_what_emit_would_send(run, tmp_path):
    start, complete = parts(tmp_path)
    run("emit", start, "--to", "file:first.ndjson", "--ledger", "l.db")
    before = Path("l.db").read_bytes()
    stated = [run("plan", complete, "--to", "/dev/null", "--json", *more).stdout for more in ([], ["--ledger", "l.db"])]
    assert Path("l.db").read_bytes() == before
    dry = run("emit", complete, "--to", "file:second.ndjson", "--ledger", "l.db", "--dry-run")
    assert not Path("second.ndjson").exists()
    run("emit", complete, "--to", "file:second.ndjson", "--ledger", "l.db")
    sent = [json.loads(line) for line in Path("second.ndjson").read_text().splitlines()]
    assert f"proposals          {len(sent)}" in dry.stderr
    assert not re.search("^delivered ", dry.stderr, re.MULTILINE)
    alone, beside = ({row["urn"] for row in map(json.loads, text.splitlines())} for text in stated)
    assert beside == {one["entityUrn"] for one in sent}
    known = {"urn:li:dataFlow:(openlineage,etl,ns)", "urn:li:dataPlatform:openlineage"}  # the START stated them
    assert alone - beside == known
    again = run("plan", start, complete, "--to", "/dev/null", "--ledger", "l.db", "--fail-on", "new>0")
    assert again.exit_code == 0, again.stdout


def test_dry_run_into_a_catalogue_knows_what_is_there(run, tmp_path):
    start, complete = parts(tmp_path)
    first = run("emit", start, complete, "--to", "catalog:c.db", "--dry-run")
    assert not Path("c.db").exists()
    done = run("emit", start, complete, "--to", "catalog:c.db")
    counter = re.compile(r"^proposals +(\d+)$", re.MULTILINE)
    assert counter.findall(first.stderr) == counter.findall(done.stderr) != ["0"]
    assert counter.findall(run("emit", complete, "--to", "catalog:c.db", "--dry-run").stderr) == ["0"]


def test_catalogue_refuses_another_ledger_in_a_dry_run(run, tmp_path):
    start, _ = parts(tmp_path)
    words = ("emit", start, "--to", "catalog:c.db", "--ledger", "l.db")
    assert run(*words).stderr.splitlines()[-1] == run(*words, "--dry-run").stderr.splitlines()[-1]
    assert "its own ledger" in run(*words, "--dry-run").stderr


def test_new_entities_may_fail_a_build(run, tmp_path):
    (tmp_path / "urns.txt").write_text("")
    result = run("plan", EVENTS, "--to", "urns.txt", "--fail-on", "new>0")
    assert result.exit_code == 1
    assert "is more than was allowed" in result.stderr
    assert run("plan", EVENTS, "--to", "urns.txt", "--fail-on", "new > 1000").exit_code == 0


def test_near_misses_come_with_their_difference_and_no_rule(run, tmp_path):
    rows = [json.loads(line) for line in run("plan", EVENTS, "--to", "/dev/null", "--json").stdout.splitlines()]
    datasets = [row["urn"] for row in rows if row["kind"] == "new" and row["urn"].startswith("urn:li:dataset:")]
    (tmp_path / "urns.txt").write_text("\n".join(urn.replace(",PROD)", ",DEV)") for urn in datasets))
    shown = run("plan", EVENTS, "--to", "urns.txt").stdout
    assert counted(shown)["near"] == len(datasets) > 0
    assert shown.count("  env\n") == len(datasets)
    assert "rule" not in shown


def test_verify_finds_aspects_trimmed_by_the_server(run, gms):
    run("emit", EVENTS, "--to", f"rest:{gms.url}")
    held = gms.entities

    def without_properties(aspect):
        return {**aspect, "value": {key: item for key, item in aspect["value"].items() if key != "customProperties"}}

    gms.entities = lambda wanted: {
        urn: {name: without_properties(aspect) for name, aspect in aspects.items()}
        for urn, aspects in held(wanted).items()
    }
    result = run("verify", EVENTS, "--to", f"rest:{gms.url}")
    assert result.exit_code == 1
    assert "trimmed" in result.stdout
    assert "/customProperties" in result.stdout
    rows = [json.loads(line) for line in run("verify", EVENTS, "--to", f"rest:{gms.url}", "--json").stdout.splitlines()]
    assert {row["verdict"] for row in rows} == {"trimmed"}
    assert all(row["writer"].startswith("dh_bridge dh_bridge-") for row in rows)


def test_verify_reports_proposals_refused_by_the_target(run, monkeypatch):
    run("emit", EVENTS, "--to", "catalog:c.db")
    jobs = [f"urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load{i:02})" for i in range(25)]
    refused = [patch("dataJob", job, "dataJobInfo", [{"op": "add", "path": "/x", "value": 1}]) for job in jobs]
    monkeypatch.setattr("dh_bridge.cli.verify._translated_proposals", lambda *_: iter([refused]))
    result = run("verify", EVENTS, "--to", "catalog:c.db")
    assert result.exit_code == 1
    assert result.stdout == ""
    lines_of_output = result.stderr.splitlines()
    assert [line.split()[1] for line in lines_of_output[:20]] == jobs[:20]
    assert all(line.startswith("refused: ") and "which is required" in line for line in lines_of_output[:20])
    assert lines_of_output[20:] == [
        "… and 5 more are refused",
        "0 held, 0 missing, 0 trimmed, 0 overwritten; 0 points were not read",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "--to", "catalog:x.db"), "pass EVENTS, or --ledger"),
        (("verify", EVENTS, "--to", "catalog:x.db", "--run", "r"), "EVENTS and --run exclude each other"),
        (("plan", EVENTS, "--to", "file:x.json"), "cannot be read: use rest:URL"),
        (("plan", EVENTS, "--to", "x", "--fail-on", "new=0"), "write COUNT>NUMBER"),
        (("plan", EVENTS, "--to", "https://ann:secret@datahub:8080"), "'https://datahub:8080' cannot be read"),
        (("plan", EVENTS, "--to", "rest:http://ann:secret@datahub:8080"), "--to: the address contains a user"),
        (("plan", EVENTS, "--to", "rest:"), "--to: no DataHub server is set"),
        (("verify", EVENTS, "--to", "/dev/null"), "holds no aspects"),
        (("verify", EVENTS, "--to", "rest:", "--sample", "some"), "is not a share"),
        (("verify", EVENTS, "--to", "rest:", "--sample", "0"), "is not a share"),
    ],
)
def test_wrong_usage_is_exit_code_2(run, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "secret" not in result.stderr


def test_delivery_is_checked_by_the_ledger_that_sent_it(run, gms):
    place = ("--to", f"rest:{gms.url}", "--ledger", "ledger.db")
    for name, run_id in (("dbt", "first"), ("spark", "second")):
        events = str(Path(EVENTS).with_name(f"{name}.ndjson"))
        result = run("emit", events, "--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--run-id", run_id)
        assert result.exit_code == 0, result.stderr
    whole = [run("verify", *place, *flags) for flags in ((), ("--run", "first"), ("--run", "second"))]
    assert [one.exit_code for one in whole] == [0, 0, 0], [one.output for one in whole]
    held = [int(re.search(r"([\d,]+) held", one.stderr)[1].replace(",", "")) for one in whole]
    assert held[0] >= max(held[1:]) > 50
    urn = next(one.entity_urn for one in gms.proposals if "spark" in one.entity_urn and one.entity_type == "dataJob")
    with Catalog(gms.place) as catalog:
        catalog.apply([upsert("dataJob", urn, "subTypes", {"typeNames": ["Somebody else's"]})])
    gms.metadata[urn, "subTypes"] = {"runId": "theirs", "pipelineName": "etl"}
    assert run("verify", *place, "--run", "first").exit_code == 0
    assert run("verify", *place, "--run", "never").exit_code == 1
    broken = run("verify", *place, "--run", "second", "--json")
    assert broken.exit_code == 1
    assert [json.loads(line) for line in broken.stdout.splitlines()] == [
        {"verdict": "overwritten", "urn": urn, "aspect": "subTypes", "paths": ["/typeNames/0"], "writer": "etl theirs"}
    ]
    few = run("verify", *place, "--sample", "20%")
    assert 0 < int(re.search(r"([\d,]+) held", few.stderr)[1].replace(",", "")) < held[0]


def test_all_that_a_delivery_sent_is_compared(run, gms):
    events = str(Path(EVENTS).with_name("client.ndjson"))
    run("emit", events, "--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--run-id", "first")
    result = run("verify", "--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--run", "first")
    assert any(one.aspect_name == "dataPlatformInfo" for one in gms.proposals)  # what no event states
    sent = {(one.entity_urn, one.aspect_name) for one in gms.proposals if not is_timeseries(one.aspect_name)}
    assert result.stderr.splitlines()[1:] == [
        f"{len(sent)} held, 0 missing, 0 trimmed, 0 overwritten; 0 points were not read"
    ]


def test_verify_counts_aspects_without_ledger_state(run, gms):
    run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "ledger.db")
    with Catalog("ledger.db") as file:
        file.connection.execute("UPDATE run SET state = NULL")
    result = run("verify", "--to", f"rest:{gms.url}", "--ledger", "ledger.db")
    assert result.exit_code == 0, result.stdout
    assert int(re.search(r"^(\d+) aspects are not compared", result.stderr, re.MULTILINE)[1]) > 10


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_forbidden_entity_is_reported_and_the_others_compared(run, gms, command):
    run("emit", EVENTS, "--to", f"rest:{gms.url}")
    urn = min(one.entity_urn for one in gms.proposals if one.entity_type == "dataset")
    gms.forbidden = {urn}
    result = run(command, EVENTS, "--to", f"rest:{gms.url}")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert f"not compared: 1 entities, such as {urn}: the token's user may not read them (403)" in result.stderr
    assert urn not in result.stdout


@pytest.mark.parametrize(("version", "refusals"), [("0.15.0", 1), ("1.4.0", 0)])
def test_job_that_0_15_0_cannot_read_is_reported_as_refused(run, tmp_path, version, refusals):
    event = {
        "eventType": "COMPLETE", "eventTime": "2024-05-01T10:00:00Z", "producer": "https://example.com/me",
        "run": {"runId": "01890d3e-0000-7000-8000-000000000001"}, "job": {"namespace": "a)b", "name": "shop.load"},
        "outputs": [{"namespace": "s3://lake", "name": "orders"}],
    }  # fmt: skip
    Path("e.ndjson").write_text(json.dumps(event))
    Path("urns.txt").write_text("urn:li:corpuser:ann")
    reason = "a%29b),shop.load): DataHub 0.15.0 cannot read an unbalanced parenthesis"
    with Gms(tmp_path / "gms.db", version=version) as server:
        run("emit", "e.ndjson", "--to", f"rest:{server.url}")
        for place in (f"rest:{server.url}", "urns.txt"):
            profile = () if place.startswith("rest:") else ("--datahub-version", version)
            plan = run("plan", "e.ndjson", "--to", place, "--json", *profile)
            rows = [json.loads(line) for line in plan.stdout.splitlines()]
            assert [reason in row["reason"] for row in rows if row["kind"] == "refused"] == [True] * refusals
        verify = run("verify", "e.ndjson", "--to", f"rest:{server.url}")
        assert verify.exit_code == refusals, verify.stderr
        assert verify.stderr.count(reason) == refusals
        assert "0 missing" in verify.stderr
    plan = run("plan", "e.ndjson", "--to", "urns.txt", "--datahub-version", version)
    assert counted(plan.stdout).get("refused", 0) == refusals
    run("emit", "e.ndjson", "--to", "catalog:c.db", "--datahub-version", version)
    assert run("verify", "e.ndjson", "--to", "catalog:c.db", "--datahub-version", version).exit_code == 0
