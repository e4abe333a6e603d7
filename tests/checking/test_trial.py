"""Rules are tried on all names before they are shown: a rule that fails is dropped, its finding stays."""

from __future__ import annotations

import json

import pytest

from dh_bridge.checking import check_events
from dh_bridge.checking.finding import Finding
from dh_bridge.checking.trial import NameSample, try_settings
from dh_bridge.openlineage.events import Dataset
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings import Settings

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"


def event(name, *, run=0, inputs=(), outputs=(), parent=None, day=1, producer=SPARK):
    facets = {}
    if parent is not None:
        job = {"namespace": "ns", "name": name.partition(".")[0]}
        facets["parent"] = {"run": {"runId": f"00000000-0000-4000-9000-{parent:012}"}, "job": job}
    body = {
        "eventTime": f"2026-11-{day:02}T01:00:00Z", "eventType": "COMPLETE", "producer": producer,
        "run": {"runId": f"00000000-0000-4000-8000-{run:012}", "facets": facets}, "job": {"namespace": "ns", "name": name},
        "inputs": [{"namespace": namespace, "name": name} for namespace, name in inputs],
        "outputs": [{"namespace": namespace, "name": name} for namespace, name in outputs],
    }  # fmt: skip
    return parse_event(json.dumps(body).encode(), "here")


def findings(*events, **settings):
    return check_events(events, Settings(**settings)).findings()


LAKE = "s3://lake"
DAYS = [event("w.load", run=day, day=day, outputs=[(LAKE, f"orders/2026110{day}")]) for day in (1, 2)]


def test_rule_that_would_change_another_name_is_not_shown():
    (finding,) = findings(*DAYS)
    assert finding.value == {"namespace": LAKE, "name": "orders/{part1}", "rename": "orders"}
    other = event("w.other", run=3, outputs=[(LAKE, "orders/archive")])
    (finding,) = findings(*DAYS, other)  # the pattern matches the archive, too
    assert (finding.kind, finding.path, finding.value, finding.effect) == ("dated-name", (), None, "")


def test_rule_that_another_rule_of_the_user_prevents_is_not_shown():
    rules = [{"namespace": LAKE, "name": f"orders/2026110{day}", "env": "DEV"} for day in (1, 2)]
    (finding,) = findings(*DAYS, naming={"rules": rules})
    assert (finding.kind, finding.path) == ("dated-name", ())


def test_glob_that_would_skip_another_table_is_not_shown():
    bigquery = "bigquery"
    runs = [
        event("w.load", run=run, day=run, parent=run, outputs=[(bigquery, f"p.d.x_{run}f3a19c0")]) for run in (1, 2)
    ]
    (finding,) = findings(*runs)
    assert finding.value == "bigquery/p.d.x_????????"
    (finding,) = findings(*runs, event("w.sales", run=9, outputs=[(bigquery, "p.d.x_purchase")]))
    assert (finding.kind, finding.path) == ("temporary-table", ())


def rule(value, promise, **more):
    return Finding("double-name", "text", 1, ("naming", "rules"), value, promise=promise, **more)


@pytest.mark.parametrize("has_evidence", [True, False])
def test_known_system_changes_its_platform_only_with_evidence(has_evidence):
    sample = NameSample(100)
    sample.add_dataset(Dataset(namespace="kafka://k:9092", name="shop.public.orders"))
    table = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    proposed = rule(
        {"namespace": "kafka://k:9092", "name": "shop.public.orders", "platform": "postgres"},
        {"kafka://k:9092\nshop.public.orders": table},
        has_evidence=has_evidence,
    )
    (tried,) = try_settings(Settings(), sample, [proposed])
    assert bool(tried.path) == has_evidence


def test_rule_that_does_not_give_the_promised_name_is_not_shown():
    sample = NameSample(100)
    sample.add_dataset(Dataset(namespace="postgres://p:5432", name="a.b.c"))
    value = {"namespace": "postgres://p:5432", "name": "a.b.c", "rename": "x.y.z"}
    right, wrong = (f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)" for name in ("x.y.z", "x.y.q"))
    key = "postgres://p:5432\na.b.c"
    assert [bool(try_settings(Settings(), sample, [rule(value, {key: urn})])[0].path) for urn in (right, wrong)] == [
        True,
        False,
    ]


def test_rules_are_tried_together_and_later_ones_do_not_break_earlier_ones():
    postgres = "postgres://p:5432"
    sample = NameSample(100)
    for name in ("a.b.c", "a.b.d"):
        sample.add_dataset(Dataset(namespace=postgres, name=name))

    def proposed(pattern, name, target):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:postgres,{target},PROD)"
        return rule({"namespace": postgres, "name": pattern, "rename": target}, {f"{postgres}\n{name}": urn})

    tried = try_settings(
        Settings(), sample, [proposed("a.b.c", "a.b.c", "x.y.z"), proposed("a.b.{t}", "a.b.d", "u.v.w")]
    )
    assert [bool(finding.path) for finding in tried] == [True, True]  # the second one leaves the name of the first one
    tried = try_settings(Settings(), sample, [proposed("a.b.{t}", "a.b.d", "u.v.w")])
    assert [bool(finding.path) for finding in tried] == [False]  # alone, it takes both names


def test_rule_that_is_no_setting_is_not_shown():
    broken = rule({"namespace": "postgres://p:5432", "name": "{"}, {})
    assert try_settings(Settings(), NameSample(100), [broken])[0].path == ()


# -- evidence for names of flows and jobs ---------------------------------------------------------------------------


def kinds(*events):
    return [(finding.kind, bool(finding.path)) for finding in findings(*events)]


ORDERS = {"inputs": [("s3://raw", "orders")], "outputs": [("s3://dwh", "orders")]}


def test_pipelines_with_an_id_that_run_again_are_different_flows():
    names = ("etl-7f3a19c0.x", "etl-8f3a19c1.x")
    runs = [
        event(name, run=10 * at + day, parent=10 * at + day, **ORDERS)
        for at, name in enumerate(names)
        for day in (1, 2)
    ]
    assert kinds(*runs) == []


def test_pipelines_with_an_id_and_tables_of_their_own_get_no_rule():
    names = ("etl-7f3a19c0.x", "etl-8f3a19c1.x")
    runs = [
        event(name, run=at, parent=at, outputs=[("s3://dwh", word)])
        for at, (name, word) in enumerate(zip(names, ("orders", "customers"), strict=True))
    ]
    assert kinds(*runs) == [("name-per-run", False)]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["etl-1.x", "etl-2.x", "etl-3.x"], [("name-per-run", True)]),
        (["etl-1.x", "etl-2.x"], []),
        ([f"etl-{word}.x" for word in ("happy", "calm", "brave", "eager", "jolly")], [("name-per-run", True)]),
        ([f"etl-{word}.x" for word in ("happy", "calm", "brave", "eager")], []),
    ],
)
def test_numbers_and_words_need_several_names_with_the_same_datasets(names, found):
    assert kinds(*(event(name, run=at, parent=at, **ORDERS) for at, name in enumerate(names))) == found
    without_datasets = [event(name, run=at, parent=at) for at, name in enumerate(names)]
    assert kinds(*without_datasets) == []


def test_jobs_of_a_flow_that_change_with_its_runs_become_one_job():
    runs = [event(f"etl.export_2026110{day}", run=day, day=day, parent=day, **ORDERS) for day in (1, 2)]
    (finding,) = findings(*runs, identity={"varying_names": "keep"})
    assert finding.value == {"namespace": "ns", "name": r"etl\.export_\d{8}", "flow": "etl", "job": "etl.export"}
    assert finding.effect == "2 jobs become 1: export"
    assert findings(*runs, identity={"rules": [finding.value]}) == []


def test_jobs_of_one_run_of_a_flow_are_different_jobs():
    assert kinds(*(event(f"etl.export_2026110{day}", run=day, parent=1, **ORDERS) for day in (1, 2))) == []


def test_rule_for_flows_that_would_rename_another_flow_is_not_shown():
    runs = [event(f"etl-{run}f3a19c0.x", run=run, parent=run, **ORDERS) for run in (1, 2)]
    assert kinds(*runs) == [("name-per-run", True)]
    same_form = [event("etl-3f3a19c0.x", run=run, parent=run, producer=AIRFLOW) for run in (3, 4)]  # another platform
    assert kinds(*runs, *same_form) == [("name-per-run", False)]
