"""Attempts: the number that an event states, and the result of a failed try of Airflow."""

from __future__ import annotations

import itertools

import pytest
from support.facet_cases import AIRFLOW, DPI, PARENT, event, facet, translate_events
from support.ledger_batches import LedgerCase
from support.ledger_batches import settings as chosen_settings
from support.partitions import dumped, in_parts
from support.sample_events import packed

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog

EVENT = "dataProcessInstanceRunEvent"
TASK = "daily.load"


def minute(number):
    return f"2026-11-20T01:{number:02}:00Z"


def attempt(kind, at, number=None, *, retries=2, facet_name="airflow", **more):
    """Return an event of a task's run; ``number``: the try that it states."""
    stated = {"task": {"task_id": "load", "retries": retries}, "taskInstance": {"try_number": number}}
    if facet_name == "dataRentgen_run":
        stated = {"attempt": str(number)}
    run = {facet_name: facet(**stated)} if number is not None else {}
    return event(kind, time=minute(at), producer=AIRFLOW, run={**run, **more.pop("run", {})}, **more)


def points(found, urn=DPI):
    """Return (attempt, status or result, duration in minutes) of each point."""
    return [
        (
            point["attempt"],
            point.get("result", {}).get("type", point["status"]),
            point["durationMillis"] // 60_000 if "durationMillis" in point else None,
        )
        for point in sorted(found.all(urn, EVENT), key=lambda point: point["timestampMillis"])
    ]


TWO_TRIES = [attempt("START", 1, 1), attempt("FAIL", 2, 1), attempt("START", 5, 2), attempt("COMPLETE", 9, 2)]
EXPECTED = [(1, "STARTED", None), (1, "UP_FOR_RETRY", 1), (2, "STARTED", None), (2, "SUCCESS", 4)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_each_event_belongs_to_the_attempt_that_it_states(order):
    found = translate_events([TWO_TRIES[i] for i in order])
    assert points(found) == EXPECTED
    properties = found.properties(DPI)
    assert (properties["attempt"], properties["durationMillis"], properties["eventType"]) == ("2", "240000", "COMPLETE")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # an event without a number follows the statement before it, else the first one after it, of its attempt
        ([("START", 1, 2), ("FAIL", 2, None)], [2, 2]),
        ([("START", 1, None), ("FAIL", 2, 2)], [2, 2]),
        ([("START", 1, None), ("FAIL", 2, None), ("START", 3, 2), ("FAIL", 4, None)], [1, 1, 2, 2]),
        # without a statement a START after an end opens the next attempt
        ([("START", 1, 2), ("FAIL", 2, 2), ("START", 3, None), ("COMPLETE", 4, None)], [2, 2, 3, 3]),
        # the end of the first try was lost
        ([("START", 1, 1), ("START", 3, 2), ("COMPLETE", 4, None)], [1, 2, 2]),
        # an end that states an earlier try ends that one
        ([("START", 1, 1), ("START", 3, 2), ("FAIL", 4, 1), ("COMPLETE", 5, 2)], [1, 2, 1, 2]),
    ],
)
def test_events_without_a_number_belong_to_the_attempt_around_them(events, expected):
    found = translate_events([attempt(*one) for one in events])
    assert [number for number, _, _ in points(found)] == expected
    assert found.properties(DPI)["attempt"] == str(max(expected))


def test_last_attempt_decides_even_if_an_earlier_one_ends_later():
    found = translate_events(
        [attempt("START", 1, 1), attempt("START", 3, 2), attempt("COMPLETE", 5, 2), attempt("FAIL", 7, 1)]
    )
    assert found.properties(DPI)["eventType"] == "COMPLETE"
    assert [result for _, result, _ in points(found)] == ["STARTED", "STARTED", "SUCCESS", "UP_FOR_RETRY"]


def test_data_rentgen_states_attempts_too_and_wins():
    both = {"dataRentgen_run": facet(attempt="7")}
    found = translate_events(attempt("START", 1, 3, facet_name="dataRentgen_run"), attempt("FAIL", 2, 3, run=both))
    assert [number for number, _, _ in points(found)] == [3, 7]


def test_numbers_of_a_long_run_do_not_grow_without_limit():
    chosen = chosen_settings()
    ledger_case = LedgerCase(chosen)
    beats = [
        attempt("RUNNING", 1, 1) | {"eventTime": f"2026-11-20T01:01:{i // 100:02}.{i % 100:02}0Z"} for i in range(900)
    ]
    ledger_case.process([attempt("START", 0, 1), *beats, attempt("COMPLETE", 9, 1)])
    assert ledger_case.refused == []
    (record,) = [ledger_case.ledger._aggregator.runs.record(DPI)]
    attempts = next(
        elements for kind, elements in record.state.facts[DPI].items() if kind.name == "ATTEMPT"
    )  # of 902 events
    assert len(attempts) < 500


# -- failed tries of Airflow ---------------------------------------------------------------------------------------------

OF_DAG_RUN = {"parent": facet(run={"runId": PARENT}, job={"namespace": "shop", "name": "daily"})}
FAILED_TRY = [
    attempt("START", 1, 1, name=TASK, run=OF_DAG_RUN),
    attempt("FAIL", 2, 1, name=TASK, run=OF_DAG_RUN),
]


def dag_run(kind, at, *, name="daily", **states):
    run = {"airflowState": facet(**states)} if states else {}
    return event(kind, time=minute(at), producer=AIRFLOW, name=name, run_id=PARENT, run=run)


def result(found):
    """Return the result of the failed try."""
    (point,) = [point for point in found.all(DPI, EVENT) if "result" in point]
    assert point["result"]["nativeResultType"] == "airflow"
    return point["result"]["type"]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], "UP_FOR_RETRY"),
        ([dag_run("START", 0)], "UP_FOR_RETRY"),
        ([dag_run("START", 0), dag_run("COMPLETE", 9)], "FAILURE"),
        ([dag_run("FAIL", 9)], "FAILURE"),
        # by a clock that is behind
        ([dag_run("START", 0), dag_run("FAIL", 1)], "FAILURE"),
        # the DAG run ended before, and runs again
        ([dag_run("FAIL", 0), dag_run("START", 1)], "UP_FOR_RETRY"),
        ([dag_run("FAIL", 3), dag_run("START", 4)], "FAILURE"),
        ([dag_run("RUNNING", 5, dagRunState="running", tasksState={"load": "failed"})], "FAILURE"),
        ([dag_run("RUNNING", 5, dagRunState="running", tasksState={"load": "up_for_retry"})], "UP_FOR_RETRY"),
        ([dag_run("RUNNING", 5, dagRunState="running", tasksState={"other": "failed"})], "UP_FOR_RETRY"),
        ([dag_run("RUNNING", 5, dagRunState="failed", tasksState={})], "FAILURE"),
    ],
)
def test_failed_try_is_a_failure_as_soon_as_its_dag_run_ended(others, expected):
    events = [*FAILED_TRY, *others]
    assert result(translate_events(events)) == result(translate_events(events[::-1])) == expected
    dumps = []
    for order in itertools.permutations(events):
        ledger = LedgerCase(forgetful=len(dumps) % 2 == 0)
        ledger.process(*([one] for one in order))
        assert ledger.refused == []
        dumps.append(list(dump_catalog(ledger.catalog)))
    assert all(dump == dumps[0] for dump in dumps)
    last = [point for point in ledger.catalog.timeseries(DPI, EVENT) if "result" in point]
    assert [point["result"]["type"] for point in last] == [expected]


def test_failed_try_whose_own_state_is_failed_is_a_failure():
    state = {"airflowState": facet(dagRunState="failed", tasksState={})}
    found = translate_events(attempt("START", 1, 1), attempt("FAIL", 2, 1, run=state))
    assert result(found) == "FAILURE"
    assert found.properties(DPI)["airflowState.dagRunState"] == "failed"


def test_end_of_a_run_above_that_is_no_dag_run_decides_nothing():
    assert result(translate_events([*FAILED_TRY, dag_run("COMPLETE", 9, name="daily.controller")])) == "UP_FOR_RETRY"


def test_evicted_dag_run_still_decides():
    clock = [1_796_000_000.0]
    ledger = LedgerCase(Settings(datahub_version="0.15.0", ledger={"retention_days": 1}), clock=lambda: clock[0])
    ledger.process([FAILED_TRY[0]], [dag_run("START", 0), dag_run("FAIL", 9)])
    for _ in range(2):
        clock[0] += 3 * 86_400
        ledger.process([FAILED_TRY[0]], [event("START", name="other", run_id="01938a9c-0000-7000-8000-0000000000cc")])
    assert ledger.ledger._aggregator.runs.get(f"urn:li:dataProcessInstance:{PARENT}") is None
    ledger.process([FAILED_TRY[1]])
    (point,) = [point for point in ledger.catalog.timeseries(DPI, EVENT) if "result" in point]
    assert point["result"]["type"] == "FAILURE"


def test_in_parts_a_dag_run_of_another_part_decides():
    events = packed([*FAILED_TRY, dag_run("START", 0), dag_run("FAIL", 9)])
    settings = Settings(datahub_version="1.7")
    found, open_count = in_parts(events, settings)
    assert open_count == 1
    assert dumped(found) == dumped(Bridge(settings).translate(events).proposals)
    (point,) = [one.value for one in found if one.entity_urn == DPI and "result" in (one.value or {})]
    assert point["result"]["type"] == "FAILURE"
