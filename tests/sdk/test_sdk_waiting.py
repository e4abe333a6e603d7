"""A pipeline whose lineage cannot be delivered continues if ``on_error`` lets it, and delivers all of it once that is possible."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import msgspec
import pytest
from support.gms import Gms

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import AspectError, EventError, SettingsError, SinkError
from dh_bridge.sdk import Pipeline
from dh_bridge.sdk import pipeline as pipeline_module
from dh_bridge.sdk import retry_buffer as waiting
from dh_bridge.session import PLATFORM
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.memory import MemorySink

RUN_ID = "018cc251-f400-7662-b080-b72299e0a86b"
RUN = f"urn:li:dataProcessInstance:{RUN_ID}"
EVENT = "dataProcessInstanceRunEvent"
ORDERS = ("postgres://db:5432", "shop.public.orders")
QUICK = {"retries": 0, "timeout": 2}


class Down(MemorySink):
    """Takes nothing while it is down: by an error that says whether to try again, or proposal by proposal."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def emit(self, proposals):
        if self.how is None:
            return super().emit(proposals)
        if isinstance(self.how, Exception):
            raise self.how
        return Delivery(0, [Failure(one, "no room", retryable=self.how == "later") for one in proposals])


def work(pipeline):
    with pipeline.run(("nightly", "shop.load"), outputs=[ORDERS], run_id=RUN_ID):
        return "done"


def aspects(sink):
    return [(one.entity_urn, one.aspect_name) for one in sink.proposals]


@pytest.mark.parametrize("how", [SinkError("is down", retryable=True), OSError("is down"), "later"])
def test_unsent_proposals_are_sent_in_order_with_the_next_ones(how):
    sink, untroubled = Down(how), MemorySink()
    pipeline = Pipeline(sink=sink, on_error="warn", clock=lambda: 10**18)
    with pytest.warns(RuntimeWarning, match="not sent yet: .*(is down|no room)"):
        assert work(pipeline) == "done"
    assert sink.proposals == []
    sink.how = None
    check = pipeline.assertion(ORDERS, "row_count", min=1)
    work(Pipeline(sink=untroubled, clock=lambda: 10**18))
    assert aspects(sink)[: len(aspects(untroubled))] == aspects(untroubled)
    assert aspects(sink)[-1][0] == check.urn


@pytest.mark.parametrize("how", [SinkError("is down", retryable=True), "later"])
def test_slow_target_is_not_retried_for_60_seconds(how):
    now = 100.0

    class Slow(Down):
        tries = 0

        def emit(self, proposals):
            nonlocal now
            self.tries += 1
            now += 12
            return super().emit(proposals)

    sink = Slow(how)
    waits = waiting.BufferedSender(lambda: sink, lambda: now)
    with pytest.warns(RuntimeWarning, match="not sent yet"):
        waits.send([PLATFORM])
    with pytest.warns(RuntimeWarning, match="2 proposals not sent yet: next attempt in 60 s"):
        waits.send([PLATFORM])
    assert sink.tries == 1
    now, sink.how = now + 60, None
    waits.send([PLATFORM])
    assert (sink.tries, len(sink.proposals)) == (2, 3)


def test_close_retries_despite_the_backoff():
    now = 100.0

    def clock():
        nonlocal now
        now += 12
        return now

    sink = Down(SinkError("is down", retryable=True))
    waits = waiting.BufferedSender(lambda: sink, clock)
    with pytest.warns(RuntimeWarning, match="not sent yet"):
        waits.send([PLATFORM])
    sink.how = None
    waits.send_last()
    assert sink.proposals == [PLATFORM]


def test_assertion_is_sent_before_its_result():
    sink = Down(SinkError("is down", retryable=True))
    pipeline = Pipeline(sink=sink, on_error="warn")
    with pytest.warns(RuntimeWarning, match="is down"):
        check = pipeline.assertion(ORDERS, "row_count", min=1)
    sink.how = None
    check.report(success=True, actual=5)
    output = [aspect for urn, aspect in aspects(sink) if urn == check.urn]
    assert output == ["assertionInfo", "dataPlatformInstance", "assertionRunEvent"]


def test_close_tries_once_more_and_counts_what_is_lost():
    sink = Down(SinkError("is down", retryable=True))
    with pytest.warns(RuntimeWarning) as found, Pipeline(sink=sink, on_error="warn") as pipeline:
        pipeline.assertion(ORDERS, "row_count", min=1)
    assert "lost: the pipeline is closed" in str(found[-1].message)
    sink.how = None
    pipeline.close()
    assert sink.proposals == []


def test_close_sends_waiting_proposals():
    sink = Down(SinkError("is down", retryable=True))
    pipeline = Pipeline(sink=sink, on_error="warn")
    with pytest.warns(RuntimeWarning, match="is down"):
        work(pipeline)
    sink.how = None
    pipeline.close()
    assert (RUN, EVENT) in aspects(sink)


@pytest.mark.parametrize("how", [SinkError("no such token"), "never"])
def test_permanently_refused_proposals_are_lost_with_a_warning(how):
    sink = Down(how)
    pipeline = Pipeline(sink=sink, on_error="warn")
    with pytest.warns(RuntimeWarning, match="lost: .*(no such token|no room)"):
        work(pipeline)
    sink.how = None
    pipeline.assertion(ORDERS, "row_count", min=1)
    assert (RUN, EVENT) not in aspects(sink)


def test_so_many_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(waiting, "MAX_PROPOSALS", 3)
    sink = Down(SinkError("is down", retryable=True))
    pipeline = Pipeline(sink=sink, on_error="warn")
    with pytest.warns(RuntimeWarning, match=r"the oldest \d+ are lost: the buffer holds 3"):
        work(pipeline)
    sink.how = None
    pipeline.close()
    assert len(sink.proposals) == 3
    assert aspects(sink)[-1] == (RUN, EVENT)


def test_server_down_at_startup_is_opened_once_available(tmp_path):
    gms = Gms(tmp_path / "gms.db", version="1.4.0")
    gms.stop()
    bridge = Bridge(Settings(rest=QUICK), sink=f"rest:{gms.url}", on_error="warn")
    with pytest.warns(RuntimeWarning, match="cannot open the target yet|not sent yet"):
        assert work(bridge) == "done"
    with pytest.raises(SinkError):
        bridge.pipeline.sink.emit([])
    gms.start()
    bridge.assertion(ORDERS, "row_count", min=1)
    bridge.close()
    gms.stop()
    with Catalog(tmp_path / "gms.db", readonly=True) as catalog:
        assert len(catalog.timeseries(RUN, EVENT)) == 2
    assert bridge.pipeline.options.profile.name == "1.4"


def test_mistakes_of_the_caller_are_errors_all_the_same():
    pipeline = Pipeline(sink=Down(OSError("is down")), on_error="warn")
    with pytest.raises(EventError):
        pipeline.run(("nightly", ""))
    with pytest.warns(RuntimeWarning, match="is down"), pytest.raises(AspectError):
        pipeline.assertion(ORDERS, "row_count", min=1).report(success=True, batch={"limit": "x"})
    with pytest.raises(SettingsError, match="on_error"):
        Pipeline(sink="memory:", on_error="ignore")


def test_exception_of_the_work_goes_on():
    pipeline = Pipeline(sink=Down(OSError("is down")), on_error="warn")
    run = pipeline.run(("nightly", "shop.load"))
    with pytest.warns(RuntimeWarning, match="is down"), pytest.raises(KeyError, match="mine"), run:
        raise KeyError("mine")


LEFT = """
import sys
from dh_bridge import Bridge
def work():
    bridge = Bridge({"rest": {"retries": 0, "timeout": 2}}, sink=sys.argv[1], on_error="warn")
    if "opened" in sys.argv:
        bridge.pipeline
    print("ready", flush=True)
    sys.stdin.readline()
    with bridge.run(("nightly", "shop.load"), outputs=[("postgres://db:5432", "shop.public.orders")], run_id=sys.argv[2]):
        pass
work()
print("worked", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["opened", "not opened"])
def test_unclosed_pipeline_is_flushed_at_process_exit(tmp_path, how):
    gms = Gms(tmp_path / "gms.db", version="1.4.0")
    if how != "opened":
        gms.stop()
    command = [sys.executable, "-c", LEFT, f"rest:{gms.url}", RUN_ID, how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        if how == "opened":
            gms.stop()
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "worked\n"
        gms.start()
        stated = process.communicate("\n", timeout=30)[1]
    gms.stop()
    assert "not sent yet" in stated
    assert "Traceback" not in stated
    with Catalog(tmp_path / "gms.db", readonly=True) as catalog:
        assert len(catalog.timeseries(RUN, EVENT)) == 2


def test_process_exit_waits_for_all_pipelines_up_to_a_timeout(monkeypatch):
    monkeypatch.setattr(pipeline_module, "_EXIT_TIMEOUT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # takes connections, and never says a word
        target = f"rest:http://127.0.0.1:{deaf.getsockname()[1]}"
        for _ in range(2):
            pipeline = Pipeline(
                {"datahub_version": "1.4", "rest": QUICK | {"timeout": 0.1}}, sink=target, on_error="warn"
            )
            with pytest.warns(RuntimeWarning, match="not sent yet"):
                work(pipeline)
            connection = pipeline.sink._sink._connection
            connection._options = msgspec.structs.replace(connection._options, timeout=60)
        began = time.monotonic()
        with pytest.warns(RuntimeWarning) as found:
            pipeline_module._at_exit()
    assert time.monotonic() - began < 5
    assert sum("lost: the pipeline is closed" in str(one.message) for one in found) == 2
    assert pipeline_module._unsent_pipelines == set()
