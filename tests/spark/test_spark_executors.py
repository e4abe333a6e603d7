"""Delivery from the executors: sent again while it may help; what does not arrive is a row with its reason, the rest goes on."""

from __future__ import annotations

import json

import pytest

from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.settings.writes import WritesSettings
from dh_bridge.sinks.base import Delivery, Failure, SinkOptions
from dh_bridge.spark import executors, targets
from dh_bridge.spark.executors import DeliveryStep, failure_row
from dh_bridge.spark.rows import rows_of, to_record_batches
from dh_bridge.spark.targets import deliver_from_driver, deliver_with_retries

PROPOSALS = [upsert("dataset", f"urn:li:dataset:{number}", "status", {"removed": False}) for number in range(6)]
COLUMNS = "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string"


class Flaky:
    """A sink whose answers are said beforehand: an error, or the numbers of those that are refused or come later."""

    name = "flaky"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.batches = []

    def emit(self, proposals):
        self.batches.append([int(one.entity_urn.rpartition(":")[2]) for one in proposals])
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        failed = [
            Failure(one, *answer[number])
            for one, number in zip(proposals, self.batches[-1], strict=True)
            if number in answer
        ]
        return Delivery(len(proposals) - len(failed), failed)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()


LATE, NEVER = ("the broker is slow", True), ("is too large", False)
AWAY, CLOSED = (
    SinkError("nobody answers", location="kafka:b", retryable=True),
    SinkError("no such topic", location="kafka:b"),
)


@pytest.fixture
def pauses(monkeypatch):
    found = []
    monkeypatch.setattr(targets, "sleep", found.append)
    return found


@pytest.mark.parametrize(
    ("answers", "delivered", "failed", "batches", "broken"),
    [
        ([], 6, {}, [6], False),
        ([{2: LATE, 3: LATE, 4: NEVER}, {3: LATE}], 5, {4: "is too large"}, [6, 2, 1], False),
        ([{2: LATE}] * 4, 5, {2: "the broker is slow"}, [6, 1, 1, 1], False),
        ([AWAY, AWAY], 6, {}, [6, 6, 6], False),
        ([AWAY] * 4, 0, dict.fromkeys(range(6), "kafka:b: nobody answers"), [6] * 4, True),
        ([{5: LATE}, CLOSED], 5, {5: "kafka:b: no such topic"}, [6, 1], True),
    ],
    ids=["at once", "in part", "one never", "after a while", "never", "not any more"],
)
def test_retryable_failures_are_sent_again(pauses, answers, delivered, failed, batches, broken):
    sink = Flaky(*answers)
    done, error = deliver_with_retries(sink, PROPOSALS, 4)
    assert done.delivered_count == delivered
    assert {int(one.proposal.entity_urn[-1]): one.reason for one in done.failures} == failed
    assert [len(batch) for batch in sink.batches] == batches
    assert (error is not None) is broken
    assert pauses == [1.0, 2.0, 4.0][: len(batches) - 1]


def delivery_of(monkeypatch, sink, *, writes=None, size=2):
    """Return what an executor reports of PROPOSALS, taken ``size`` at a time, as (delivered, {number: reason})."""

    def opened(target, options):
        assert (target, options.run_id) == ("kafka:b", "mine")
        if isinstance(sink, Exception):
            raise sink
        return sink

    monkeypatch.setattr(executors, "open_sink", opened)
    monkeypatch.setattr(targets, "PROPOSALS_PER_BATCH", size)
    part = to_record_batches((failure_row(Failure(one, ""))[:5] for one in PROPOSALS), COLUMNS)
    rows = list(rows_of(DeliveryStep("kafka:b", SinkOptions(run_id="mine"), writes)(part)))
    assert [one[-1] for one in rows[:-1]] == [None] * (len(rows) - 1)
    assert [one[-2] for one in rows[:-1]] == [one[5] != "is too large" for one in rows[:-1]]
    assert rows[-1][:-1] == (None,) * 7
    assert all(json.loads(one[4]) == {"removed": False} for one in rows[:-1])
    return rows[-1][-1], {int(one[1].rpartition(":")[2]): one[5] for one in rows[:-1]}


class Rows:
    """Stands for a DataFrame of PROPOSALS of a classic session."""

    sparkSession = None

    @property
    def rdd(self):
        return self

    def select(self, *_names):
        return self

    def toLocalIterator(self, **_options):  # noqa: N802 - Spark's name
        return (failure_row(Failure(one, ""))[:5] for one in PROPOSALS)


@pytest.mark.usefixtures("pauses")
def test_driver_retries_failures_and_reports_unsent_proposals(monkeypatch):
    monkeypatch.setattr(targets, "PROPOSALS_PER_BATCH", 2)
    sink = Flaky({0: LATE}, {}, {2: NEVER}, CLOSED)
    found = list(deliver_from_driver(Rows(), sink))
    assert [done.delivered_count for done in found] == [2, 1, 0]
    assert sink.batches == [[0, 1], [0], [2, 3], [4, 5]]
    failed = {int(one.proposal.entity_urn[-1]): (one.reason, one.retryable) for done in found for one in done.failures}
    closed = ("kafka:b: no such topic", True)
    assert failed == {2: ("is too large", False), 4: closed, 5: closed}
    sink = Flaky(CLOSED)
    assert [(done.delivered_count, len(done.failures)) for done in deliver_from_driver(Rows(), sink)] == [(0, 2)] * 3
    assert sink.batches == [[0, 1]]


@pytest.mark.usefixtures("pauses")
def test_closed_target_is_not_asked_for_the_rest(monkeypatch):
    sink = Flaky({1: NEVER}, CLOSED)
    stated = dict.fromkeys(range(2, 6), "kafka:b: no such topic")
    assert delivery_of(monkeypatch, sink) == (1, {1: "is too large", **stated})
    assert sink.batches == [[0, 1], [2, 3]]


def test_target_that_cannot_be_opened_fails_all_proposals(monkeypatch):
    assert delivery_of(monkeypatch, CLOSED) == (0, dict.fromkeys(range(6), "kafka:b: no such topic"))


def test_executors_write_only_what_may_be_written(monkeypatch):
    sink = Flaky()
    assert delivery_of(monkeypatch, sink, writes=WritesSettings(aspects=["schema*"]), size=9) == (0, {})
    assert sink.batches == [[]]
