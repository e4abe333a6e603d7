"""What a failed delivery leaves behind: nothing that only the garbage collector could find, for our processes let it look seldom."""

from __future__ import annotations

import gc
import logging
import socket
import threading
import weakref
from contextlib import suppress
from types import FrameType, TracebackType

import pytest
from support.gms import Fault, Gms
from support.sink_contract import DATASET, proposals

from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink

pytestmark = pytest.mark.usefixtures("uncollected")


class Batch(list):
    """Proposals, and whether they are still there."""


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db") as server:
        yield server


@pytest.fixture
def provider():
    """Return the address of a server that hangs up on everybody."""
    listening = socket.create_server(("127.0.0.1", 0))

    def hang_up():
        with suppress(OSError):  # until it is shut down
            while True:
                listening.accept()[0].close()

    thread = threading.Thread(target=hang_up, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/token"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def opened(gms, **rest):
    return open_sink(f"rest:{gms.url}", SinkOptions(rest={"retries": 0, **rest}))


def refusals(status):
    """Return as many as are needed; the server's own way to refuse raises errors of its own, and leaves some behind."""
    return [Fault(status, body={"exceptionClass": "…", "message": "no"}) for _ in range(1000)]


def many(number):
    return Batch(upsert("dataset", DATASET, "status", {"removed": False}) for _ in range(number))


def fail(sink, batch):
    """Emit, and let go of the error at once."""
    try:
        sink.emit(batch)
    except SinkError as error:
        return type(error)
    return None


def assert_nothing_stays(sink, *, error=True, batch=many):
    """Emit five times after a first time, and look for the batch and for garbage."""
    fail(sink, batch(100))
    gc.collect()
    for _ in range(5):
        sent = batch(100)
        there = weakref.ref(sent)
        assert (fail(sink, sent) is not None) is error
        del sent
        assert there() is None, "without the collector"
    assert garbage() == []


def garbage():
    """Collect; return what there was of errors and frames: servers of earlier tests, which end by and by, leave none."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    found = [repr(one) for one in gc.garbage if isinstance(one, BaseException | FrameType | TracebackType)]
    gc.garbage.clear()
    return found


@pytest.mark.usefixtures("naps")
@pytest.mark.parametrize("retries", [0, 2])
def test_server_that_is_away_leaves_nothing_of_a_batch(gms, retries):
    with opened(gms, retries=retries) as sink:
        sink.emit(many(1))
        gms.stop()
        try:
            assert_nothing_stays(sink)
        finally:
            gms.start()


def test_answer_that_does_not_come_leaves_nothing_of_a_batch(gms):
    with opened(gms, timeout=0.05) as sink:
        sink.emit(many(1))
        gms.faults = [Fault(pause=0.2, reset="before") for _ in range(6)]
        assert_nothing_stays(sink)


@pytest.mark.parametrize("reset", ["before", "mid-answer"])
def test_connection_that_breaks_leaves_nothing_of_a_batch(gms, reset):
    with opened(gms) as sink:
        sink.emit(many(1))
        gms.faults = [Fault(reset=reset) for _ in range(6)]
        assert_nothing_stays(sink)


@pytest.mark.parametrize("status", [401, 429, 503])
def test_answer_that_ends_the_delivery_leaves_nothing_of_a_batch(gms, status):
    with opened(gms) as sink:
        sink.emit(many(1))
        gms.faults = [Fault(status, body={"message": "no"}) for _ in range(6)]
        assert_nothing_stays(sink)


def test_proposals_that_are_refused_leave_nothing_behind(gms):
    with opened(gms) as sink:
        gms.faults = refusals(422)
        assert_nothing_stays(sink, error=False, batch=lambda _: many(3))


def test_batch_abandoned_after_refusals_leaves_no_objects(gms):
    with opened(gms) as sink:
        gms.faults = refusals(500)
        assert_nothing_stays(sink, batch=lambda _: many(40))


def test_disconnecting_identity_provider_leaves_no_objects(gms, provider):
    login = {"token_endpoint": provider, "client_id": "us", "client_secret": "s"}
    with opened(gms, oauth=login) as sink:
        assert_nothing_stays(sink)


def test_error_of_the_caller_keeps_its_frames(gms):
    """Who delivers while handling an error of its own finds that one as it was."""

    def failing():
        local = "mine"
        raise KeyError(local)

    with opened(gms) as sink:
        sink.emit(many(1))
        gms.stop()
        try:
            failing()
        except KeyError as error:
            assert fail(sink, many(1)) is not None
            inner = error.__traceback__.tb_next
            assert inner.tb_frame.f_locals == {"local": "mine"}
        finally:
            gms.start()


def test_registry_that_is_away_leaves_nothing_of_a_batch(nobody, monkeypatch):
    monkeypatch.setattr("urllib3.util.retry.Retry.sleep", lambda *_: None)
    monkeypatch.setattr(logging.getLogger("urllib3.connectionpool"), "disabled", True)  # pytest keeps what is logged
    area = {"registry": {"url": f"http://{nobody}"}}
    with open_sink(f"kafka:{nobody}", SinkOptions(kafka=area)) as sink:
        assert_nothing_stays(sink, batch=lambda _: Batch(proposals()))
