"""A run that never ends: its repeated events leave little in the file, and what was sent is not sent again."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from support.ledger_batches import NOW, LedgerCase, settings
from support.sample_events import dataset, dataset_event, event, job_event

from dh_bridge.ledger.run_history import read_history
from dh_bridge.options import Options
from dh_bridge.settings.temporary import TemporarySettings

RUN = "018cc251-f400-734d-88b3-1e3d63fe6210"
URN = f"urn:li:dataProcessInstance:{RUN}"
STREAM = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Clock:
    def __init__(self):
        self.days = 0.0

    def __call__(self):
        return NOW + self.days * 86_400


def stated(kind, minutes, **parts):
    moment = BEGAN + timedelta(minutes=minutes)
    return event(kind, f"{moment:%Y-%m-%dT%H:%M:%SZ}", run=RUN, job_facets=STREAM, **parts)


def rows(ledger_case, table="run_history", where="1"):
    return ledger_case.catalog.connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]  # noqa: S608


def streamed(days, *, every=30):
    """Return a ledger with a stream, one batch a day."""
    ledger_case = LedgerCase()
    ledger_case.process([stated("START", 0, inputs=[dataset("d.s.a")])])
    for day in range(days):
        minutes = range(day * 1440 + every, (day + 1) * 1440, every)
        ledger_case.process([stated("RUNNING", minute, outputs=[dataset(f"d.s.t{day % 5}")]) for minute in minutes])
    return ledger_case


def history_of(ledger_case):
    return read_history(ledger_case.catalog.connection, RUN, Options(settings(), is_stateful=True), location="here")


def test_story_of_a_stream_keeps_its_days():
    ledger_case = streamed(60)
    assert rows(ledger_case) < 2 * 60 + 1 + 200 + 3 * 64
    found = history_of(ledger_case).events
    times = [time for time, _ in found]
    assert found[0][1].type == "START"
    first, last = BEGAN.timestamp() * 1e6, times[-1]
    assert last - first == ((60 * 1440 - 30) * 60) * 1e6
    assert {int((time - first) // 86_400e6) for time in times} == set(range(60))
    steps = [later - earlier for earlier, later in zip(times[-200:-1], times[-199:], strict=True)]
    assert max(steps) <= 3_600e6, "the newest stay one by one"
    sent = {urn for _, one in found for urn in one.sent_aspects}
    assert sum(",d.s.t" in urn for urn in sent) == 5


def test_sent_aspects_of_thinned_events_move_to_the_next_one():
    ledger_case = LedgerCase()
    ledger_case.process([stated("START", 0)])
    for begin in range(0, 1200, 20):
        ledger_case.process(
            [stated("RUNNING", begin + minute, outputs=[dataset(f"d.s.t{begin}")]) for minute in range(1, 20)]
        )
    found = history_of(ledger_case).events
    assert len(found) < 600
    sent = {urn for _, one in found for urn in one.sent_aspects if ",d.s.t" in urn}
    assert len(sent) == 60


def test_short_run_history_is_complete():
    ledger_case = LedgerCase()
    ledger_case.process([stated("START", 0), *(stated("RUNNING", minute) for minute in range(1, 399))])
    assert len(history_of(ledger_case).events) == 399


def test_start_and_end_events_stay_in_a_long_history():
    ledger_case = LedgerCase()
    ledger_case.process([stated("START", 0), stated("FAIL", 5), stated("START", 7), stated("ABORT", 8)])
    ledger_case.process([stated("RUNNING", minute) for minute in range(10, 1400)])
    ledger_case.process([stated("RUNNING", minute) for minute in range(1400, 3000)])
    found = history_of(ledger_case).events
    assert len(found) < 600
    assert [one.type for _, one in found[:6]] == ["START", "FAIL", "START", "ABORT", "RUNNING", "RUNNING"]


def test_points_of_a_stream_are_not_sent_again_for_their_age():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    ledger_case.process([stated("START", 0)])
    for day in range(1, 100):
        clock.days = day
        sent = ledger_case.process([stated("RUNNING", day * 1440)])
        assert sum(one.aspect_name == "dataProcessInstanceRunEvent" for one in sent) == 1
    assert rows(ledger_case, "sent_point") == 100


def test_points_of_runs_that_are_gone_are_forgotten():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    ledger_case.process([stated("START", 0), stated("COMPLETE", 5)])
    before = rows(ledger_case, "sent_point")
    clock.days = 32
    ledger_case.process([event("START", "2026-11-20T10:00:00Z", run=RUN.replace("018", "019"))])
    assert (before, rows(ledger_case, "sent_point")) == (2, 1)


def test_dataset_and_job_events_leave_no_run_in_the_ledger():
    clock = Clock()
    chosen = settings(temporary=TemporarySettings(datasets=("*.tmp_*",)), datahub_version="1.7")
    ledger_case = LedgerCase(chosen, clock=clock)
    schema = {"schema": {"fields": [{"name": "id", "type": "int"}]}}
    events = [
        dataset_event(dataset("d.s.t", facets=schema)),
        dataset_event(dataset("d.s.t", facets={"documentation": {"description": "one"}})),
        dataset_event(dataset("d.s.t"), time="2026-11-20T10:00:09Z"),
        job_event(inputs=[dataset("d.s.tmp_x")], outputs=[dataset("d.s.t")]),
    ]
    ledger_case.process(events)
    before = ledger_case.dump()
    assert rows(ledger_case, "run") >= 3
    clock.days = 31
    ledger_case.process([])
    assert rows(ledger_case, "run") == 0
    assert rows(ledger_case, "run_token") == rows(ledger_case, "contribution") == 0
    ledger_case.process(events[::-1], events)
    assert ledger_case.dump() == before
    for one in events[:2]:
        clock.days += 31
        ledger_case.process([one])
        assert ledger_case.dump() == before
    assert rows(ledger_case, "run") == 1
