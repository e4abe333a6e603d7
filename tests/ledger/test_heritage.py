"""A run has its type from those above it, whenever they come (re-evaluated when the parent arrives)."""

from __future__ import annotations

import itertools

import pytest
from support.ledger_batches import LedgerCase
from support.sample_events import event

from dh_bridge import Settings

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"


def key(number):
    return f"018cc251-f400-734d-88b3-{number:012}"


def run(number, job, *, above=None, kind="START", second=0, facets=None, stream=False, producer=SPARK):
    stated = dict(facets or {})
    if above is not None:
        stated["parent"] = {"run": {"runId": key(above)}, "job": {"namespace": "ns", "name": "p"}}
    job_facets = {"jobType": {"processingType": "STREAMING", "integration": "X", "jobType": "JOB"}} if stream else {}
    one = event(
        kind, f"2026-11-20T10:00:{second:02}Z", run=key(number), job=job, run_facets=stated, job_facets=job_facets
    )
    return {**one, "producer": producer}


def dag_run(number=1, run_type="manual", **more):
    stated = {"airflow": {"dag": {"dag_id": "daily"}, "dagRun": {"run_id": "r", "run_type": run_type}}}
    return run(number, "daily.load", facets=stated, producer=AIRFLOW, **more)


def kind(ledger_case, number):
    return ledger_case.catalog.aspect(f"urn:li:dataProcessInstance:{key(number)}", "dataProcessInstanceProperties").get(
        "type"
    )


HISTORY = [
    dag_run(),
    run(2, "app", above=1, second=1),
    run(3, "app.sql", above=2, second=2),
    run(3, "app.sql", above=2, kind="COMPLETE", second=3),
    run(4, "other", second=4),
]


@pytest.mark.parametrize("forgetful", [False, True])
def test_run_type_is_inherited_in_any_event_order(forgetful):
    wanted = None
    for order in itertools.permutations(HISTORY):
        ledger_case = LedgerCase(forgetful=forgetful)
        ledger_case.process(*([one] for one in order))
        assert [kind(ledger_case, number) for number in (1, 2, 3, 4)] == [
            "BATCH_AD_HOC",
            "BATCH_AD_HOC",
            "BATCH_AD_HOC",
            None,
        ]
        wanted = wanted or ledger_case.dump()
        assert ledger_case.dump() == wanted


def test_own_facets_override_inherited_ones():
    own = {"nominalTime": {"nominalStartTime": "2026-11-20T10:00:00Z"}}
    ledger_case = LedgerCase()
    ledger_case.process([dag_run(), run(2, "app", above=1, facets=own), run(3, "app.sql", above=2)])
    assert [kind(ledger_case, number) for number in (1, 2, 3)] == ["BATCH_AD_HOC", "BATCH_SCHEDULED", "BATCH_SCHEDULED"]


def test_type_that_changes_above_changes_below():
    ledger_case = LedgerCase()
    ledger_case.process([dag_run()], [run(2, "app", above=1)], [run(3, "app.sql", above=2)])
    ledger_case.process([dag_run(run_type="scheduled", kind="COMPLETE", second=9)])
    assert [kind(ledger_case, number) for number in (1, 2, 3)] == ["BATCH_SCHEDULED"] * 3
    assert ledger_case.process([dag_run(run_type="scheduled", kind="COMPLETE", second=9)]) == []


def test_runs_inside_a_stream_are_streaming_despite_a_schedule():
    own = {"nominalTime": {"nominalStartTime": "2026-11-20T10:00:00Z"}}
    history = [run(1, "stream", stream=True), run(2, "stream.batch", above=1, facets=own)]
    for order in itertools.permutations(history):
        ledger_case = LedgerCase(forgetful=True)
        ledger_case.process(*([one] for one in order))
        assert (kind(ledger_case, 1), kind(ledger_case, 2)) == ("STREAMING", "STREAMING")


def test_circle_of_parents_ends_where_it_began():
    circle = [run(1, "a", above=2), run(2, "b", above=1), dag_run(3), run(3, "daily.load", above=1, producer=AIRFLOW)]
    dumps = set()
    for order in itertools.permutations(circle):
        ledger_case = LedgerCase()
        ledger_case.process(*([one] for one in order))
        dumps.add(tuple(ledger_case.dump()))
        assert (kind(ledger_case, 1), kind(ledger_case, 3)) == (None, "BATCH_AD_HOC")
    assert len(dumps) == 1


def test_pruned_parent_passes_facts_on_while_a_child_is_kept():
    few = Settings(ledger={"max_runs": 1})
    ledger_case = LedgerCase(few, forgetful=True)
    ledger_case.process([dag_run(), dag_run(kind="COMPLETE", second=1)], [run(2, "app", above=1, second=2)])
    ledger_case.process([run(2, "app", above=1, kind="COMPLETE", second=3)], [run(3, "app.sql", above=2, second=4)])
    ledger_case.process([run(3, "app.sql", above=2, kind="RUNNING", second=5)])
    assert [kind(ledger_case, number) for number in (1, 2, 3)] == ["BATCH_AD_HOC"] * 3
    rows = "SELECT run.key FROM run_ancestry JOIN run ON run.id = run"
    retained = [key for (key,) in ledger_case.catalog.connection.execute(rows)]
    ledger_case.process([run(3, "app.sql", above=2, kind="COMPLETE", second=6)], [run(4, "else", second=7)])
    left = ledger_case.catalog.connection.execute(rows).fetchall()
    assert (len(retained), left) == (3, [])


def test_pruned_parent_passes_on_inherited_facts():
    ledger_case = LedgerCase(Settings(ledger={"max_runs": 1}))
    ledger_case.process([run(1, "stream", stream=True), run(2, "task", above=1), run(3, "app", above=2)])
    ledger_case.process([run(1, "stream", kind="COMPLETE")], [run(2, "task", above=1, kind="COMPLETE")])
    assert ledger_case.catalog.connection.execute("SELECT count(*) FROM run WHERE state IS NULL").fetchone() == (2,)
    ledger_case.process([run(3, "app", above=2, kind="RUNNING", second=9)])
    assert kind(ledger_case, 3) == "STREAMING"


def test_run_that_a_mode_knows_by_two_ids_hands_down_by_both():
    """Beside DataHub's Airflow plugin a task's run has the plugin's id; its children name OpenLineage's."""
    joined = Settings(identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": "plugin"}})
    stated = {
        "airflow": {
            "dag": {"dag_id": "daily"},
            "task": {"task_id": "load"},
            "dagRun": {"run_id": "r", "run_type": "manual"},
        }
    }
    history = [run(1, "daily.load", facets=stated, producer=AIRFLOW), run(2, "app", above=1, second=1)]
    for order in itertools.permutations(history):
        for batches in ([[one] for one in order], [order]):
            ledger_case = LedgerCase(joined, forgetful=True)
            ledger_case.process(*batches)
            assert kind(ledger_case, 2) == "BATCH_AD_HOC"


@pytest.mark.parametrize("runs", ["plugin", "links"])
def test_parent_instance_is_the_written_task_id_in_any_order(runs):
    """The second try, which the child names, has another id of its own, and the same one of the plugin's."""
    joined = Settings(identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": runs}})
    stated = {"airflow": {"dag": {"dag_id": "daily"}, "task": {"task_id": "load"}, "dagRun": {"run_id": "r"}}}
    first, second = (run(number, "daily.load", above=9, facets=stated, producer=AIRFLOW) for number in (1, 3))
    history = [first, second, run(2, "app", above=3, stream=True, second=1)]
    found = set()
    for order in itertools.permutations(history):
        ledger_case = LedgerCase(joined, forgetful=True)
        ledger_case.process(*([one] for one in order))
        relationships = "dataProcessInstanceRelationships"
        found.add(ledger_case.catalog.aspect(f"urn:li:dataProcessInstance:{key(2)}", relationships)["parentInstance"])
    (task,) = found
    assert task not in {f"urn:li:dataProcessInstance:{key(number)}" for number in (1, 3)}


@pytest.mark.parametrize("runs", ["plugin", "links"])
def test_airflow_task_has_no_second_run_by_openlineage_id(runs):
    joined = Settings(identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": runs}})
    stated = {"airflow": {"dag": {"dag_id": "daily"}, "task": {"task_id": "load"}, "dagRun": {"run_id": "r"}}}
    query = run(2, "daily.load.query.1", above=1, producer=AIRFLOW, second=1)
    query["run"]["facets"]["parent"]["job"]["name"] = "daily.load"
    for order in itertools.permutations([run(1, "daily.load", facets=stated, producer=AIRFLOW), query]):
        ledger_case = LedgerCase(joined, forgetful=True)
        ledger_case.process(*([one] for one in order))
        found = ledger_case.catalog.aspects(f"urn:li:dataProcessInstance:{key(1)}")
        assert "dataProcessInstanceRelationships" not in found  # it stands in no list of the task's runs


def test_inherited_type_crosses_a_parent_with_another_id():
    """The upper one comes last: the task in between has the plugin's id, and the application names OpenLineage's."""
    joined = Settings(identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": "plugin"}})
    stated = {"airflow": {"dag": {"dag_id": "daily"}, "task": {"task_id": "load"}, "dagRun": {"run_id": "r"}}}
    history = [
        run(1, "stream", stream=True),
        run(2, "daily.load", above=1, facets=stated, producer=AIRFLOW, second=1),
        run(3, "app", above=2, second=2),
    ]
    dumps = set()
    for order in itertools.permutations(history):
        ledger_case = LedgerCase(joined, forgetful=True)
        ledger_case.process(*([one] for one in order))
        dumps.add(tuple(ledger_case.dump()))
        assert kind(ledger_case, 3) == "STREAMING"
    assert len(dumps) == 1


def test_unseen_application_shares_nothing_between_operations():
    history = [run(2, "app.one", above=1, stream=True), run(3, "app.two", above=1, second=1)]
    for order in itertools.permutations(history):
        ledger_case = LedgerCase(Settings(identity={"granularity": "application"}), forgetful=True)
        ledger_case.process(*([one] for one in order))
        assert (kind(ledger_case, 2), kind(ledger_case, 3)) == ("STREAMING", None)
