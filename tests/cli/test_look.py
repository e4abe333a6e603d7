"""``lineage``, ``get``, ``runs``, ``catalog``: a small catalogue, looked at by people and by programs."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert


def _dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"


def _field(name: str, column: str) -> str:
    return f"urn:li:schemaField:({_dataset(name)},{column})"


RAW, CLEAN = _dataset("shop.raw"), _dataset("shop.clean")
FLOW = "urn:li:dataFlow:(airflow,nightly,prod)"
JOB = f"urn:li:dataJob:({FLOW},clean)"
RUN, CHILD = "urn:li:dataProcessInstance:r1", "urn:li:dataProcessInstance:r2"


def _edge(urn: str) -> dict[str, str]:
    return {"destinationUrn": urn}


def _run(urn: str, name: str, started: int, template: str, **related: object):
    properties = {"name": name, "created": {"time": started, "actor": "urn:li:corpuser:datahub"}}
    event = {
        "timestampMillis": started + 1500,
        "status": "COMPLETE",
        "result": {"type": "SUCCESS", "nativeResultType": "airflow"},
        "durationMillis": 1500,
        "attempt": 1,
    }
    relations = {"parentTemplate": template, "upstreamInstances": [], **related}
    return [
        upsert("dataProcessInstance", urn, "dataProcessInstanceProperties", properties),
        upsert("dataProcessInstance", urn, "dataProcessInstanceRelationships", relations),
        upsert("dataProcessInstance", urn, "dataProcessInstanceRunEvent", event),
    ]


@pytest.fixture
def shop(tmp_path):
    """Return the file of a catalogue with one job from raw to clean, and its run inside another."""
    pair = {
        "upstreamType": "FIELD_SET",
        "upstreams": [_field("shop.raw", "id")],
        "downstreamType": "FIELD",
        "downstreams": [_field("shop.clean", "id")],
        "transformOperation": "IDENTITY",
        "confidenceScore": 1.0,
    }
    lineage = {
        "inputDatasets": [],
        "outputDatasets": [],
        "inputDatasetEdges": [_edge(RAW)],
        "outputDatasetEdges": [_edge(CLEAN)],
        "fineGrainedLineages": [pair],
    }
    proposals = [
        upsert("dataset", CLEAN, "datasetProperties", {"customProperties": {"a": "1"}, "tags": []}),
        upsert("dataFlow", FLOW, "dataFlowInfo", {"name": "nightly", "customProperties": {}}),
        upsert("dataJob", JOB, "dataJobInfo", {"name": "clean", "type": {"string": "airflow"}, "customProperties": {}}),
        upsert("dataJob", JOB, "dataJobInputOutput", lineage),
        *_run(RUN, "night of the 1st", 1_700_000_000_000, FLOW),
        *_run(CHILD, "clean try 1", 1_700_000_001_000, JOB, parentInstance=RUN),
        upsert("dataProcessInstance", CHILD, "dataProcessInstanceInput", {"inputs": [RAW]}),
    ]
    with Catalog(tmp_path / "shop.db") as catalog:
        delivery = catalog.apply(proposals)
    assert delivery.failures == []
    return "shop.db"


def test_lineage_is_a_tree_for_people(run, shop):
    result = run("lineage", shop, CLEAN)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.strip("│├└─ ") for line in result.stdout.splitlines()]
    assert lines == [
        "shop.clean  postgres",
        "upstream",
        "nightly.clean  job",
        "shop.raw  postgres",
        "no downstream",
    ]


def test_lineage_up_or_down_leaves_the_other_side_out(run, shop):
    assert "downstream" not in run("lineage", shop, CLEAN, "--up").stdout
    down = run("lineage", shop, RAW, "--down").stdout
    assert "upstream" not in down
    assert "shop.clean" in down


@pytest.mark.parametrize(("urn", "stated"), [(FLOW, "An entity of type dataFlow has no lineage."), (RAW, "")])
def test_entity_without_lineage_support_is_reported(urn, stated, run, shop):
    assert stated in run("lineage", shop, urn).stderr
    assert bool(stated) == bool(run("lineage", shop, urn).stderr)


def test_lineage_with_columns_names_the_pairs(run, shop):
    assert "id -> id  IDENTITY" in run("lineage", shop, CLEAN, "--columns").stdout


def test_lineage_beyond_the_depth_is_marked(run, shop):
    assert "nightly.clean  job  (more: --depth)" in run("lineage", shop, CLEAN, "--depth", "1").stdout


def test_lineage_for_programs_is_nested_json(run, shop):
    tree = json.loads(run("lineage", shop, CLEAN, "--json").stdout)
    assert tree["urn"] == CLEAN
    assert tree["upstream"][0]["upstream"][0]["urn"] == RAW


@pytest.mark.parametrize(("option", "start"), [("--dot", "digraph lineage {"), ("--mermaid", "flowchart LR")])
def test_lineage_is_a_picture_too(option, start, run, shop):
    result = run("lineage", shop, CLEAN, option)
    assert result.stdout.startswith(start)
    assert "nightly.clean" in result.stdout


def test_lineage_tree_marks_removed_entities_and_escapes_markup(run, shop, tmp_path):
    odd = _dataset("shop.[red]odd")
    with Catalog(tmp_path / shop) as catalog:
        catalog.apply(
            [
                upsert("dataset", odd, "status", {"removed": True}),
                upsert("dataset", odd, "upstreamLineage", {"upstreams": [{"dataset": RAW, "type": "COPY"}]}),
            ]
        )
    assert "shop.[red]odd  postgres  removed" in run("lineage", shop, odd).stdout


@pytest.mark.parametrize("urn", [_dataset("nothing"), "urn:li:dataJob:x", f"urn:li:dataJob:({FLOW})"])
@pytest.mark.parametrize("command", [("lineage",), ("get",), ("runs",), ("lineage", "--json"), ("lineage", "--dot")])
def test_unknown_entity_is_an_error_with_exit_code_1(command, urn, run, shop):
    result = run(command[0], shop, urn, *command[1:])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0] in {f"{shop} has no entity {urn}.", f"No entity named {urn!r} in {shop}."}


@pytest.fixture
def named(tmp_path):
    """Return the file of a catalogue with datasets of similar names."""
    with Catalog(tmp_path / "named.db") as catalog:
        for name in ("mart.sales", "mart.sales_old", "mart.customers"):
            catalog.apply([upsert("dataset", _dataset(name), "status", {"removed": False})])
    return "named.db"


@pytest.mark.parametrize("command", ["lineage", "get", "runs", "assertions"])
@pytest.mark.parametrize("asked", ["mart.sales", "MART.Sales", "sales"])
def test_name_that_only_one_entity_has_is_followed(command, asked, run, named):
    result = run(command, named, asked)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == f"{asked} is {_dataset('mart.sales')}"


@pytest.mark.parametrize("command", ["lineage", "get", "runs", "assertions"])
def test_ambiguous_name_lists_shell_quoted_candidates(command, run, named):
    result = run(command, named, "mart.")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "3 entities in named.db match 'mart.'. Pass one of them:",
        *(f"  '{_dataset(name)}'" for name in ("mart.sales", "mart.customers", "mart.sales_old")),
    ]


@pytest.mark.parametrize("command", ["lineage", "get", "runs"])
@pytest.mark.parametrize(
    "asked", ["shop.mart.sales", _dataset("mart.sales").replace("PROD", "DEV"), "other.mart.sales"]
)
def test_unknown_name_gets_suggestions(command, asked, run, named):
    result = run(command, named, asked)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1:] == [
        "Did you mean (2 of 2):", f"  '{_dataset('mart.sales')}'", f"  '{_dataset('mart.sales_old')}'",
    ]  # fmt: skip


def test_ambiguous_name_counts_candidates_beyond_the_list(run, tmp_path):
    with Catalog(tmp_path / "many.db") as catalog:
        catalog.apply(
            [upsert("dataset", _dataset(f"mart.sales_{number}"), "status", {"removed": False}) for number in range(29)]
        )
    lines = run("get", "many.db", "mart").stderr.splitlines()
    assert lines[0] == "29 entities in many.db match 'mart'. Pass one of them:"
    assert lines[-1] == "  9 more: dh-bridge search many.db mart --limit 0"
    assert len(lines) == 22
    for nothing in ("100%", "m_rt"):  # no wildcards
        assert run("get", "many.db", nothing).stderr == f"No entity named {nothing!r} in many.db.\n"
    assert run("get", "many.db", "").exit_code == 2


def test_get_shows_aspects_relations_and_points(run, shop):
    found = json.loads(run("get", shop, JOB).stdout)
    assert found["aspects"].keys() == {"dataJobInfo", "dataJobInputOutput"}
    assert found["name"] == "nightly.clean"
    assert len(run("get", shop, JOB, "--json").stdout.splitlines()) == 1


def test_get_of_one_aspect_is_its_value(run, shop):
    assert json.loads(run("get", shop, CLEAN, "--aspect", "datasetProperties").stdout) == {
        "customProperties": {"a": "1"},
        "tags": [],
    }
    points = json.loads(run("get", shop, RUN, "--aspect", "dataProcessInstanceRunEvent", "--json").stdout)
    assert [point["timestampMillis"] for point in points] == [1_700_000_001_500]
    absent = run("get", shop, CLEAN, "--aspect", "ownership")
    assert absent.exit_code == 1
    assert absent.stderr == f"{CLEAN} has no aspect ownership. It has: datasetProperties.\n"


def test_runs_are_a_table_like_the_runs_tab(run, shop):
    lines = run("runs", shop, JOB).stdout.splitlines()
    assert lines[0].split()[:3] == ["name", "status", "role"]
    assert re.split(r"\s{2,}", lines[1]) == [
        "clean try 1", "SUCCESS", "runs", "1", "2023-11-14 22:13:21", "1.5 s", "night of the 1st", "1", "0",
    ]  # fmt: skip


def test_runs_for_programs_have_children_and_inputs(run, shop):
    row = json.loads(run("runs", shop, FLOW, "--json").stdout)
    assert (row["urn"], row["status"], row["children"]) == (RUN, "SUCCESS", [CHILD])


def test_known_entity_without_runs_is_no_failure(run, shop):
    result = run("runs", shop, CLEAN)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"No runs of {CLEAN} in {shop} match.\n"


def test_dump_of_equal_catalogues_is_equal_and_sorted(run, shop):
    lines = run("get", shop, "--all").stdout.splitlines()
    urns = [json.loads(line)["entityUrn"] for line in lines]
    assert urns == sorted(urns)
    assert run("get", shop, "--all").stdout.splitlines() == lines


def test_catalogue_summary_counts_its_content(run, shop):
    counts = json.loads(run("list", shop, "--json").stdout)
    assert counts["entities"]["dataProcessInstance"] == 2
    table = [line.split() for line in run("list", shop).stdout.splitlines()]
    assert ["entities", "dataJob", "1"] in table
    assert ["columns", "1"] in table


def test_file_that_is_no_catalogue_is_a_delivery_failure(run, tmp_path):
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 50)
    result = run("get", "text.db", CLEAN)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "not a catalogue" in result.stderr


def _other_files(folder):
    (folder / "table.csv").write_text("a,b\n1,2\n")
    (folder / "events.json").write_text("{}")
    (folder / "empty.db").touch()
    with closing(sqlite3.connect(folder / "other.db")) as other:
        other.execute("PRAGMA journal_mode = WAL")  # a reader of such a file may create files beside it
        other.execute("CREATE TABLE t (a)")


LOOKS = [
    ("runs", "FILE"),
    ("list", "FILE"),
    ("list", "FILE", "datasets"),
    ("search", "FILE", "orders"),
    ("lineage", "FILE"),
    ("assertions", "FILE"),
    ("get", "FILE", CLEAN),
    ("get", "FILE", "--all"),
    ("urn", "--reverse", "FILE", CLEAN),
    ("explain", "FILE", "--run", "r"),
    ("queue", "list", "FILE"),
    ("plan", "/dev/null", "--to", "catalog:FILE"),
    ("verify", "/dev/null", "--to", "catalog:FILE"),
    ("prune", "--to", "catalog:FILE", "--dry-run"),
]


@pytest.mark.parametrize("command", LOOKS, ids=" ".join)
def test_look_commands_create_and_change_no_file(command, run, shop, tmp_path):
    _other_files(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("table.csv", "events.json", "empty.db", "other.db", "absent.db"):
        result = run(*(word.replace("FILE", name) for word in command))
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.startswith(f"Error: {name}: ")
    run(*(word.replace("FILE", shop) for word in command))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_log_that_a_writer_left_stays_as_it_is(run, tmp_path):
    with Catalog(tmp_path / "open.db") as catalog:
        catalog.apply(_run(RUN, "r1", 0, JOB))
        for path in tmp_path.glob("open.db*"):  # as after a kill: the rows are in the log
            shutil.copy(path, tmp_path / path.name.replace("open", "killed"))
    logs = {path: path.read_bytes() for path in tmp_path.glob("killed.db*") if path.suffix != ".db-shm"}
    assert "r1" in run("runs", "killed.db").stdout
    assert {path: path.read_bytes() for path in logs} == logs


def test_queue_takes_the_file_as_it_was_written_to(run, shop):
    assert run("queue", "list", f"catalog:{shop}").stdout == run("queue", "list", shop).stdout != ""


@pytest.mark.parametrize(
    "command",
    [
        ("get", "absent.db", CLEAN),
        ("explain", "absent.db", "--run", "r"),
        ("urn", "--reverse", "absent.db", CLEAN),
        ("plan", "/dev/null", "--to", "catalog:absent.db"),
        ("queue", "list", "absent.db"),
        ("prune", "--to", "rest:http://127.0.0.1:9", "--ledger", "absent.db"),
    ],
)
def test_file_that_is_not_there_is_the_same_failure_for_all(command, run):
    result = run(*command)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "absent.db: no such catalogue or ledger (`emit --to catalog:FILE` creates a catalogue" in result.stderr


@pytest.mark.parametrize("command", [("get", "FILE"), ("runs", "FILE"), ("lineage", "FILE"), ("urn", "--reverse")])
def test_argument_that_is_no_utf_8_is_wrong_usage(command, run, shop):
    result = run(*(shop if word == "FILE" else word for word in command), "urn:li:dataset:\udcff")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not UTF-8" in result.stderr


def test_long_lineage_is_truncated_as_a_tree_but_not_as_dot(run, tmp_path):
    steps = [_dataset(f"step{number}") for number in range(600)]
    rows = [
        upsert("dataset", down, "upstreamLineage", {"upstreams": [{"dataset": up, "type": "TRANSFORMED"}]})
        for up, down in pairwise(steps)
    ]
    with Catalog(tmp_path / "long.db") as catalog:
        catalog.apply(rows)
    asked = ("lineage", "long.db", steps[0], "--depth", "9999")
    tree = run(*asked)
    assert tree.stdout.splitlines()[-1].endswith("step120  postgres  (more: --depth)")
    assert "--dot and --mermaid have no such limit" in tree.stderr
    assert '"mark":"deeper"' in run(*asked, "--json").stdout
    assert "step599" in run(*asked, "--dot", "--limit", "0").stdout


def test_lineage_has_one_form_at_a_time(run, shop):
    result = run("lineage", shop, CLEAN, "--json", "--dot")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "only one of --json, --dot, --mermaid and --html" in result.stderr
