"""The history of a run: attempts, results, points."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from dh_bridge.aggregate.run_history import THINNING_INTERVAL, build_history, thin_events, thin_periodically
from dh_bridge.model.merge import Digest
from dh_bridge.openlineage.events import EVENT_TYPE_RANKS

VECTORS = yaml.safe_load(
    (Path(__file__).parents[1] / "identity" / "identity_vectors.yaml").read_text(encoding="utf-8")
)["attempt_vectors"]
RESULTS = {"COMPLETE": "SUCCESS", "FAIL": "FAILURE", "ABORT": "SKIPPED", None: None}
MS, SECOND = 1_000, 1_000_000
HOUR = 3600 * SECOND
STEPS = {"5m": HOUR // 12, "hour": HOUR, "day": 24 * HOUR, "off": 24 * HOUR}


def events(*stated):
    """Return (stamp, type) pairs of ``type@micros`` words."""
    found = []
    for word in stated:
        kind, _, time = word.partition("@")
        found.append(((int(time), EVENT_TYPE_RANKS.get(kind, 0), Digest(json.dumps(word).encode()), 0), kind or None))
    return found


def points(found):
    return [(point.time, point.attempt, point.result) for point in found.points]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_run_history_matches_the_spec_vectors_in_every_order(vector):
    stated = events(*(f"{one['type']}@{one['time'] * SECOND}" for one in vector["events"]))
    streaming = vector.get("processingType") == "STREAMING"
    for order in permutations(stated):
        found = build_history([*order, order[0]], streaming=streaming)
        shown = [
            {
                "time": point.time // SECOND,
                "status": "COMPLETE" if point.result else "STARTED",
                "result": RESULTS[point.result],
                "attempt": point.attempt,
            }
            for point in found.points
        ]
        assert shown == vector["expect"]


CASES = {
    "a success": (("START@0", "COMPLETE@9000"), [(0, 1, None), (9000, 1, "COMPLETE")]),
    "a failure that is followed by a COMPLETE stays one (Spark, 14 ms later)": (
        ("START@0", "FAIL@5000", "COMPLETE@19000"),
        [(0, 1, None), (5000, 1, "FAIL"), (19000, 1, "FAIL")],
    ),
    "ABORT beats COMPLETE and FAIL beats ABORT": (
        ("COMPLETE@1000", "ABORT@2000", "FAIL@3000", "COMPLETE@4000"),
        [(1000, 1, "FAIL"), (2000, 1, "FAIL"), (3000, 1, "FAIL"), (4000, 1, "FAIL")],
    ),
    "a START after the end opens the next attempt": (
        ("START@0", "FAIL@1000", "START@2000", "COMPLETE@3000"),
        [(0, 1, None), (1000, 1, "FAIL"), (2000, 2, None), (3000, 2, "COMPLETE")],
    ),
    "so does a RUNNING": (("FAIL@1000", "RUNNING@2000", "COMPLETE@3000"), [(1000, 1, "FAIL"), (3000, 2, "COMPLETE")]),
    "a second START of the same attempt is a point and no attempt": (
        ("START@0", "START@4000", "COMPLETE@9000"),
        [(0, 1, None), (4000, 1, None), (9000, 1, "COMPLETE")],
    ),
    "an OTHER and an event without a type are no point": (("OTHER@5000", "@6000"), []),
    "RUNNING of a batch run is no point": (("RUNNING@5000", "RUNNING@9000"), []),
    "a start and an end in one millisecond are the end": (("START@100", "COMPLETE@900"), [(900, 1, "COMPLETE")]),
    "of two ends in one millisecond the first stands, with the word that won": (
        ("COMPLETE@100", "FAIL@900"),
        [(100, 1, "FAIL")],
    ),
    "of two attempts' ends in one millisecond the later attempt's stands": (
        ("FAIL@100", "START@300", "COMPLETE@500"),
        [(500, 2, "COMPLETE")],
    ),
    "of two starts in one millisecond the first stands": (("START@300", "START@100"), [(100, 1, None)]),
}


@pytest.mark.parametrize("case", CASES)
def test_batch_run_leaves_these_points_in_every_order(case):
    stated, expected = CASES[case]
    for order in permutations(events(*stated)):
        assert points(build_history([*order, *order])) == expected


def test_words_of_the_run_are_those_of_its_last_attempt():
    found = build_history(events("START@0", "FAIL@5000", "COMPLETE@6000", "START@9000", "COMPLETE@12000"))
    assert (found.start, found.has_start, found.end, found.final_type, found.attempts) == (
        0,
        True,
        12000,
        "COMPLETE",
        2,
    )
    assert found.has_completed is True
    assert [stamp[0] for stamp in found.terminals] == [5000, 6000, 12000]
    assert found.last_version[0] == 12000


def test_unfinished_attempt_keeps_the_result_of_the_previous_one():
    found = build_history(events("START@0", "FAIL@5000", "START@9000"))
    assert (found.attempts, found.final_type, found.end) == (2, "FAIL", 5000)
    assert found.has_completed is False


def test_start_is_the_first_start_else_the_first_event():
    assert build_history(events("RUNNING@3", "START@7", "COMPLETE@9")).start == 7
    found = build_history(events("COMPLETE@9", "RUNNING@3"))
    assert (found.start, found.has_start) == (3, False)


def test_duration_counts_from_the_first_start_of_its_attempt():
    stated = events("START@0", "START@1000", "FAIL@5000", "START@9000", "COMPLETE@12000")
    assert [point.duration for point in build_history(stated).points] == [None, None, 5000, None, 3000]
    assert [point.duration for point in build_history(events("COMPLETE@5000")).points] == [None]
    assert [point.duration for point in build_history(events("RUNNING@0", "FAIL@9000")).points] == [None]


def test_duration_is_never_negative_if_start_follows_the_end():
    found = build_history(events("COMPLETE@1000", "START@5000"))
    assert [(point.time, point.attempt, point.duration) for point in found.points] == [
        (1000, 1, None), (5000, 2, None),
    ]  # fmt: skip


@pytest.mark.parametrize("before", [("COMPLETE@1000",), ("RUNNING@0", "COMPLETE@1000"), ("FAIL@0", "COMPLETE@1000")])
def test_start_skew_merges_a_late_start_into_the_ended_run(before):
    """Seen of Flink 2.2: COMPLETE by the JobManager's clock, and 47 ms later START by the client's."""
    for order in permutations(events(*before, "START@48000")):
        found = build_history(list(order), start_skew=10)
        word = "FAIL" if "FAIL@0" in before else "COMPLETE"
        assert (found.attempts, found.final_type, found.end, found.has_start) == (1, word, 1000, True)
        assert found.start == (1000 if len(before) == 1 else 0)
        assert points(found)[-1] == (48000, 1, word)
        assert [stamp[0] for stamp in found.terminals][-1] == 1000


@pytest.mark.parametrize(
    "stated",
    [
        ("FAIL@0", f"START@{10 * SECOND}"),
        ("START@0", "FAIL@1000", "START@2000"),
        ("FAIL@0", "START@1000", "COMPLETE@2000"),
        ("FAIL@0", "START@1000", "RUNNING@2000"),
    ],
    ids=["later", "not its only one", "another end follows", "it goes on"],
)
def test_any_other_start_after_an_end_opens_the_next_attempt(stated):
    found = build_history(events(*stated), start_skew=10)
    assert found.attempts == 2
    assert (int(stated[-2 if "START" not in stated[-1] else -1].partition("@")[2]), 2, None) in points(found)


BEAT = [f"RUNNING@{hour * HOUR + 61 * SECOND}" for hour in (0, 0, 1, 25)]


@pytest.mark.parametrize(
    ("heartbeat", "expected"),
    [("hour", [0, HOUR, 25 * HOUR]), ("day", [0, 24 * HOUR]), ("off", [])],
)
def test_streaming_run_has_one_point_per_heartbeat_interval(heartbeat, expected):
    stated = events(*BEAT)
    for order in permutations(stated):
        assert points(build_history(list(order), streaming=True, heartbeat=heartbeat)) == [
            (at, 1, None) for at in expected
        ]


def test_streaming_run_that_continues_after_its_end_is_attempt_2():
    stated = events("START@5000", "RUNNING@9000", f"FAIL@{10 * MS * 1000}", f"RUNNING@{20 * SECOND}", f"RUNNING@{HOUR}")
    assert points(build_history(stated, streaming=True)) == [
        (0, 1, None), (5000, 1, None), (10 * SECOND, 1, "FAIL"), (HOUR, 2, None),
    ]  # fmt: skip


RESTARTED = ("START@5000", "RUNNING@9000", "FAIL@10000000", "FAIL@12000000", "RUNNING@12100000")


@pytest.mark.parametrize(
    ("stated", "expected"),
    {
        "a failure alone": (RESTARTED[:3], [(0, 1, None), (5000, 1, None), (10 * SECOND, 1, "FAIL")]),
        "it goes on": (
            ("FAIL@10000000", "RUNNING@12100000"),
            [(0, 2, None), (10 * SECOND, 1, "FAIL"), (10 * SECOND + MS, 2, None)],
        ),
        "it failed twice first": (
            RESTARTED,
            [
                (0, 1, None),
                (5000, 1, None),
                (10 * SECOND, 1, "FAIL"),
                (10 * SECOND + MS, 1, "FAIL"),
                (12 * SECOND, 1, "FAIL"),
                (12 * SECOND + MS, 2, None),
            ],
        ),
        "the next end comes at once": (
            ("FAIL@0", "RUNNING@400", "COMPLETE@1000"),
            [(0, 1, "FAIL"), (1000, 2, "COMPLETE")],
        ),
    }.values(),
)
def test_run_that_its_producer_restarts_shows_so_at_once(stated, expected):
    for order in permutations(events(*stated)):
        assert points(build_history(list(order), streaming=True, restarts=True)) == expected
    assert len(points(build_history(events(*stated), streaming=True, restarts=True, heartbeat="off"))) == len(
        points(build_history(events(*stated), streaming=True, heartbeat="off"))
    )
    assert points(build_history(events(*stated), restarts=True)) == points(build_history(events(*stated)))


def test_batch_start_after_an_end_continues_the_same_attempt():
    stated = events("START@0", "START@2000", "COMPLETE@7000", "START@8000", "FAIL@9000", "START@9500", "COMPLETE@12000", "OTHER@13000")  # fmt: skip
    for order in (stated, stated[::-1], stated[4:] + stated[:4]):
        found = build_history(order, batches=True)
        assert (found.final_type, found.attempts, found.start, found.end, found.has_completed) == (
            "FAIL",
            1,
            0,
            12000,
            True,
        )
        assert points(found)[-1] == (12000, 1, "FAIL")
        assert found.points[-1].duration == 12000
    assert build_history(stated).attempts == 3


def test_within_one_attempt_a_failure_wins_in_streaming_runs_too():
    found = build_history(events("START@0", "FAIL@5000", "COMPLETE@9000"), streaming=True)
    assert (found.final_type, points(found)[-1]) == ("FAIL", (9000, 1, "FAIL"))


def test_long_run_is_read_in_good_time():
    stated = events("START@0", *(f"RUNNING@{second * SECOND}" for second in range(1, 20_000)))
    assert len(build_history([*stated, *stated], streaming=True).points) == 6


words = st.sampled_from(["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", ""])
moments = st.sampled_from([0, 400, 999, 1000, 1400, 5000, HOUR, HOUR + 1, 30 * HOUR])


@given(
    st.lists(st.tuples(words, moments), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["hour", "day", "off"]),
    st.data(),
)
def test_history_is_a_function_of_the_set_of_events(stated_events, streaming, restarts, batches, heartbeat, data):
    stated = events(*(f"{word}@{time}" for word, time in stated_events))
    shuffled = data.draw(st.permutations([*stated, *stated[:2]]))
    how = {"streaming": streaming, "restarts": restarts, "batches": batches, "heartbeat": heartbeat}
    found = build_history(stated, **how)
    assert build_history(shuffled, **how) == found
    before = {
        point.time // 1000
        for point in build_history(data.draw(st.sampled_from([stated[:-1] or stated, stated])), **how).points
    }
    assert before <= {point.time // 1000 for point in found.points}
    assert len({point.time // 1000 for point in found.points}) == len(found.points)
    ends = {time // 1000 for word, time in stated_events if word in ("COMPLETE", "FAIL", "ABORT")}
    ended = {point.time // 1000 for point in found.points if point.result}
    assert ends <= ended <= (ends | {end + 1 for end in ends} if restarts else ends)
    assert all(point.duration is None or point.duration >= 0 for point in found.points)


@given(
    st.lists(
        st.tuples(st.sampled_from([*RESULTS, "START", "RUNNING", "RUNNING", "OTHER"]), st.integers(0, 40)), max_size=14
    ),
    st.lists(st.tuples(st.sampled_from([*RESULTS, "START", "RUNNING"]), st.integers(0, 40)), max_size=4),
    st.sampled_from(["5m", "hour", "day", "off"]),
)
def test_thinned_events_change_no_run_history(stated_events, more, heartbeat):
    first = events(*{f"{kind or ''}@{time * 60 * SECOND}": None for kind, time in stated_events})
    later = events(*{f"{kind or ''}@{time * 60 * SECOND + 1}": None for kind, time in more})
    beats = [time * 60 * SECOND // STEPS[heartbeat] for kind, time in {*more} if RESULTS.get(kind)]
    assume(first and len(beats) == len({*beats}))  # one late end in a beat: see the next test
    left = thin_events(first, heartbeat)
    for how in ({}, {"batches": True}, {"streaming": True}, {"streaming": True, "restarts": True}):
        whole = build_history([*first, *later], heartbeat=heartbeat, **how)
        assert build_history([*left, *later], heartbeat=heartbeat, **how) == whole
    assert thin_events([*first, *first], heartbeat) == thin_events(first, heartbeat)


def test_thinning_may_join_two_late_ends_within_one_heartbeat():
    first = events(*(f"RUNNING@{minute * 60 * SECOND}" for minute in range(3)))
    ends = events("FAIL@1", f"FAIL@{60 * SECOND + 1}")
    assert build_history([*first, *ends]).attempts == 3
    assert build_history([*thin_events(first), *ends]).attempts == 2
    assert build_history([*thin_events([*first, *ends])]).attempts == 3


def test_thinning_keeps_first_and_last_running_of_five_minutes():
    stated = events("START@0", *(f"RUNNING@{second * SECOND}" for second in range(1, 900)), "COMPLETE@950000000")
    retained = [(stamp[0] // SECOND, kind) for stamp, kind in thin_events(stated)]
    assert retained == [
        *((0, "START"), (1, "RUNNING"), (299, "RUNNING"), (300, "RUNNING"), (599, "RUNNING")),
        *((600, "RUNNING"), (899, "RUNNING"), (950, "COMPLETE")),
    ]


def test_run_with_many_events_is_thinned_periodically():
    stated = events("START@0", *(f"RUNNING@{4 * second * SECOND}" for second in range(1, THINNING_INTERVAL)))
    assert thin_periodically(stated[:-1], "hour") == stated[:-1]
    assert len(thin_periodically(stated, "hour")) == 3
    assert len(thin_periodically(stated, "5m")) == 7
    assert thin_periodically(stated, "off") == thin_periodically(stated, "day") == [stated[0], stated[1], stated[-1]]
