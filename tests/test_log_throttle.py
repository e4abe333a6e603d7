"""Repeated messages are counted, not logged."""

from __future__ import annotations

import logging

from dh_bridge.log_throttle import MAX_KINDS, PERIOD_SECONDS, LogThrottle, kind_of


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def throttle():
    clock = Clock()
    return LogThrottle(logging.getLogger("dh_bridge.test"), logging.WARNING, clock=clock), clock


def test_first_of_each_kind_is_logged_and_the_others_are_counted(caplog):
    throttled, clock = throttle()
    for number in range(100_000):
        throttled.log(kind_of(f"line {number}: bad"), f"line {number}: bad")
    throttled.log("other", "other: bad")
    assert caplog.messages == ["line 0: bad", "other: bad"]
    clock.now += PERIOD_SECONDS
    throttled.log(kind_of("line 5: bad"), "line 5: bad")
    assert caplog.messages[2:] == ["line 5: bad (99,999 more like this before)"]
    throttled.log(kind_of("line 6: bad"), "line 6: bad")
    throttled.flush()
    assert caplog.messages[3:] == ["1 more like this: line …: bad"]
    throttled.flush()
    assert len(caplog.messages) == 4


def test_number_of_kinds_and_length_of_lines_are_bounded(caplog):
    throttled, _ = throttle()
    for number in range(10 * MAX_KINDS):
        throttled.log(f"kind {number}", "x" * 1_000_000)
    assert len(caplog.messages) == MAX_KINDS + 1
    assert max(map(len, caplog.messages)) < 2_000


def test_kind_is_the_text_without_values():
    assert kind_of("a[1]: not a time: 'x'") == kind_of("a[20]: not a time: 'it is cut off")
    assert kind_of('no "x"') != kind_of('not "x"')
