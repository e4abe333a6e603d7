"""Which runs close while a long input goes on: memory stays flat, what comes late is another call."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from support.sample_events import RUN, dataset, event, job_event, names, one

from dh_bridge import Bridge, Settings
from dh_bridge.aggregate.run_history import THINNING_INTERVAL
from dh_bridge.bridge import Counts
from dh_bridge.datahub.validation import Validator
from dh_bridge.openlineage.inputs import iter_events
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.pipeline import RunAggregator
from dh_bridge.redaction import DEFAULT, current_mode
from dh_bridge.window import MAX_SILENT_WINDOWS, Window


def due(window, *stated, size=10):
    return [window.add_event(key, ended, size) for key, ended in stated]


def test_without_a_size_nothing_is_ever_due():
    assert due(Window(None), *[("a", True)] * 50) == [[]] * 50


def test_ended_run_is_due_after_the_following_window():
    window = Window(2)
    assert due(window, ("a", True), ("b", False), ("b", False), ("b", True)) == [[], [], [], ["a"]]
    assert due(window, ("c", False), ("c", False)) == [[], ["b"]]


def test_late_event_within_the_window_keeps_its_run_open():
    window = Window(2)
    assert due(window, ("a", True), ("b", False), ("a", False), ("b", False)) == [[], [], [], []]
    assert due(window, ("c", False), ("c", False)) == [[], ["a"]]


def test_endless_run_is_due_after_windows_without_events():
    window = Window(1)
    found = due(window, ("a", False), *[("b", False)] * (MAX_SILENT_WINDOWS + 2))
    assert found == [*[[]] * (MAX_SILENT_WINDOWS + 1), ["a"], []]


def test_window_ends_early_when_its_events_are_large():
    window = Window(1000, max_bytes=100)
    assert due(window, ("a", True), ("b", False), size=60) == [[], []]
    assert due(window, ("b", False), ("b", False), size=60) == [[], ["a"]]


# -- through the bridge ----------------------------------------------------------------------------------------------


def stream(bridge, events, window):
    return list(
        bridge.stream(
            (parse_event(json.dumps(stated).encode(), f"e:{n}") for n, stated in enumerate(events)), window=window
        )
    )


def runs(count):
    for number in range(count):
        for kind in ("START", "RUNNING", "COMPLETE"):
            yield event(
                kind,
                f"2026-11-20T10:{number // 60 % 60:02}:{number % 60:02}Z",
                run=f"run-{number}",
                job=f"j{number % 7}",
            )


def pieces(bridge, events, window=None):
    given = (parse_event(json.dumps(stated).encode(), f"e:{n}") for n, stated in enumerate(events))
    return list(bridge.stream(given, window=window, piecewise=True))


@pytest.mark.parametrize("window", [None, 50])
def test_piece_by_piece_is_what_it_is_at_once(window):
    bridge, events = Bridge(), [*runs(100), *[job_event(job=f"k{number}") for number in range(9)]]
    whole, found = stream(bridge, events, window), pieces(bridge, events, window)
    assert [one for piece in found for one in piece.proposals] == [one for part in whole for one in part.proposals]
    assert max(len(piece.proposals) for piece in found) < 300
    assert window is not None or len(found) > len(whole) == 1
    totals = Counts(), Counts()
    for total, parts in zip(totals, (whole, found), strict=True):
        for part in parts:
            total.add(part.counts)
    assert totals[0] == totals[1]


def test_rejected_proposals_come_with_their_piece():
    bridge = Bridge()
    real = bridge.options.profile
    without = SimpleNamespace(
        name=real.name,
        has_aspect=lambda entity, name: name != "dataProcessInstanceProperties" and real.has_aspect(entity, name),
    )
    bridge.options.validator = Validator(without)
    whole, found = stream(bridge, runs(100), None), pieces(bridge, runs(100))
    assert sum(len(piece.rejected) for piece in found) == sum(piece.counts.rejected for piece in found) > 0
    assert [one for piece in found for one in piece.rejected] == whole[0].rejected


def test_redaction_mode_of_the_caller_applies_between_pieces():
    bridge = Bridge(Settings(redaction="off"))
    given = (parse_event(json.dumps(stated).encode(), f"e:{n}") for n, stated in enumerate(runs(100)))
    for _ in bridge.stream(given, window=None, piecewise=True):
        assert current_mode() == DEFAULT


def test_number_of_open_runs_stays_constant_over_a_long_stream(monkeypatch):
    open_runs = []
    add = RunAggregator.add

    def counting(fold, *stated):
        found = add(fold, *stated)
        open_runs.append(len(fold.runs))
        return found

    monkeypatch.setattr(RunAggregator, "add", counting)
    parts = stream(Bridge(), runs(3000), 60)
    assert len(open_runs) == 9000
    assert max(open_runs) <= 2 * 60 / 3 + 1
    assert max(open_runs[:300]) == max(open_runs[-300:])
    assert sum(part.counts.runs for part in parts) == 3000
    assert sum(part.counts.events for part in parts) == 9000


def test_runs_without_an_end_are_emitted_too():
    parts = stream(Bridge(), (event("RUNNING", run=f"run-{n}") for n in range(500)), 10)
    assert len(parts) > 40
    assert sum(part.counts.runs for part in parts) == 500


def test_windows_do_not_change_the_proposals_of_runs():
    events = list(runs(100))
    reported = [
        p for part in stream(Bridge(), events, 20) for p in part.proposals if p.entity_type == "dataProcessInstance"
    ]
    whole = [p for p in Bridge().translate(events).proposals if p.entity_type == "dataProcessInstance"]
    assert sorted(reported, key=repr) == sorted(whole, key=repr)


def test_event_after_its_run_was_emitted_is_another_call():
    early = [event("START"), event("COMPLETE", "2026-11-20T10:01:00Z", outputs=[dataset("d.s.t")])]
    between = [event("START", run=f"other-{n}") for n in range(20)]
    late = event("FAIL", "2026-11-20T10:02:00Z")
    parts = stream(Bridge(Settings(datahub_version="0.15.0")), [*early, *between, late], 5)
    mine = [part for part in parts if any(p.entity_urn.endswith(RUN) for p in part.proposals)]
    first, second = mine
    assert ("dataProcessInstance", "dataProcessInstanceProperties") in names(first)
    own = [
        (p.change_type, p.aspect_name.removeprefix("dataProcessInstance"))
        for p in second.proposals
        if p.entity_urn.endswith(RUN)
    ]
    assert own == [("CREATE", "Properties"), ("CREATE", "Relationships"), ("UPSERT", "RunEvent")]
    assert sum(part.counts.runs for part in parts) == 22


def test_job_events_close_with_their_window_and_none_is_lost():
    events = [job_event(job=f"etl.job_{n}") for n in range(50)]
    parts = stream(Bridge(), [stated for pair in zip(events, runs(50), strict=False) for stated in pair], 7)
    jobs = {
        p.entity_urn for part in parts for p in part.proposals if p.entity_type == "dataJob" and "job_" in p.entity_urn
    }
    assert len(jobs) == 50


def test_window_setting_is_used_unless_an_argument_is_passed():
    items = [parse_event(json.dumps(stated).encode()) for stated in runs(20)]
    assert len(list(Bridge(Settings(window=6)).stream(items))) > 2
    assert len(list(Bridge(Settings(window=6)).stream(items, window=None))) == 1
    assert len(list(Bridge().stream(items))) == 1


def test_each_part_has_its_own_counts_and_dead_letters():
    bridge = Bridge()
    items = [parse_event(json.dumps(stated).encode()) for stated in runs(20)]
    letters = list(iter_events(["nonsense"]))
    parts = list(bridge.stream([*letters, *items, *letters], window=6))
    assert [part.counts.dead for part in parts] == [1, *[0] * (len(parts) - 2), 1]
    assert [len(part.dead) for part in parts] == [part.counts.dead for part in parts]
    assert sum(part.counts.events for part in parts) == 60


@pytest.mark.parametrize("report", [False, True])
def test_report_of_a_part_is_of_its_own_events(report):
    items = [parse_event(json.dumps(stated).encode(), f"e:{n}") for n, stated in enumerate(runs(20))]
    parts = list(Bridge().stream(items, window=6, report=report))
    if not report:
        assert {part.report for part in parts} == {None}
        assert {part.counts.mapped for part in parts} == {None}
        return
    reported = [{line["event"] for line in part.report.lines()} for part in parts]
    assert sum(map(len, reported)) == 60
    assert set().union(*reported) == {f"e:{n}" for n in range(60)}
    assert all(part.counts.mapped == part.report.mapped for part in parts)


def test_single_event_is_one_part():
    (part,) = stream(Bridge(), [event("START")], 1)
    assert one(part, "dataProcessInstanceProperties")["name"] == RUN


def test_endless_run_has_bounded_memory():
    """A streaming job in a long input: what its events said is in its cells, and their bytes are not kept for it."""
    stated = {"run_facets": {"x": {"text": "y" * 1_000}}}
    moments = (f"2026-11-20T10:{n // 60:02}:{n % 60:02}Z" for n in range(3_500))
    raws = [json.dumps(event("RUNNING", moment, **stated)).encode() for moment in moments]
    fold = RunAggregator(Bridge().options)
    for raw in raws:
        fold.add(parse_event(raw))
    (state,) = fold.runs.values()
    assert len(state.events) < 2 * THINNING_INTERVAL
    assert sum(len(stamp[2]._raw) for stamp, _ in state.events) < THINNING_INTERVAL * len(raws[0])
