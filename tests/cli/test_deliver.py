"""``translate``, ``emit``, ``explain``, ``identity``: what goes to stdout, what to stderr, and the exit code."""

from __future__ import annotations

import json

import pytest

from dh_bridge.catalog.store import Catalog
from dh_bridge.closing import RejectedProposal
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import Delivery, Failure

EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2024-05-01T10:00:00Z",
    "producer": "https://example.com/me",
    "run": {"runId": "01890d3e-0000-7000-8000-000000000001"},
    "job": {"namespace": "n", "name": "j"},
    "inputs": [],
    "outputs": [],
}
URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
PROPOSAL = upsert("dataset", URN, "status", {"removed": False})
LINES = [
    {"path": "$.eventType", "outcome": "mapped", "target": "dataProcessInstanceRunEvent.status", "reason": None},
    {"path": "$.x", "outcome": "dropped", "target": None, "reason": "plan"},
]


@pytest.fixture
def events(tmp_path):
    """Return a file with a good event, and one that cannot be used."""
    path = tmp_path / "events.ndjson"
    path.write_text(json.dumps(EVENT) + "\n" + '{"eventTime": 1}\n')
    return "events.ndjson"


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.ndjson"
    path.write_text(json.dumps(EVENT) + "\n")
    return "good.ndjson"


def test_translate_writes_proposals_and_nothing_else_to_stdout(run, scripted, events):
    scripted([PROPOSAL])
    result = run("translate", events)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {
            "entityType": "dataset",
            "entityUrn": URN,
            "changeType": "UPSERT",
            "aspectName": "status",
            "aspect": {"json": {"removed": False}},
        }
    ]
    assert result.exit_code == 1
    assert result.stderr.startswith("events.ndjson:2: ")


@pytest.mark.parametrize(("fail_on", "code"), [("events", 1), ("delivery", 0), ("never", 0)])
def test_dead_letters_set_the_exit_code_of_fail_on(fail_on, code, run, scripted, events):
    scripted([PROPOSAL])
    assert run("translate", events, "--fail-on", fail_on).exit_code == code


def test_translate_reads_stdin(run, scripted):
    scripted([PROPOSAL])
    result = run("translate", "-", "--datahub-version", "1.4", stdin=json.dumps(EVENT))
    assert (result.exit_code, len(result.stdout.splitlines()), result.stderr) == (0, 1, "")


def test_report_and_dead_letters_go_to_files(run, scripted, events, tmp_path):
    scripted([PROPOSAL], LINES)
    run("translate", events, "--report", "report.ndjson", "--dead-letters", "dead.ndjson")
    report = [json.loads(line) for line in (tmp_path / "report.ndjson").read_text().splitlines()]
    assert [line["path"] for line in report] == ["$.eventType", "$.x"]
    letter = json.loads((tmp_path / "dead.ndjson").read_text())
    assert (letter["place"], letter["event"]) == ("events.ndjson:2", '{"eventTime": 1}')


@pytest.mark.parametrize("option", ["--report", "--dead-letters"])
@pytest.mark.parametrize("command", [("translate",), ("emit", "--to", "file:out.ndjson")])
def test_unwritable_report_is_an_error_before_any_output(command, option, run, good, tmp_path):
    result = run(*command, good, option, "no/such/folder/report")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{option} no/such/folder/report cannot be written: No such file" in result.stderr
    assert not (tmp_path / "out.ndjson").exists()


@pytest.mark.parametrize("option", ["--report", "--dead-letters"])
def test_catalogue_file_is_refused_for_dead_letters_and_unchanged(option, run, good, tmp_path):
    place = tmp_path / "shop.db"
    assert run("emit", good, "--to", "catalog:shop.db").exit_code == 0
    before = place.read_bytes()
    result = run("emit", good, "--to", "file:p.ndjson", option, "shop.db")
    assert result.exit_code == 2
    assert f"{option} shop.db is a catalogue or a ledger: name another file" in result.stderr
    assert place.read_bytes() == before


def test_dead_letter_location_is_printed_once(run, events, tmp_path):
    for command in ("translate", "explain", "identity"):
        line = run(command, events).stderr.splitlines()[0]
        assert (
            line
            == "events.ndjson:2: not an OpenLineage event: run, job and dataset are missing (send a RunEvent, JobEvent or DatasetEvent)"
        )
    (tmp_path / events).write_text('{"run": {"runId": "r"}, "job": {}}')
    lines = run("check", events).stdout.splitlines()
    assert "       events.ndjson:1 $.eventTime: eventTime is missing (every event requires one)" in lines


def test_profile_and_settings_reach_the_bridge(run, scripted, good):
    bridge = scripted()
    run("translate", good, "--datahub-version", "1.4", "--set", "window=3")
    assert (bridge.settings.datahub_version, bridge.settings.window) == ("1.4", 3)


def test_assumed_version_is_named_once(run, good):
    stated = "written for DataHub 1.7, the newest version; pass --datahub-version VERSION for an older server"
    assert run("translate", good, good).stderr.count(stated) == 1
    assert run("translate", good, "--datahub-version", "1.4").stderr == ""


def test_locally_rejected_proposal_is_reported_with_exit_code_1(run, scripted, good):
    scripted([PROPOSAL]).rejected.append(RejectedProposal(PROPOSAL, "dataset/status $.x: wrong"))
    result = run("translate", good)
    assert result.exit_code == 1
    assert f"not sent: {URN}: dataset/status $.x: wrong" in result.stderr


def test_many_dead_letters_are_counted_not_listed(run, scripted):
    scripted()
    result = run("translate", "-", stdin="{}\n" * 30)
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["stdin", "29 more like this"]
    assert result.exit_code == 1


def test_emit_writes_a_file_and_sums_up_on_stderr(run, scripted, events, tmp_path):
    scripted([PROPOSAL], filtered={"datasets: !tmp_*": 2})
    result = run("emit", events, "--to", "file:c.ndjson")
    assert (result.exit_code, result.stdout) == (1, "")
    summed = [line.split() for line in result.stderr.splitlines()]
    for line in (["events", "1"], ["proposals", "1"], ["dead", "letters", "1"], ["delivered", "1"]):
        assert line in summed
    assert "left out by datasets: !tmp_*: 2" in result.stderr
    (line,) = (tmp_path / "c.ndjson").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["entityUrn"] == URN


def test_summary_of_several_parts_explains_repeated_counts(run, scripted, good):
    scripted([PROPOSAL])
    stated = "in 2 parts: a run, job or dataset counts once in each part that contains it"
    once, twice = (
        run("emit", *[good] * times, "--to", "file:c.ndjson", "--set", "window=1").stderr for times in (1, 2)
    )
    assert stated in twice.splitlines()
    assert "parts" not in once


def test_emit_to_a_catalogue_is_idempotent(run, good, tmp_path):
    first, again = (run("emit", good, "--to", "catalog:c.db") for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert ["proposals", "0"] in [line.split() for line in again.stderr.splitlines()]
    with Catalog(tmp_path / "c.db", readonly=True) as catalog:
        assert any(urn.startswith("urn:li:dataFlow:") for urn in catalog.entities())


@pytest.mark.parametrize(
    ("target", "form", "first"), [("p.ndjson", (), b"{"), ("p.json", (), b"["), ("p.out", ("--format", "json"), b"[")]
)
def test_emit_writes_files_in_the_format_of_their_ending(target, form, first, run, scripted, good, tmp_path):
    scripted([PROPOSAL])
    assert run("emit", good, "--to", f"file:{target}", *form).exit_code == 0
    assert (tmp_path / target).read_bytes()[:1] == first


def test_emit_to_stdout_keeps_stdout_pure(run, scripted, good):
    scripted([PROPOSAL])
    result = run("emit", good, "--to", "file:-")
    assert [json.loads(line)["aspectName"] for line in result.stdout.splitlines()] == ["status"]


def test_unknown_target_is_wrong_settings(run, scripted, good):
    scripted([PROPOSAL])
    result = run("emit", good, "--to", "ftp:x")
    assert result.exit_code == 2
    assert "use one of file:, catalog:, rest:, kafka:" in result.stderr


class _Refusing:
    """A sink that refuses every proposal, or breaks."""

    def __init__(self, error: SinkError | None) -> None:
        self.error = error

    def emit(self, proposals):
        if self.error is not None:
            raise self.error
        return Delivery(0, [Failure(proposal, "no such aspect") for proposal in proposals])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize("error", [None, SinkError("is gone", location="rest:x")])
@pytest.mark.parametrize(("fail_on", "code"), [("events", 3), ("delivery", 3), ("never", 0)])
def test_undelivered_proposals_exit_with_code_3(*, error, fail_on, code, run, scripted, events, monkeypatch):
    scripted([PROPOSAL])
    monkeypatch.setattr("dh_bridge.delivery.open_sink", lambda *_, **__: _Refusing(error))
    result = run("emit", events, "--to", "catalog:x", "--fail-on", fail_on)
    assert result.exit_code == code
    expected = "Error: rest:x: is gone" if error else f"not delivered: {URN} status: no such aspect"
    assert expected in result.stderr
    assert ["not", "delivered", "1"] in [line.split() for line in result.stderr.splitlines()]


def test_explain_lists_each_field_of_an_event(run, scripted, good):
    scripted([], LINES)
    rows = [json.loads(line) for line in run("explain", good, "--json").stdout.splitlines()]
    assert [(row["event"], row["path"], row["outcome"]) for row in rows] == [
        ("good.ndjson:1", "$.eventType", "mapped"),
        ("good.ndjson:1", "$.x", "dropped"),
    ]


def test_identity_answers_for_every_event(run, scripted, events):
    scripted()
    result = run("identity", events, "--json")
    assert json.loads(result.stdout) == {
        "event": "events.ndjson:1",
        "platform": "airflow",
        "dataJob": None,
        "rules": ["a", "b"],
    }
    assert result.exit_code == 1
    assert run("identity", events, "--fail-on", "never").stdout == (
        "event     events.ndjson:1\nplatform  airflow\nrules     a, b\n\n"
    )


def test_missing_file_is_wrong_usage(run, scripted):
    scripted()
    result = run("translate", "nowhere.ndjson")
    assert result.exit_code == 2
    assert "'nowhere.ndjson' does not exist" in result.stderr


def test_demo_s_catalogue_may_be_written_as_a_target(run, scripted, good, tmp_path):
    scripted([PROPOSAL])
    assert run("demo", good, "--to", "catalog:mine.db").exit_code == 0
    assert (tmp_path / "mine.db").is_file()


def test_demo_needs_no_checkout(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0
    assert result.stdout.startswith("events ")
    assert "dh-bridge lineage out/demo.db" in result.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_demo_sums_up_and_shows_where_a_dataset_comes_from(run, scripted, good, tmp_path):
    upstream = URN.replace("lake/a", "lake/b")
    link = upsert("dataset", URN, "upstreamLineage", {"upstreams": [{"dataset": upstream, "type": "COPY"}]})
    scripted([PROPOSAL, link], LINES)
    result = run("demo", good)
    assert (result.exit_code, result.stderr) == (0, "")
    for line in (["events", "1"], ["proposals", "2"], ["mapped", "2"], ["delivered", "2"]):
        assert line in [stated.split() for stated in result.stdout.splitlines()]
    assert "lake/b  s3" in result.stdout
    assert f"dh-bridge lineage out/demo.db '{URN}'" in result.stdout
    assert (tmp_path / "out" / "demo.db").is_file()


def test_json_array_target_is_refused_with_a_ledger(run, good, tmp_path):
    (tmp_path / "out.json").write_text("[1]")
    result = run("emit", str(good), "--to", "file:out.json", "--ledger", "l.db")
    assert result.exit_code == 2
    assert "write a .ndjson file" in result.stderr
    assert (tmp_path / "out.json").read_text() == "[1]"
    assert run("emit", str(good), "--to", "file:out.ndjson", "--ledger", "l.db").exit_code == 0


def test_settings_that_do_not_fit_a_file_leave_it_alone(run, good, tmp_path):
    (tmp_path / "read.yml").write_text("state: read\n")
    (tmp_path / "out.json").write_text("[1]")
    assert run("emit", str(good), "--to", "file:out.json", "--config", "read.yml").exit_code == 2
    assert (tmp_path / "out.json").read_text() == "[1]"
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*.partial"))


def test_demo_folder_that_cannot_be_created_is_an_error(run, tmp_path):
    (tmp_path / "out").write_text("a file")
    result = run("demo")
    assert result.exit_code == 3
    assert "out: cannot be created: File exists (pass another file with --to)" in result.stderr


def test_dry_demo_leaves_no_file(run, good, tmp_path):
    result = run("demo", str(good), "--dry-run")
    assert result.exit_code == 0
    assert "events" in result.stdout
    assert "Look further" not in result.stdout
    assert not (tmp_path / "out").exists()


def test_demo_without_lineage_shows_no_tree(run, scripted, good):
    scripted([PROPOSAL])
    assert "upstream" not in run("demo", good).stdout


def test_explain_shows_events_without_leaves_as_nothing(run, scripted):
    scripted([], [])
    result = run(
        "explain",
        "-",
        stdin='{"eventTime": 1}',
    )
    assert (result.exit_code, result.stdout) == (1, "")
