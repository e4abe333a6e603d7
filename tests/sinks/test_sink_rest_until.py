"""A REST sink that has until a moment: for requests, their halves, paces, pauses and tokens together; then it says so."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest
import responses
from support.gms import Fault, Gms

from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import WriteFilterSink
from dh_bridge.errors import SinkError
from dh_bridge.settings.writes import WritesSettings
from dh_bridge.sinks.base import Delivery, SinkOptions, open_sink
from dh_bridge.sinks.rest.responses import RetryLaterError
from dh_bridge.sinks.rest.stale_writes import WriteDeadline


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db") as server:
        yield server


def opened(gms, seconds, **rest):
    """Return a sink that knows its server, and has some seconds left."""
    sink = open_sink(f"rest:{gms.url}", SinkOptions(rest=rest))
    sink.server()
    sink.set_deadline(time.monotonic() + seconds)
    return sink


def many(number):
    return [upsert("tag", f"urn:li:tag:{at}", "tagProperties", {"name": str(at)}) for at in range(number)]


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the connection, which only the test moves."""
    moment = [1000.0]
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.monotonic", lambda: moment[0])
    return moment


@pytest.mark.parametrize("batches", [True, False], ids=["halves", "one by one"])
def test_rest_of_a_refused_batch_is_not_sent_after_the_timeout(gms, clock, batches):
    def refused(proposal):
        clock[0] += 10
        return f"not {proposal.entity_urn}"

    gms.poison, gms.batches = refused, batches
    with opened(gms, 0) as sink:
        sink.set_deadline(clock[0] + 55)
        with pytest.raises(SinkError, match="not sent: the timeout has passed") as caught:
            sink.emit(many(64))
    assert caught.value.retryable
    assert len(gms.writes) == (6 if batches else 7)  # one more to learn that there are no batches
    assert gms.proposals == []


def test_proposals_within_the_deadline_are_accepted(gms):
    gms.poison = lambda found: "no" if found.entity_urn.endswith("3") else None
    with opened(gms, 60) as sink:
        delivery = sink.emit(many(8))
    assert delivery.delivered_count == 7
    assert [failure.reason for failure in delivery.failures] == ["HTTP 422: no"]


def test_answer_is_waited_for_as_long_as_there_is_time(gms, naps):
    gms.faults = [Fault(pause=0.6)]
    with opened(gms, 0.2) as sink:
        began = time.monotonic()
        with pytest.raises(SinkError, match="no response in the remaining time") as caught:
            sink.emit(many(1))
        assert time.monotonic() - began < 0.5
    assert caught.value.retryable
    assert naps == []


def test_pace_that_is_too_slow_ends_it_at_once(gms):
    with (
        opened(gms, 30, max_rate=0.01) as sink,
        pytest.raises(RetryLaterError, match="not sent: the timeout has passed") as caught,
    ):
        sink.emit(many(2))
    assert caught.value.retry_after == pytest.approx(100, abs=5)
    assert len(gms.proposals) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_pause_is_kept_when_it_fits_into_the_time(gms, naps, status):
    gms.faults = [Fault(status, {"Retry-After": "7"})]
    with opened(gms, 60) as sink:
        assert sink.emit(many(1)) == Delivery(1, [])
    assert naps == [7.0]


@pytest.mark.parametrize("status", [429, 503])
def test_pause_that_is_longer_than_the_time_is_not_begun(gms, naps, status):
    gms.faults = [Fault(status, {"Retry-After": "61"}, {"error": "Rate limit exceeded"})]
    with opened(gms, 60) as sink, pytest.raises(RetryLaterError) as caught:
        sink.emit(many(1))
    assert f"HTTP {status}: Rate limit exceeded (the server asks to wait for 61 s)" in str(caught.value)
    assert (caught.value.retry_after, caught.value.retryable) == (61.0, True)
    assert naps == []
    assert len(gms.writes) == 1


@pytest.mark.parametrize("asked", ["inf", "1e999"])
def test_pause_without_an_end_is_one_that_does_not_fit(gms, naps, asked):
    gms.faults = [Fault(503, {"Retry-After": asked})]
    with opened(gms, 60) as sink, pytest.raises(RetryLaterError, match="asks to wait for inf s"):
        sink.emit(many(1))
    assert naps == []


def test_sink_around_it_hands_the_moment_on(gms, clock):
    with WriteFilterSink(opened(gms, 0), WritesSettings()) as sink:
        sink.set_deadline(clock[0])
        with pytest.raises(SinkError, match="not sent: the timeout has passed"):
            sink.emit(many(1))
    assert gms.writes == []


def test_token_is_waited_for_no_longer_than_that(clock):
    seen = []

    def lends(request):
        seen.append(request.req_kwargs["timeout"].total)
        clock[0] += 2
        return 200, {}, '{"access_token": "t"}'

    def takes(request):
        seen.append(request.req_kwargs["timeout"].total)
        return 200, {}, '{"noCode": "true"}'

    with responses.RequestsMock() as web:
        web.add_callback(responses.POST, "http://idp/token", lends)
        web.add_callback(responses.GET, "http://gms:8080/config", takes)
        oauth = {"token_endpoint": "http://idp/token", "client_id": "a", "client_secret": "b"}
        with open_sink("rest:http://gms:8080", SinkOptions(rest={"oauth": oauth})) as sink:
            sink.set_deadline(clock[0] + 5)
            sink.server()
    assert seen == [5, 3]


def test_write_deadline_header_follows_the_remaining_time(gms):
    with opened(gms, 10, conditional_writes=True, timeout=1000) as sink:
        sink.emit(many(1))
    stated = gms.writes[0].json["proposals"][0]["headers"]["If-Unmodified-Since"]
    ahead = datetime.fromisoformat(stated.replace("Z", "+00:00")) - datetime.now(timezone.utc)
    assert ahead.total_seconds() <= 5
    assert b"1970-01-01T00:00:05.000Z" in WriteDeadline(1000, clock=lambda: 0.0).header(10)
