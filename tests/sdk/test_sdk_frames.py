"""A run that failed holds nothing of its caller's: an exception leads to the frames it came through, and to all that they hold."""

from __future__ import annotations

import weakref
from contextlib import suppress

import pytest

from dh_bridge.sinks.memory import MemorySink

pytestmark = pytest.mark.usefixtures("uncollected")

RUN_ID = "018cc251-f400-7662-b080-b72299e0a86b"
RUN = f"urn:li:dataProcessInstance:{RUN_ID}"
PROPERTIES = "dataProcessInstanceProperties"


class Table:
    """A thing of the caller's, too large to be kept."""


class Down(MemorySink):
    """Takes the start of a run and nothing after it."""

    def emit(self, proposals):
        if self.proposals:
            raise OSError("is down")
        return super().emit(proposals)


def begun(one):
    return one.pipeline.run(("nightly", "shop.load"), run_id=RUN_ID)


def fails(there):
    """Fail with a table among the locals."""
    large = Table()
    there.append(weakref.ref(large))
    raise ValueError("boom")


def test_caller_objects_are_released_after_the_exception(record_pipeline):
    there = []
    run = begun(record_pipeline())
    with suppress(ValueError), run:
        fails(there)
    assert run.run_id == RUN_ID, "is still there"
    assert there[0]() is None


def test_run_in_the_frame_that_fails_goes_with_it(record_pipeline):
    one, there = record_pipeline(), []

    def load():
        large = Table()
        with begun(one) as run:
            there.extend([weakref.ref(large), weakref.ref(run)])
            raise ValueError("boom")

    with suppress(ValueError):
        load()
    assert [ref() for ref in there] == [None, None]


def test_retries_keep_no_objects_of_earlier_tries(record_pipeline):
    there = []
    with begun(record_pipeline()) as run:
        for attempt in range(2, 5):
            try:
                fails(there)
            except ValueError as error:
                run.retry(attempt, error)
            assert there[-1]() is None


def test_nor_does_the_last_try_that_another_run_repeats(record_pipeline):
    one, there = record_pipeline(), []
    with begun(one) as run:
        try:
            fails(there)
        except ValueError as error:
            run.retry(error=error)
        assert there[0]() is None
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "ValueError: boom"
    assert "large = Table()" not in properties["openlineage.errorMessage.stackTrace"]
    assert 'raise ValueError("boom")' in properties["openlineage.errorMessage.stackTrace"]


def test_unsent_run_keeps_no_caller_objects(record_pipeline):
    there = []
    run = begun(record_pipeline(sink=Down()))
    with pytest.warns(RuntimeWarning, match="is down"), suppress(ValueError), run:
        fails(there)
    assert there[0]() is None


def test_exception_is_recorded_as_it_was_when_raised(record_pipeline):
    one = record_pipeline()
    error = ValueError("first words")
    with begun(one) as run:
        run.retry(2, error)
        error.args = ("second words",)
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "ValueError: first words"


def test_empty_retry_error_keeps_the_message_of_the_exception(record_pipeline):
    one = record_pipeline()
    with suppress(ValueError), begun(one) as run:
        run.retry(error="")
        raise ValueError("boom")
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "ValueError: boom"
