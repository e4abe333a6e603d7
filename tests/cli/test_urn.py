"""``dh-bridge urn``: forward, line by line, and back."""

from __future__ import annotations

import json

import pytest

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
KEYS = ["urn", "level", "endpoint", "fqn", "system", "rule"]


def test_people_see_names_and_values(run):
    result = run("urn", "postgres://db:5432", "shop.public.orders")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert (result.exit_code, result.stderr) == (0, "")
    assert lines["urn"] == ORDERS
    assert lines["system"] == "postgres"


@pytest.mark.parametrize(
    ("options", "urn"),
    [
        ((), ORDERS),
        (("--env", "DEV"), ORDERS.replace("PROD", "DEV")),
        (("--platform-instance", "wh"), ORDERS.replace("shop.", "wh.shop.")),
        (("--set", "naming.env=QA"), ORDERS.replace("PROD", "QA")),
        (("--set", "naming.env=QA", "--env", "DEV"), ORDERS.replace("PROD", "DEV")),
    ],
)
def test_programs_get_one_json_object(options, urn, run):
    row = json.loads(run("urn", "postgres://db:5432", "shop.public.orders", "--json", *options).stdout)
    assert list(row) == KEYS
    assert row["urn"] == urn


def test_users_own_rule_goes_before_the_flags_platform_instance(run, tmp_path):
    (tmp_path / "dh_bridge.yml").write_text(
        "naming: {rules: [{namespace: 'postgres://db:5432', platform_instance: mine}]}\n"
    )
    row = json.loads(run("urn", "postgres://db:5432", "a.b.c", "--platform-instance", "other", "--json").stdout)
    assert "mine.a.b.c" in row["urn"]


def test_unknown_environment_is_refused(run):
    result = run("urn", "s3://lake", "a", "--env", "PROUD")
    assert result.exit_code == 2
    assert "flag --env: `naming.env`" in result.stderr
    assert "did you mean `PROD`?" in result.stderr


@pytest.mark.parametrize("instance", ["", "x" * 101, " x"])
def test_platform_instance_that_can_be_none_is_a_usage_error(instance, run):
    result = run("urn", "postgres://db:5432", "a.b.c", "--platform-instance", instance)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--platform-instance {instance!r}: write 1 to 100 characters" in result.stderr


def test_skipped_dataset_has_a_reason(run):
    row = json.loads(run("urn", "inmemory://", "x", "--json").stdout)
    assert (row["urn"], row["skip"]) == (None, "policy:inmemory")


def test_stdin_is_answered_line_by_line(run):
    lines = [
        '{"namespace": "s3://lake", "name": "a/b"}',
        "",
        '{"namespace": "http://catalog:8181", "name": "db.t", "select": "iceberg"}',
    ]
    result = run("urn", "-", stdin="\n".join(lines))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [row["urn"] for row in rows] == [
        "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a/b,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:iceberg,db.t,PROD)",
    ]


def test_invalid_input_lines_get_an_error_and_exit_code_1(run):
    result = run("urn", "-", stdin='{"name": "a"}\n{"namespace": "s3://lake", "name": "a"}\n[\n')
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [row.get("error", "")[:7] for row in rows] == ["line 1:", "", "line 3:"]
    assert result.stderr == "2 lines could not be answered\n"


def test_system_to_choose_that_there_is_not_is_refused(run):
    result = run("urn", "s3://lake", "a", "--select", "nosuch")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--select nosuch: unknown system; use one of delta, iceberg" in result.stderr
    answered = run("urn", "-", stdin='{"namespace": "s3://lake", "name": "a", "select": "nosuch"}')
    assert answered.exit_code == 1
    assert json.loads(answered.stdout)["error"].startswith("line 1: select nosuch: unknown system")


def test_folder_of_mappings_that_is_none_is_refused(run):
    result = run("urn", "s3://lake", "a", "--set", "mappings=nosuch")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "flag --set: `mappings` nosuch is not a folder" in result.stderr


def test_namespace_that_may_not_be_unknown_is_exit_code_1(run):
    result = run("urn", "food://x", "y", "--set", "naming.unknown=fail")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no naming system matches this namespace" in result.stderr


def test_name_is_needed(run):
    result = run("urn", "s3://lake")
    assert result.exit_code == 2
    assert "NAME is missing: dh-bridge urn NAMESPACE NAME" in result.stderr
    result = run("urn", "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a/b,PROD)")
    assert result.exit_code == 2
    assert "NAME is missing: dh-bridge urn --reverse [FILE] URN" in result.stderr


def test_swapped_name_and_namespace_get_a_hint(run):
    result = run("urn", "shop.public.orders", "postgres://db:5432", "--json")
    assert (result.exit_code, json.loads(result.stdout)["system"]) == (0, None)
    assert result.stderr.endswith(
        "The namespace is the first argument: dh-bridge urn postgres://db:5432 shop.public.orders\n"
    )
    for namespace, name in (("file", "s3://lake/a"), ("food://x", "s3://y"), ("food://x", "y"), ("s3://lake", "a")):
        assert "first argument" not in run("urn", namespace, name).stderr


def test_way_back_is_unique_where_the_urn_keeps_the_server(run):
    result = run("urn", "--reverse", "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a/b,PROD)")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "s3://lake  a/b\n", "")


def test_urn_reverse_without_a_server_name_needs_the_catalogue(run, tmp_path):
    result = run("urn", "--reverse", ORDERS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pass a catalogue before the URN: dh-bridge urn --reverse FILE URN" in result.stderr
    bag = {"openlineage.namespace": "postgres://db:5432", "openlineage.name": "shop.public.orders"}
    with Catalog(tmp_path / "c.db") as catalog:
        catalog.apply([upsert("dataset", ORDERS, "datasetProperties", {"customProperties": bag, "tags": []})])
    found = run("urn", "--reverse", "c.db", ORDERS, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout) == {"namespace": "postgres://db:5432", "name": "shop.public.orders"}


def test_several_candidates_are_shown_and_give_exit_code_1(run, monkeypatch):
    monkeypatch.setattr("dh_bridge.naming.Naming.reverse", lambda *_: [("a://x", "n"), ("b://x", "n")])
    result = run("urn", "--reverse", "anything")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "a://x  n\nb://x  n\n", "2 candidates\n")


def test_way_back_from_another_environment_names_it(run):
    dev = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a/b,DEV)"
    result = run("urn", "--reverse", dev)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == ("no candidate: names have the environment PROD, but the URN has DEV; try --env DEV\n")
    assert run("urn", "--reverse", dev, "--env", "DEV").stdout == "s3://lake  a/b\n"
    assert "does not contain the server" in run("urn", "--reverse", ORDERS.replace("PROD", "DEV")).stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-", "name"), "leave out NAME and --select"),
        (("-", "--select", "delta"), "leave out NAME and --select"),
        (("--reverse", ORDERS, "c.db"), "FILE comes before the URN: dh-bridge urn --reverse [FILE] URN"),
        (("--reverse", ORDERS, "--select", "delta"), "--reverse and --select exclude each other"),
    ],
)
def test_ineffective_options_are_a_usage_error(words, reason, run, tmp_path):
    Catalog(tmp_path / "c.db").close()
    result = run("urn", *words, stdin="")
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr


def test_line_that_cannot_be_read_is_answered_and_the_others_are(run):
    good = b'{"namespace": "s3://lake", "name": "a"}\n'
    deep = b'{"namespace": "s3://lake", "name": "a", "x": ' + b"[" * 999_999 + b"]" * 999_999 + b"}\n"
    broken = b'{"namespace": "s3://lake", "name": "\xff"}\n'
    result = run("urn", "-", stdin=b"\xef\xbb\xbf" + good + broken + deep + good)
    first, second, third, last = map(json.loads, result.stdout.splitlines())
    assert result.exit_code == 1
    assert first == last
    assert first["urn"].endswith("lake/a,PROD)")
    assert second["error"].startswith("line 2: ")
    assert third["error"].startswith("line 3: ")
