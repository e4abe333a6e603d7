"""The rules of sending again: which errors may pass, how an outcome is divided, how pauses grow."""

from __future__ import annotations

import doctest

import pytest

from dh_bridge import retry_buffer
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.retry_buffer import Backoff, RetryBuffer, is_retryable, outcome_of
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.memory import MemorySink

A, B, C = (upsert("tag", f"urn:li:tag:{name}", "status", {"removed": False}) for name in "abc")


class Scripted(MemorySink):
    """Answers each batch with the next step of its script: an error, or a function of the batch."""

    def __init__(self, *script):
        super().__init__()
        self.script = list(script)

    def emit(self, proposals):
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        super().emit(proposals)
        return step(proposals)


def taken(proposals):
    return Delivery(len(proposals), [])


def test_examples_of_the_module_are_right():
    assert doctest.testmod(retry_buffer).failed == 0


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (SinkError("is down", retryable=True), True),
        (SinkError("is no server"), False),
        (SettingsError("there is no such file"), True),
        (OSError("is down"), True),
    ],
)
def test_error_is_retryable_unless_the_sink_excludes_it(error, passes):
    assert is_retryable(error) is passes


def test_outcome_separates_retryable_and_permanent_failures():
    done = outcome_of(Delivery(1, [Failure(A, "no room", retryable=True), Failure(B, "no such aspect")]))
    assert done.delivered_count == 1
    assert [one.proposal for one in done.retryable] == [A]
    assert [one.proposal for one in done.permanent] == [B]


def test_retryable_proposals_are_sent_before_new_ones():
    sink = Scripted(lambda batch: Delivery(1, [Failure(batch[1], "no room", retryable=True)]), taken)
    buffer = RetryBuffer([A, B])
    assert [one.proposal for one in buffer.send(sink).retryable] == [B]
    buffer.add([C])
    buffer.send(sink)
    assert sink.proposals[2:] == [B, C]
    assert not buffer


@pytest.mark.parametrize(
    ("error", "retained"), [(SinkError("is down", retryable=True), [A]), (SinkError("is none"), [])]
)
def test_batch_that_breaks_off_is_kept_if_the_error_may_pass(error, retained):
    buffer = RetryBuffer([A])
    with pytest.raises(SinkError):
        buffer.send(Scripted(error))
    assert buffer.proposals == retained


def test_oldest_proposals_over_the_limit_are_dropped():
    buffer = RetryBuffer([A, B, C])
    assert buffer.keep_newest(2) == 1
    assert buffer.keep_newest(2) == 0
    assert buffer.clear() == [B, C]
    assert not buffer


def test_pauses_begin_again_after_something_arrived():
    backoff = Backoff(5, 60)
    assert [backoff.next(), backoff.next(), backoff.next(min_seconds=30)] == [5, 10, 30]
    backoff.reset()
    assert backoff.next() == 5
