"""What a change of settings moves, and that DataHub's own command takes the file."""

from __future__ import annotations

import json

import pytest
from datahub.cli.migrate import _load_mapping_pairs
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from dh_bridge.identity_diff import (
    CYCLE,
    MERGE,
    SPLIT,
    IdentityDiff,
    Move,
    MovePlan,
    count_by_type,
    kind_of,
    plan_moves,
)
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options
from dh_bridge.settings import Settings

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
RUN = "018cc251-f400-7026-81fb-56cf8ce05681"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,{})"


def event(name, *, run=RUN, namespace="ns", io=False, producer=AIRFLOW, **job_facets):
    orders = {"namespace": "postgres://db:5432", "name": "shop.public.orders"}
    body = {
        "eventTime": "2026-01-01T00:00:00Z", "eventType": "COMPLETE", "producer": producer,
        "run": {"runId": run}, "job": {"namespace": namespace, "name": name, "facets": job_facets},
        "outputs": [orders] if io else [],
    }  # fmt: skip
    return parse_event(json.dumps(body).encode(), "here")


def plan(events, old=None, new=None):
    moves = IdentityDiff(Options(Settings(**(old or {}))), Options(Settings(**(new or {}))))
    for one in events:
        moves.see(one)
    return moves.plan()


def flow(name, cluster="ns"):
    return f"urn:li:dataFlow:(airflow,{name},{cluster})"


def job(flow_name, name, cluster="ns"):
    return f"urn:li:dataJob:({flow(flow_name, cluster)},{name})"


COMPAT = {"identity": {"mode": "datahub-openlineage"}}
PROD = {"identity": {"cluster": "prod"}}


def test_same_settings_move_nothing():
    assert plan([event("dag"), event("dag.task", io=True)]) == MovePlan([], [], [])


def test_flows_jobs_and_datasets_move_flows_first():
    found = plan([event("dag.task", io=True)], new={**PROD, "naming": {"env": "TEST"}})
    assert found == MovePlan(
        [
            Move(flow("dag"), flow("dag", "prod")),
            Move(job("dag", "dag.task"), job("dag", "dag.task", "prod")),
            Move(DATASET.format("PROD"), DATASET.format("TEST")),
        ],
        [],
        [],
    )


def test_endpoint_tasks_named_like_their_dag_are_not_moved():
    found = plan([event("dag"), event("dag.task"), event("etl", run=RUN[:-1] + "2"), event("etl", io=True)], COMPAT)
    assert found == MovePlan([], [], [job("dag", "dag")])


def test_runs_move_where_their_ids_change():
    found = plan([event("dag.task")], new={"identity": {"salt": "namespace"}})
    ((source, target, _),) = found.moves
    assert source == f"urn:li:dataProcessInstance:{RUN}"
    assert target.startswith("urn:li:dataProcessInstance:")


def test_assertions_move_with_their_dataset():
    checks = {"assertions": [{"assertion": "not_null", "column": "id", "success": True}]}
    body = {
        "eventTime": "2026-01-01T00:00:00Z", "eventType": "COMPLETE", "producer": AIRFLOW, "run": {"runId": RUN},
        "job": {"namespace": "ns", "name": "dag.task"},
        "inputs": [{"namespace": "postgres://db:5432", "name": "a.b.c", "inputFacets": {"dataQualityAssertions": checks}}],
    }  # fmt: skip
    found = plan([parse_event(json.dumps(body).encode(), "here")], new={"naming": {"env": "TEST"}})
    assert count_by_type(move.source for move in found.moves) == {"dataset": 1, "assertion": 1}


def airflow_event(**parts):
    """Return an event of an Airflow task as it was sent, with ``parts`` in place of its own."""
    body = {
        "eventTime": "2026-01-01T00:00:00Z", "eventType": "COMPLETE", "producer": AIRFLOW, "run": {"runId": RUN},
        "job": {"namespace": "ns", "name": "dag.task"}, **parts,
    }  # fmt: skip
    return parse_event(json.dumps(body).encode(), "here")


def table(name, **bags):
    return {"namespace": "postgres://db:5432", "name": f"shop.public.{name}", **bags}


def moved(found, kind):
    return [(move.source, move.target) for move in found.moves if move.entity_type == kind]


def test_datasets_that_only_a_facet_mentions_move_too():
    source = {**table("raw"), "field": "id"}
    facet = {"columnLineage": {"fields": {"id": {"inputFields": [source]}}}}
    found = plan([airflow_event(outputs=[table("orders", facets=facet)])], new={"naming": {"env": "TEST"}})
    assert moved(found, "dataset") == [
        (DATASET.format(env).replace("orders", name), DATASET.format("TEST").replace("orders", name))
        for name, env in (("orders", "PROD"), ("raw", "PROD"))
    ]


def test_parents_that_only_their_children_name_move_too():
    above = RUN[:-1] + "9"
    parent = {"parent": {"run": {"runId": above}, "job": {"namespace": "ns", "name": "outer.step"}}}
    event = airflow_event(run={"runId": RUN, "facets": parent})
    found = plan([event], new=PROD)
    assert (job("outer", "outer.step"), job("outer", "outer.step", "prod")) in moved(found, "dataJob")
    assert (flow("outer"), flow("outer", "prod")) in moved(found, "dataFlow")
    assert moved(found, "dataProcessInstance") == []
    found = plan([event], new={"identity": {"salt": "namespace"}})
    assert {source for source, _ in moved(found, "dataProcessInstance")} == {
        f"urn:li:dataProcessInstance:{run}" for run in (RUN, above)
    }
    # nobody wrote them: neither DataHub's endpoint, whose ids these are, nor a ledger that is configured not to
    for old in (COMPAT, {"ledger": {"implied_parents": False}}):
        assert "outer" not in str(plan([event], old=old, new=PROD))
    retained = plan([event], new={"ledger": {"implied_parents": False}})
    assert retained == MovePlan([], [], [flow("outer"), job("outer", "outer.step")])


def test_unwritten_entities_are_not_moved():
    audit = {"namespace": "postgres://db:5432", "name": "shop.dbt_test__audit.not_null_orders"}
    dbt = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
    named = {"namespace": "ns", "name": "test.not_null", "facets": {"jobType": {"jobType": "TEST"}}}
    found = plan([airflow_event(producer=dbt, job=named, outputs=[audit])], new={"naming": {"env": "TEST"}})
    assert found == MovePlan([], [], [])
    tasks = {"namespace": "ns", "name": "dag.load", "facets": {"airflow": {"tasks": {"extract": {}}}}}
    found = plan([airflow_event(job=tasks)], new=PROD)  # a task has no tasks
    assert moved(found, "dataJob") == [(job("dag", "dag.load"), job("dag", "dag.load", "prod"))]


def test_unwritten_datasets_stay_and_other_assertions_move():
    checks = {"assertions": [{"assertion": "not_null", "column": "id", "success": True}]}
    inputs = [table(name, inputFacets={"dataQualityAssertions": checks}) for name in ("orders", "secret")]
    new = {"naming": {"env": "TEST"}, "filters": {"datasets": ["!*.secret"]}}
    found = plan([airflow_event(inputs=inputs)], new=new)
    assert count_by_type(move.source for move in found.moves) == {"dataset": 1, "assertion": 1}
    assert count_by_type(found.unwritten_urns) == {"dataset": 1, "assertion": 1}
    assert found.unwritten_urns[0] == DATASET.format("PROD").replace("orders", "secret")


def test_equal_assertions_of_a_list_keep_their_order():
    checks = {"assertions": [{"assertion": "not_null", "success": one} for one in (True, True, False)]}
    inputs = [table("orders", inputFacets={"dataQualityAssertions": checks})]
    forth, back = (
        plan([airflow_event(inputs=inputs)], old=old, new=new).moves
        for old, new in (({}, {"naming": {"env": "TEST"}}), ({"naming": {"env": "TEST"}}, {}))
    )
    assert len(forth) == 4
    assert sorted(move[:2] for move in forth) == sorted((move.target, move.source) for move in back)


def test_tasks_without_events_move_with_their_dag():
    found = plan([event("dag", airflow={"tasks": {"silent": {}}})], new=PROD)
    assert Move(job("dag", "dag.silent"), job("dag", "dag.silent", "prod")) in found.moves


def test_job_and_dataset_events_have_no_run():
    body = {"eventTime": "2026-01-01T00:00:00Z", "producer": AIRFLOW}
    of_job = parse_event(json.dumps({**body, "job": {"namespace": "ns", "name": "dag.task"}}).encode(), "here")
    of_dataset = parse_event(
        json.dumps({**body, "dataset": {"namespace": "postgres://db:5432", "name": "shop.public.orders"}}).encode(),
        "here",
    )
    found = plan([of_job, of_dataset], new={**PROD, "naming": {"env": "TEST"}, "redaction": "off"})
    assert count_by_type(move.source for move in found.moves) == {"dataFlow": 1, "dataJob": 1, "dataset": 1}


def test_merged_entities_are_manual_moves():
    groups = {"one": ["a", "b"]}
    found = plan([event("d.t", namespace="a"), event("d.t", namespace="b")], new={"identity": {"namespaces": groups}})
    assert found.moves == found.unwritten_urns == []
    assert found.manual_moves == [
        *(Move(flow("d", cluster), flow("d", "one"), MERGE) for cluster in "ab"),
        *(Move(job("d", "d.t", cluster), job("d", "d.t", "one"), MERGE) for cluster in "ab"),
    ]


def test_split_flow_is_a_manual_move():
    rule = {"name": r"(?P<dag>fin\.[a-z]+)(?:\.(?P<task>.+))?", "flow": "{dag}"}
    new = {"identity": {"rules": [rule]}}
    events = [event("fin.a.t"), event("fin.b.t")]
    found = plan(events, new=new)
    assert found.manual_moves == [Move(flow("fin"), flow(f"fin.{letter}"), SPLIT) for letter in "ab"]
    assert found.unwritten_urns == [flow("fin")]
    found = plan([*events, event("fin")], new=new)
    assert found.unwritten_urns == []
    assert [move.reason for move in found.manual_moves] == [SPLIT, SPLIT]


def test_jobs_that_fold_into_an_application_are_merged_by_people():
    spark = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
    events = [event("app.a", producer=spark, io=True), event("app.b", producer=spark, io=True)]
    found = plan(events, new={"identity": {"granularity": "application"}})
    twin = "urn:li:dataJob:(urn:li:dataFlow:(spark,app,ns),app)"
    assert [(move.target, move.reason) for move in found.manual_moves] == [(twin, MERGE), (twin, MERGE)]


def test_move_onto_an_existing_entity_is_a_manual_move():
    rules = [{"name": "a", "flow": "b", "job": "b"}]
    found = plan([event("a"), event("b")], new={"identity": {"rules": rules}})
    assert found == MovePlan([], [Move(flow("a"), flow("b"), MERGE)], [])


def test_chain_moves_from_its_end_and_a_circle_not_at_all():
    def renamed(**names):
        return {"identity": {"rules": [{"name": old, "flow": new, "job": new} for old, new in names.items()]}}

    events = [event(name) for name in "abc"]
    found = plan(events, new=renamed(a="b", b="c", c="d"))
    assert found.moves == [Move(flow("c"), flow("d")), Move(flow("b"), flow("c")), Move(flow("a"), flow("b"))]
    found = plan(events, new=renamed(a="b", b="a", c="d"))
    assert found == MovePlan(
        [Move(flow("c"), flow("d"))], [Move(flow("a"), flow("b"), CYCLE), Move(flow("b"), flow("a"), CYCLE)], []
    )


def test_filters_count_too():
    hidden = {"filters": {"jobs": ["!dag*"]}}
    events = [event("dag.task", io=True)]
    assert plan(events, old=hidden, new=PROD) == MovePlan([], [], [])
    assert plan(events, new=hidden).unwritten_urns == [flow("dag"), job("dag", "dag.task"), DATASET.format("PROD")]


NAMES = st.sampled_from([flow(letter) for letter in "abcdef"])


@given(st.dictionaries(NAMES, st.sets(NAMES, max_size=3)))
@effort(max_examples=500, deadline=None)
def test_every_plan_is_accepted_by_datahub(tmp_path_factory, targets):
    found = plan_moves(targets)
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_text("".join(json.dumps({"source": move.source, "target": move.target}) + "\n" for move in found.moves))
    if found.moves:
        assert [(pair.source_urn, pair.target_urn) for pair in _load_mapping_pairs(str(file))] == [
            move[:2] for move in found.moves
        ]
    there = set(targets)
    for move in found.moves:
        assert move.target not in there, "something would be overwritten"
        there = there - {move.source} | {move.target}
    # every change of an entity stands in exactly one place
    changes = {(source, target) for source, others in targets.items() for target in others if source != target}
    moved_urns = [move[:2] for move in (*found.moves, *found.manual_moves)]
    assert sorted(moved_urns) == sorted(changes)
    written = {target for others in targets.values() for target in others}
    assert set(found.unwritten_urns) <= set(targets) - written


@pytest.mark.parametrize("kind", ["dataFlow", "dataJob", "somethingElse"])
def test_entity_type_is_read_from_the_urn(kind):
    assert kind_of(f"urn:li:{kind}:(a:b,c)") == kind
    assert plan_moves({f"urn:li:{kind}:a": {f"urn:li:{kind}:b"}}).moves[0].entity_type == kind
