"""The deadline of a callback is one for all that is sent: halves of a refused batch, paces, and pauses that a server asks for."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from support.airflow_contexts import airflow3
from support.gms import Fault, Gms

from dh_bridge.airflow import emit_on_success

SLACK = 0.2
"""Seconds that a busy machine may take to bring a request that left in time."""


@pytest.fixture
def gms(tmp_path):
    """Return a server to which a first callback has sent its run: the next one is as fast as all that follow it."""
    with Gms(tmp_path / "gms.db") as server:
        emit_on_success(airflow3(), to=f"rest:{server.url}")
        assert server.proposals
        server.requests.clear()
        server.proposals.clear()
        yield server


def second_try(gms, timeout):
    """Tell of another try, wait for what the callback leaves behind, and return when its time was over."""
    end = time.monotonic() + timeout
    emit_on_success(airflow3(try_number=2), to=f"rest:{gms.url}", timeout=timeout)
    for thread in threading.enumerate():
        if thread.name == "dh_bridge.airflow":
            thread.join(10)
            assert not thread.is_alive()
    return end


def test_no_half_of_a_refused_batch_is_sent_after_the_deadline(gms, caplog):
    gms.poison = lambda found: "not in the morning"  # noqa: ARG005 - takes none
    gms.faults = [Fault(pause=0.5)] * 1000
    end = second_try(gms, 3.5)  # a busy machine takes a second to come to its first request
    assert len(gms.writes) > 1
    assert max(one.at for one in gms.writes) < end + SLACK
    assert ": not sent to DataHub: " in caplog.messages[-1]


def test_nothing_waits_beyond_the_deadline_for_its_pace(gms, monkeypatch, caplog):
    monkeypatch.setenv("DH_BRIDGE_REST__MAX_RATE", "1")
    end = second_try(gms, 3)
    assert gms.writes
    assert max(one.at for one in gms.writes) < end + SLACK
    assert ": not sent to DataHub: " in caplog.messages[-1]


@pytest.mark.parametrize("status", [429, 503])
def test_pause_that_the_server_asks_for_is_kept_where_it_fits(gms, status, caplog):
    caplog.set_level(logging.INFO, "dh_bridge.airflow")
    gms.faults = [Fault(status, {"Retry-After": "0.7"})]
    second_try(gms, 8)
    first, second = (one.at for one in gms.writes)
    assert second - first >= 0.7
    assert " proposals to DataHub" in caplog.messages[-1]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_beyond_the_deadline_ends_the_callback(gms, status, caplog):
    gms.faults = [Fault(status, {"Retry-After": "3600"}, {"error": "Rate limit exceeded"})] * 100
    began = time.monotonic()
    second_try(gms, 8)
    assert time.monotonic() - began < 4
    assert len(gms.writes) == 1
    assert ": not sent to DataHub: " in caplog.messages[-1]
    assert f"HTTP {status}: Rate limit exceeded (the server asks to wait for 3,600 s)" in caplog.messages[-1]
