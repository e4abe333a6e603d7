"""Names that hold control characters and turn text around: no command passes them to a terminal, and no URN holds them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from support.sample_events import dataset, event

import dh_bridge
from dh_bridge import Settings
from dh_bridge.bridge import Bridge
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.urns import is_urn
from dh_bridge.openlineage.read import read_events

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
EVIL = "a\x1b[31mb\x9b2Jc\u202ed\u2066e\x07f\x7fg\u2028h\rx"
MODES = {
    "default": {},
    "compat": {"mode": "datahub-openlineage", "endpoint": {"orchestrator": "spark"}},
    "join": {"mode": ["datahub-airflow-plugin", "datahub-dbt-source"]},
}
CLI = Path(dh_bridge.__file__).parent / "cli"


def hostile_events():
    """Return two runs whose names, columns, owners, tags and descriptions are EVIL."""
    fields = [{"name": f"c{EVIL}", "type": f"int{EVIL}", "description": EVIL}]
    schema = {"_producer": "p", "_schemaURL": "s", "fields": fields}
    inputs = [{"namespace": "postgres://db:5432", "name": f"d.s.a{EVIL}", "field": f"c{EVIL}"}]
    lineage = {"_producer": "p", "_schemaURL": "s", "fields": {f"c{EVIL}": {"inputFields": inputs}}}
    owners = {"owners": [{"name": f"urn:li:corpuser:{EVIL}", "type": EVIL}, {"name": f"team:{EVIL}"}]}
    source = dataset(f"d.s.a{EVIL}", facets={"schema": schema, "ownership": owners})
    target = dataset(f"d.s.b{EVIL}", facets={"schema": schema, "columnLineage": lineage})
    other = dataset(f"bucket/{EVIL}", f"s3://{EVIL}")
    parts = {
        "job_facets": {
            "ownership": owners,
            "documentation": {"description": EVIL},
            "tags": {"tags": [{"key": EVIL, "value": EVIL}]},
            "sql": {"query": f"select 1 -- {EVIL}"},
            "sourceCodeLocation": {"type": EVIL, "url": f"https://x/{EVIL}"},
        },
        "run_facets": {
            "errorMessage": {"message": EVIL, "programmingLanguage": EVIL, "stackTrace": EVIL},
            "parent": {"run": {"runId": f"p{EVIL}"}, "job": {"namespace": f"n{EVIL}", "name": f"p{EVIL}.q"}},
            f"own{EVIL}": {EVIL: EVIL},
        },
    }
    for kind, moment in (("START", "2026-11-20T10:00:00Z"), ("COMPLETE", "2026-11-20T10:01:00Z")):
        yield event(
            kind, moment, job=f"j{EVIL}.k{EVIL}", namespace=f"n{EVIL}", producer=f"https://p/{EVIL}",
            inputs=[source, other], outputs=[target], **parts,
        )  # fmt: skip


@pytest.fixture
def hostile():
    """Return the files of hostile events: events, a bad line, a catalogue, and a ledger whose server refuses all."""
    Path("e.ndjson").write_text("".join(json.dumps(one) + "\n" for one in hostile_events()))
    Path("bad.ndjson").write_text(json.dumps({"run": EVIL, "eventType": EVIL, "eventTime": EVIL}) + "\n" + EVIL + "\n")
    return "e.ndjson"


def looked(run, *arguments):
    """Run a command and return what it wrote, after a look at it."""
    result = run(*arguments)
    for text in (result.stdout, result.stderr):
        found = UNSAFE.search(text)
        assert found is None, (arguments, text[max(0, found.start() - 80) : found.end() + 20])
    return result


def urns_of(file, *types):
    with Catalog(file, readonly=True) as catalog:
        return [urn for kind in types for urn in catalog.entities(kind)]


def test_look_at_a_catalogue(run, hostile):
    looked(
        run, "emit", hostile, "bad.ndjson", "--to", "catalog:c.db", "--datahub-version", "1.7", "--report", "r.ndjson"
    )
    urns = urns_of("c.db", "dataset", "dataJob", "dataFlow", "dataProcessInstance", "tag")
    assert len(urns) > 6
    looked(run, "list", "c.db")
    looked(run, "get", "c.db", "--all")
    for urn in urns:
        for more in ([], ["--json"]):
            looked(run, "get", "c.db", urn, *more)
            looked(run, "runs", "c.db", urn, *more)
        for more in ([], ["--json"], ["--dot"], ["--mermaid"], ["--columns"], ["--columns", "--dot"]):
            looked(run, "lineage", "c.db", urn, *more)
    column = f"urn:li:schemaField:({urns[0]},c)"
    looked(run, "lineage", "c.db", column)
    for asked in (EVIL, f"urn:li:dataset:(urn:li:dataPlatform:postgres,{EVIL},PROD)", f"d.s.a{EVIL}"):
        for command in ("get", "runs", "lineage", "search", "assertions"):
            looked(run, command, "c.db", asked)
        looked(run, "urn", asked)
    for kind in ("datasets", "jobs", "flows", "runs", "checks"):
        looked(run, "list", "c.db", kind)
    looked(run, "runs", "c.db")
    looked(run, "lineage", "c.db")
    looked(run, "urn", "postgres://db:5432", f"d.s.a{EVIL}")
    looked(run, "urn", f"x://{EVIL}", EVIL, "--json")


def test_look_at_events(run, hostile):
    for command in ("identity", "explain", "check"):
        for more in ([], ["--json"]):
            looked(run, command, hostile, "bad.ndjson", *more)
    looked(run, "translate", hostile, "bad.ndjson")
    looked(run, "demo", hostile, "--dry-run")
    Path("other.yml").write_text("identity: {mode: datahub-openlineage}\n")
    looked(run, "identity", hostile, "--compare", "other.yml")
    Path("g").mkdir()
    Path("g/x.events.json").write_text(Path(hostile).read_text())
    looked(run, "golden", "g", "--update")
    golden = Path("g/x.proposals.ndjson")
    golden.write_bytes(b"".join(line + b"\n" for line in golden.read_bytes().splitlines()[2:]))
    assert looked(run, "golden", "g").exit_code == 1


def test_look_at_a_server_and_a_ledger(run, gms, hostile):
    gms.poison = lambda proposal: f"no {EVIL}" if proposal.entity_type == "dataset" else None
    options = ("--to", f"rest:{gms.url}", "--ledger", "l.db")
    assert looked(run, "emit", hostile, *options).exit_code == 3
    for more in ([], ["--json"], ["--dead"], ["--dead", "--json"]):
        looked(run, "queue", "list", "l.db", *more)
    for command in ("plan", "verify"):
        for more in ([], ["--json"]):
            looked(run, command, hostile, "--to", f"rest:{gms.url}", *more)
    (run_id,) = {json.loads(line)["run"]["runId"] for line in Path(hostile).read_text().splitlines()}
    for more in ([], ["--json"]):
        looked(run, "explain", "--run", run_id, "--ledger", "l.db", *more)
    looked(run, "prune", "--to", f"rest:{gms.url}", "--ledger", "l.db", "--runs-older-than", "0d", "--dry-run")


def test_arguments_and_settings_are_escaped_in_messages(run):
    Path("dh_bridge.yml").write_text(json.dumps({"pipeline_name": f"x{EVIL[:2]}", f"y{EVIL}": 1}))
    for arguments in (
        ["config", "show"], ["config", "check"], ["doctor"], [f"{EVIL}"], ["get", f"--{EVIL}"], ["--" + EVIL],
        ["emit", "x.json", "--to", EVIL], ["emit", f"{EVIL}.json", "--to", "file:-"], ["config", "show", "-c", EVIL],
        ["translate", "x.json", "--datahub-version", EVIL], ["plan", "x", "--to", "y", "--fail-on", EVIL],
        ["config", "show", "--set", f"{EVIL}=1"], ["queue", EVIL],
    ):  # fmt: skip
        looked(run, *arguments)


def test_json_with_escapes_is_the_same_json(run, hostile):
    rows = [json.loads(line) for line in run("identity", hostile, "--json").stdout.splitlines()]
    assert rows
    stated = run("translate", hostile).stdout
    assert "\\u202e" in stated
    bridge = Bridge(Settings())
    made = [one for translation in bridge.stream(read_events([hostile])) for one in translation.proposals]
    aspects = [json.loads(line)["aspect"]["json"] for line in stated.splitlines()]
    assert aspects[-len(made) :] == [one.value for one in made]


@pytest.mark.parametrize("mode", MODES)
def test_urns_contain_no_control_characters(hostile, mode):
    bridge = Bridge(Settings(datahub_version="1.7", identity=MODES[mode]))
    for translation in bridge.stream(read_events([hostile])):
        assert translation.proposals
        for one in translation.proposals:
            assert UNSAFE.search(one.entity_urn) is None
            for urn in re.findall(r'"(urn:li:[^"]*)"', json.dumps(one.value, ensure_ascii=False)):
                assert UNSAFE.search(urn) is None, urn
                assert mode == "compat" or "\n" not in urn, "the endpoint keeps the lines of SQL in a job's name"


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u061c", "\u200f"])
def test_urn_with_a_control_character_is_none(sign):
    assert not is_urn(f"urn:li:tag:a{sign}b")
    assert is_urn("urn:li:tag:a\u00e9\u200d\u00a0b"), "letters, joiners and blanks are no harm"


def test_only_the_screen_writes():
    """Every other module of the command line leaves writing to it."""
    writes = {"echo", "secho", "style", "echo_via_pager"}
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if path.stem != "terminal" and isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called != "print", path
                assert not (called.startswith("click.") and called.removeprefix("click.") in writes), path
                assert not re.match(r"sys\.std(out|err)\.(write|buffer)", called), path
