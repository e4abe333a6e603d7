"""``lineage``, ``get``, ``runs``, ``catalog``: a small catalogue, looked at by people and by programs."""

from __future__ import annotations

import json
import re
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
    result = run("lineage", CLEAN, "--catalog", shop)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.strip("│├└─ ") for line in result.stdout.splitlines()]
    assert lines == [
        "shop.clean  postgres",
        "comes from",
        "nightly.clean  job",
        "shop.raw  postgres",
        "goes to nothing known",
    ]


def test_lineage_up_or_down_leaves_the_other_side_out(run, shop):
    assert "goes to" not in run("lineage", CLEAN, "--catalog", shop, "--up").stdout
    down = run("lineage", RAW, "--catalog", shop, "--down").stdout
    assert "comes from" not in down
    assert "shop.clean" in down


@pytest.mark.parametrize(("urn", "said"), [(RUN, "it has no lineage of its own"), (RAW, "")])
def test_what_can_have_no_lineage_is_said_to_have_none(urn, said, run, shop):
    assert said in run("lineage", urn, "--catalog", shop).stderr
    assert bool(said) == bool(run("lineage", urn, "--catalog", shop).stderr)


def test_lineage_with_columns_names_the_pairs(run, shop):
    assert "id -> id  IDENTITY" in run("lineage", CLEAN, "--catalog", shop, "--columns").stdout


def test_lineage_that_goes_on_below_the_depth_says_so(run, shop):
    assert "nightly.clean  job  (goes on: --depth)" in run("lineage", CLEAN, "--catalog", shop, "--depth", "1").stdout


def test_lineage_for_programs_is_nested_json(run, shop):
    tree = json.loads(run("lineage", CLEAN, "--catalog", shop, "--json").stdout)
    assert tree["urn"] == CLEAN
    assert tree["upstream"][0]["upstream"][0]["urn"] == RAW


@pytest.mark.parametrize(("option", "start"), [("--dot", "digraph lineage {"), ("--mermaid", "flowchart LR")])
def test_lineage_is_a_picture_too(option, start, run, shop):
    result = run("lineage", CLEAN, "--catalog", shop, option)
    assert result.stdout.startswith(start)
    assert "nightly.clean" in result.stdout


def test_lineage_tree_marks_what_is_removed_and_shows_odd_names_as_they_are(run, shop, tmp_path):
    odd = _dataset("shop.[red]odd")
    with Catalog(tmp_path / shop) as catalog:
        catalog.apply(
            [
                upsert("dataset", odd, "status", {"removed": True}),
                upsert("dataset", odd, "upstreamLineage", {"upstreams": [{"dataset": RAW, "type": "COPY"}]}),
            ]
        )
    assert "shop.[red]odd  postgres  removed" in run("lineage", odd, "--catalog", shop).stdout


@pytest.mark.parametrize("urn", [_dataset("nothing"), "urn:li:dataJob:x", f"urn:li:dataJob:({FLOW})", "no urn"])
@pytest.mark.parametrize("command", [("lineage",), ("get",), ("runs",), ("lineage", "--json"), ("lineage", "--dot")])
def test_unknown_entity_is_said_on_stderr_with_exit_code_1(command, urn, run, shop):
    result = run(*command, urn, "--catalog", shop)
    assert result.exit_code == 1
    assert f"{shop} knows nothing of {urn}" in result.stderr


@pytest.mark.parametrize("command", ["lineage", "get", "runs"])
@pytest.mark.parametrize(
    "asked",
    [
        "mart.sales",
        "MART.Sales",
        "shop.mart.sales",
        _dataset("mart.sales").replace("PROD", "DEV"),
        "other.mart.sales",
        "sales",
    ],
)
def test_who_asks_by_a_name_is_told_of_the_urns_that_have_it(command, asked, run, tmp_path):
    with Catalog(tmp_path / "named.db") as catalog:
        for name in ("mart.sales", "mart.sales_old", "mart.customers"):
            catalog.apply([upsert("dataset", _dataset(name), "status", {"removed": False})])
    result = run(command, asked, "--catalog", "named.db")
    assert result.exit_code == 1
    said = result.stderr.splitlines()
    assert said[0] == f"named.db knows nothing of {asked}, but of"
    assert said[1:3] == [f"  {_dataset('mart.sales')}", f"  {_dataset('mart.sales_old')}"]


def test_no_more_than_five_of_a_name_are_told_and_none_of_a_short_one(run, tmp_path):
    with Catalog(tmp_path / "many.db") as catalog:
        catalog.apply(
            [upsert("dataset", _dataset(f"mart.sales_{number}"), "status", {"removed": False}) for number in range(9)]
        )
    assert len(run("get", "mart.sales", "--catalog", "many.db").stderr.splitlines()) == 6
    for nothing in ("ma", "100%", "m_rt", ""):
        assert run("get", nothing, "--catalog", "many.db").stderr == f"many.db knows nothing of {nothing}\n"


def test_get_shows_aspects_relations_and_points(run, shop):
    found = json.loads(run("get", JOB, "--catalog", shop).stdout)
    assert found["aspects"].keys() == {"dataJobInfo", "dataJobInputOutput"}
    assert found["name"] == "nightly.clean"
    assert len(run("get", JOB, "--catalog", shop, "--json").stdout.splitlines()) == 1


def test_get_of_one_aspect_is_its_value(run, shop):
    assert json.loads(run("get", CLEAN, "--catalog", shop, "--aspect", "datasetProperties").stdout) == {
        "customProperties": {"a": "1"},
        "tags": [],
    }
    points = json.loads(run("get", RUN, "--catalog", shop, "--aspect", "dataProcessInstanceRunEvent", "--json").stdout)
    assert [point["timestampMillis"] for point in points] == [1_700_000_001_500]
    absent = run("get", CLEAN, "--catalog", shop, "--aspect", "ownership")
    assert absent.exit_code == 1
    assert absent.stderr.endswith(" ownership\n")


def test_runs_are_a_table_like_the_runs_tab(run, shop):
    lines = run("runs", JOB, "--catalog", shop).stdout.splitlines()
    assert lines[0].split()[:3] == ["name", "status", "role"]
    assert re.split(r"\s{2,}", lines[1]) == [
        "clean try 1", "SUCCESS", "runs", "1", "2023-11-14 22:13:21", "1.5 s", "night of the 1st", "1", "0",
    ]  # fmt: skip


def test_runs_for_programs_have_children_and_inputs(run, shop):
    row = json.loads(run("runs", FLOW, "--catalog", shop, "--json").stdout)
    assert (row["urn"], row["status"], row["children"]) == (RUN, "SUCCESS", [CHILD])


def test_known_entity_without_runs_is_no_failure(run, shop):
    result = run("runs", CLEAN, "--catalog", shop)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "knows no runs of" in result.stderr


def test_dump_of_equal_catalogues_is_equal_and_sorted(run, shop):
    lines = run("catalog", "dump", "--catalog", shop).stdout.splitlines()
    urns = [json.loads(line)["entityUrn"] for line in lines]
    assert urns == sorted(urns)
    assert run("catalog", "dump", "--catalog", shop).stdout.splitlines() == lines


def test_summary_counts_what_the_catalogue_holds(run, shop):
    counts = json.loads(run("catalog", "summary", "--catalog", shop, "--json").stdout)
    assert counts["entities"]["dataProcessInstance"] == 2
    table = [line.split() for line in run("catalog", "summary", "--catalog", shop).stdout.splitlines()]
    assert ["entities", "dataJob", "1"] in table
    assert ["columns", "1"] in table


def test_file_that_is_no_catalogue_is_a_delivery_failure(run, tmp_path):
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 50)
    result = run("get", CLEAN, "--catalog", "text.db")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "not a catalogue" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("get", CLEAN, "--catalog", "absent.db"),
        ("explain", "--run", "r", "--catalog", "absent.db"),
        ("urn", "--reverse", CLEAN, "--catalog", "absent.db"),
        ("plan", "/dev/null", "--against", "catalog:absent.db"),
        ("queue", "list", "--ledger", "absent.db"),
        ("prune", "--to", "rest:http://127.0.0.1:9", "--ledger", "absent.db"),
    ],
)
def test_file_that_is_not_there_is_the_same_failure_for_all(command, run):
    result = run(*command)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "absent.db: no such catalogue or ledger (`emit --to catalog:FILE` creates a catalogue" in result.stderr


@pytest.mark.parametrize("command", [("get",), ("runs",), ("lineage",), ("urn", "--reverse")])
def test_argument_that_is_no_utf_8_is_wrong_usage(command, run, shop):
    result = run(*command, "urn:li:dataset:\udcff", "--catalog", shop)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is no UTF-8" in result.stderr


def test_lineage_that_is_very_long_ends_in_a_tree_and_goes_on_in_a_picture(run, tmp_path):
    steps = [_dataset(f"step{number}") for number in range(600)]
    rows = [
        upsert("dataset", down, "upstreamLineage", {"upstreams": [{"dataset": up, "type": "TRANSFORMED"}]})
        for up, down in pairwise(steps)
    ]
    with Catalog(tmp_path / "long.db") as catalog:
        catalog.apply(rows)
    asked = ("lineage", steps[0], "--catalog", "long.db", "--depth", "9999")
    tree = run(*asked)
    assert tree.stdout.splitlines()[-1].endswith("step120  postgres  (goes on: --depth)")
    assert "--dot and --mermaid go on" in tree.stderr
    assert '"mark":"deeper"' in run(*asked, "--json").stdout
    assert "step599" in run(*asked, "--dot").stdout


def test_lineage_has_one_form_at_a_time(run, shop):
    result = run("lineage", CLEAN, "--catalog", shop, "--json", "--dot")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "one of --json, --dot and --mermaid" in result.stderr
