"""Writes that a server comes to after we gave up waiting: without ``conditional_writes`` they bring back what is old."""

from __future__ import annotations

import time

import pytest
from support.gms import Fault, Gms

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.sinks.rest.stale_writes import WriteDeadline, is_stale_write_error

TAG = "urn:li:tag:x"


def named(name):
    return upsert("tag", TAG, "tagProperties", {"name": name})


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


TIMEOUT = 0.8
"""Seconds that an answer may take: a busy machine needs half of one now and then."""


def opened(gms, **rest):
    return open_sink(f"rest:{gms.url}", SinkOptions(rest={"retries": 0, "timeout": TIMEOUT, **rest}))


def there(gms):
    with Catalog(gms.place, readonly=True) as catalog:
        return catalog.aspect(TAG, "tagProperties")["name"]


def settled(gms, requests):
    """Wait until the server is done with all that it was sent."""
    end = time.monotonic() + 10
    while len(gms.done) < requests and time.monotonic() < end:
        time.sleep(0.01)
    assert len(gms.done) == requests


@pytest.mark.parametrize(("late", "stays"), [(True, "new"), (False, "old")], ids=["refused", "taken"])
@pytest.mark.parametrize("skew", [0.0, 3600.0, -7.3])
def test_late_old_write_does_not_overwrite_a_newer_one(gms, late, stays, skew):
    gms.skew = skew
    with opened(gms, conditional_writes=late) as sink:
        sink.emit([named("first")])
        gms.faults = [Fault(pause=2 * TIMEOUT)]
        with pytest.raises(SinkError, match="no response within"):
            sink.emit([named("old")])
        assert sink.emit([named("new")]).failures == []
        settled(gms, 3)
    assert there(gms) == stays


def test_retry_of_what_comes_late_is_no_conflict(gms, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", lambda _seconds: None)
    gms.faults = [Fault(pause=1.5 * TIMEOUT)]
    with opened(gms, conditional_writes=True, retries=2) as sink:
        assert sink.emit([named("a")]).failures == []
        settled(gms, 2)
        assert sink.emit([named("b")]).failures == []
    assert there(gms) == "b"


def test_write_rejected_by_a_clock_difference_is_repeated(gms):
    with opened(gms, conditional_writes=True) as sink:
        sink.emit([named("a"), upsert("tag", "urn:li:tag:y", "tagProperties", {"name": "y"})])
        gms.stamps[TAG, "tagProperties"] += 3_600_000  # another server of theirs has a clock that is ahead
        assert sink.emit([named("b")]).failures == []
    assert there(gms) == "b"
    assert [b"If-Unmodified-Since" in one.body for one in gms.writes] == [True, True, False]


def test_nothing_is_asked_by_default(gms):
    with opened(gms) as sink:
        sink.emit([named("a")])
    assert all(b"headers" not in one.body for one in gms.writes)


def test_single_writes_are_conditional_too(gms):
    gms.batches = False
    with opened(gms, conditional_writes=True) as sink:
        assert sink.emit([named("a"), named("b")]).failures == []
    assert all(b'"headers":{"If-Unmodified-Since":"' in one.body for one in gms.writes)


@pytest.mark.parametrize(
    ("received", "off"),
    [
        ([], 0),
        ([(None, 0, 1), ("nonsense", 0, 1)], 0),
        ([("Thu, 01 Jan 1970 00:16:40 GMT", 1000.2, 1000.4)], 0),  # the second that it is here, too
        ([("Thu, 01 Jan 1970 00:17:40 GMT", 1000.2, 1000.4)], 59.6),  # ahead by 59.6 to 60.8 seconds
        ([("Thu, 01 Jan 1970 00:15:40 GMT", 1000.2, 1000.4)], -60.4),
        ([("Thu, 01 Jan 1970 00:17:40 GMT", 1000.2, 1000.4), ("Thu, 01 Jan 1970 00:16:50 GMT", 1010, 1010.1)], -0.0),
    ],
)
def test_server_clock_offset_is_learned_from_date_headers(received, off):
    deadline = WriteDeadline(30, clock=lambda: 2000.0)
    for one in received:
        deadline.observe_date(*one)
    since = 2000 + off + 15
    text = f"1970-01-01T00:{int(since // 60):02}:{since % 60:06.3f}Z"
    assert deadline.header() == b',"headers":{"If-Unmodified-Since":"%s"}' % text.encode()


def test_words_of_the_refusal_are_known():
    assert is_stale_write_error("ValidationException: Item last modified 1795207083380 > 1795207083000 (epoch ms)")
    assert not is_stale_write_error("Item last modified never")
