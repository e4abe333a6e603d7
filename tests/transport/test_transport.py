"""DataHubTransport: OpenLineage's own client emits through it, to a metadata service on loopback and to catalogues."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Dataset, DatasetEvent, InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import error_message_run, schema_dataset
from openlineage.client.serde import Serde
from support.gms import Fault, Gms

from dh_bridge.bridge import Bridge, Counts, Translation
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import EventError, SettingsError, SinkError
from dh_bridge.openlineage.read import events_of, read_events
from dh_bridge.settings import Settings
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.transport import DataHubConfig, DataHubTransport, transport
from dh_bridge.transport.delivery import BufferedDelivery
from dh_bridge.transport.runs import MAX_EVENTS_PER_RUN, MAX_TRIES

TYPE = "dh_bridge.transport.DataHubTransport"
RUN = "01a1fcf3-ae1a-7325-9ff6-fa80f2885a38"
OTHER = "01a1fcf3-ae1a-7325-9ff6-fa80f2885a39"
BRIDGE = Bridge()
AT_ONCE = {"rest.retries": 0}
START = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("OPENLINEAGE", "DH_BRIDGE", "DATAHUB_GMS")):
            monkeypatch.delenv(name)
    yield
    for one in list(transport._states):  # those that a test leaves open, before the folder goes
        one.close(retry=False)
        one._waiting.clear()  # else the log of the test in which it is collected would have it


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


def client(**stated):
    return OpenLineageClient(config={"transport": {"type": TYPE, **stated}})


def event(state, seconds=0, *, run=RUN, name="load_orders", facets=None, **stated):
    return RunEvent(
        eventTime=(START + timedelta(seconds=seconds)).isoformat(),
        eventType=getattr(RunState, state),
        run=Run(run, facets or {}),
        job=Job("shop", name),
        producer="https://github.com/shop/loader",
        **stated,
    )


def a_run(run=RUN, name="load_orders"):
    fields = [
        schema_dataset.SchemaDatasetFacetFields("id", "int"),
        schema_dataset.SchemaDatasetFacetFields("total", "int"),
    ]
    orders = OutputDataset(
        "postgres://db:5432", "shop.public.orders", {"schema": schema_dataset.SchemaDatasetFacet(fields)}
    )
    return [
        event("START", run=run, name=name, inputs=[InputDataset("s3://raw", "orders")]),
        event("RUNNING", 1, run=run, name=name),
        event("COMPLETE", 42, run=run, name=name, outputs=[orders]),
    ]


def aspects(file, urn):
    with Catalog(file, readonly=True) as found:
        return found.aspects(urn)


@lru_cache
def urn(name="load_orders", run=RUN):
    (found,) = {BRIDGE.identity(one)["dpi"] for one in parsed(event("START", run=run, name=name))}
    return found


def parsed(*events):
    return [one for each in events for one in events_of(Serde.to_json(each).encode(), "event")]


def test_client_writes_the_same_catalogue_as_emit(tmp_path):
    """The client adds facets of its own, so a file takes down what it sends."""
    both = {
        "type": "composite",
        "transports": {
            "datahub": {"type": TYPE, "to": f"catalog:{tmp_path / 'sent.db'}"},
            "file": {"type": "file", "log_file_path": str(tmp_path / "events.ndjson"), "append": True},
        },
    }
    tested_transport = OpenLineageClient(config={"transport": both})
    for one in [*a_run(), event("START", run=OTHER, name="other")]:
        tested_transport.emit(one)
    table = Dataset("postgres://db:5432", "shop.public.x")
    tested_transport.emit(
        DatasetEvent(eventTime=START.isoformat(), producer="https://github.com/shop/loader", dataset=table)
    )
    assert tested_transport.close()
    assert CliRunner().invoke(commands, ["emit", "events.ndjson", "--to", "catalog:emitted.db"]).exit_code == 0
    with Catalog("sent.db") as ours, Catalog("emitted.db") as theirs:
        assert list(dump_catalog(ours)) == list(dump_catalog(theirs))
        assert ours.aspects(urn())["dataProcessInstanceProperties"]


def test_transport_is_configured_by_environment_variables(tmp_path):
    program = """
import sys; from openlineage.client import OpenLineageClient; from openlineage.client.event_v2 import *
client = OpenLineageClient()
run, job = Run(sys.argv[1]), Job("shop", "load")
client.emit(RunEvent(eventTime="2026-11-01T12:00:00Z", eventType=RunState.START, run=run, job=job, producer="https://shop"))
"""
    stated = {
        "OPENLINEAGE__TRANSPORT__TYPE": TYPE,
        "OPENLINEAGE__TRANSPORT__TO": "file:sent.json",
        "OPENLINEAGE__TRANSPORT__SETTINGS": '{"datahub_version": "1.2", "identity": {"rules": [{"platform": "shop"}]}}',
    }
    command = [sys.executable, "-c", program, RUN]
    subprocess.run(command, check=True, env=os.environ | stated, cwd=tmp_path)
    text = (tmp_path / "sent.json").read_text(encoding="utf-8")  # written at the end of the program
    assert RUN in text
    assert "urn:li:dataFlow:(shop," in text
    down = {"OPENLINEAGE__TRANSPORT__TO": "rest:http://127.0.0.1:9", "DH_BRIDGE_REST__RETRIES": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | stated | down, cwd=tmp_path
    )
    assert "SinkError" in done.stderr
    assert "ended before all of its events were sent" in done.stderr


def test_transport_without_a_ledger_sends_only_new_proposals(gms):
    tested_transport = client(to=f"rest:{gms.url}")
    one, _, end = a_run()
    tested_transport.emit(one)
    after_start = len(gms.proposals)
    tested_transport.emit(end)
    names = [proposal.aspect_name for proposal in gms.proposals[after_start:]]
    assert "dataProcessInstanceRelationships" not in names  # said by START, and unchanged
    (point,) = [one for one in gms.proposals[after_start:] if one.aspect_name == "dataProcessInstanceRunEvent"]
    assert point.value["durationMillis"] == 42_000
    sent = len(gms.proposals)
    tested_transport.emit(end)
    assert len(gms.proposals) == sent
    assert tested_transport.close()


def test_finished_run_equals_a_single_translation(gms):
    tested_transport = DataHubTransport(
        DataHubConfig.from_dict({"to": f"rest:{gms.url}", "settings": {"datahub_version": "1.4"}})
    )
    for one in a_run():
        tested_transport.emit(one)
    together = Bridge(Settings(datahub_version="1.4")).translate(parsed(*a_run()))
    sent = {(one.entity_urn, one.aspect_name, str(one.value)) for one in gms.proposals}
    assert {(one.entity_urn, one.aspect_name, str(one.value)) for one in together.proposals} <= sent


@pytest.mark.parametrize("state", ["START", "COMPLETE"])
def test_refused_proposals_are_sent_with_the_next_event(gms, state):
    tested_transport = client(to=f"rest:{gms.url}", settings=AT_ONCE)
    tested_transport.emit(event("START", run=OTHER, name="other"))
    gms.stop()
    with pytest.raises(SinkError) as raised:
        tested_transport.emit(event(state))
    assert raised.value.retryable
    gms.start()
    tested_transport.emit(event("COMPLETE", 1, run=OTHER, name="other"))
    assert "dataProcessInstanceRunEvent" in {one.aspect_name for one in gms.proposals if one.entity_urn == urn()}
    assert tested_transport.close()


def test_server_that_is_down_at_first_gets_all_of_it_later(gms):
    gms.stop()
    tested_transport = client(to=f"rest:{gms.url}", settings=AT_ONCE)
    start, _, end = a_run()
    with pytest.raises(SinkError):
        tested_transport.emit(start)
    assert not tested_transport.close(timeout=0)
    gms.start()
    tested_transport.emit(end)
    points = [one.value["status"] for one in gms.proposals if one.aspect_name == "dataProcessInstanceRunEvent"]
    assert sorted(points) == ["COMPLETE", "STARTED"]


def test_close_sends_waiting_events_and_returns_success(gms, caplog):
    tested_transport = client(to=f"rest:{gms.url}", settings=AT_ONCE)
    tested_transport.emit(event("START", run=OTHER, name="other"))
    gms.stop()
    with pytest.raises(SinkError):
        tested_transport.emit(event("START"))
    assert not tested_transport.close(timeout=0)
    with pytest.raises(SinkError):
        tested_transport.emit(event("START"))
    assert not tested_transport.close()
    gms.start()
    assert caplog.records


def test_ledger_keeps_events_while_the_token_file_is_missing(gms, tmp_path, caplog):
    token = tmp_path / "token"
    token.write_text("t")
    settings = {**AT_ONCE, "rest.token_file": str(token)}
    tested_transport = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"), settings=settings)
    tested_transport.emit(event("START"))
    token.unlink()
    for run in (RUN, OTHER):
        tested_transport.emit(event("COMPLETE", 60, run=run))
    assert tested_transport.close() is False
    assert caplog.text.count("delivery failed, proposals wait in the ledger: rest.token_file") == 1
    token.write_text("t")
    later = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"), settings=settings)
    later.emit(event("START", 30, run=OTHER))
    assert later.close() is True
    with Catalog(gms.place, readonly=True) as catalog:
        for run in (RUN, OTHER):
            points = catalog.timeseries(f"urn:li:dataProcessInstance:{run}", "dataProcessInstanceRunEvent")
            assert sorted(point["status"] for point in points) == ["COMPLETE", "STARTED"]


def test_new_ledger_accepts_events_while_the_server_is_down(gms, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(transport, "FIRST_PAUSE_SECONDS", 0.0)
    gms.stop()
    config = {"to": f"rest:{gms.url}", "ledger": str(tmp_path / "ledger.db"), "settings": {"rest.retries": 0}}
    start, running, end = a_run()
    tested_transport = client(**config)
    tested_transport.emit(start)
    tested_transport.emit(running)
    assert caplog.text.count("events wait in the event log of the ledger: ") == 1
    assert tested_transport.close() is False
    gms.start()
    later = client(**config)
    later.emit(end)
    assert later.close() is True
    points = [one.value for one in gms.proposals if one.entity_urn == urn() and "RunEvent" in one.aspect_name]
    assert max(one.get("durationMillis", 0) for one in points) == 42_000


def test_server_that_comes_up_later_gets_the_events_in_the_log(gms, tmp_path, monkeypatch):
    monkeypatch.setattr(transport, "FIRST_PAUSE_SECONDS", 0.0)
    gms.stop()
    tested_transport = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"), settings={"rest.retries": 0})
    start, running, end = a_run()
    tested_transport.emit(start)
    gms.start()
    tested_transport.emit(running)
    assert {one.value["status"] for one in gms.proposals if "RunEvent" in one.aspect_name} == {"STARTED"}
    tested_transport.emit(end)
    assert tested_transport.close() is True


def test_server_outage_with_a_ledger_is_no_error(gms, tmp_path, caplog):
    tested_transport = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"), settings=AT_ONCE)
    start, running, end = a_run()
    tested_transport.emit(start)
    gms.stop()
    with caplog.at_level(logging.WARNING, "dh_bridge.transport"):
        tested_transport.emit(running)
        tested_transport.emit(end)
    assert len([one for one in caplog.records if "proposals wait in the ledger" in one.message]) == 1
    assert not tested_transport.close()
    gms.start()
    later = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"))
    later.emit(event("START", run=OTHER, name="other"))
    assert later.close()
    points = [one.value for one in gms.proposals if one.entity_urn == urn() and "RunEvent" in one.aspect_name]
    assert sorted(one.get("durationMillis", 0) for one in points) == [0, 42_000]


def test_rejected_proposal_is_reported_once(gms):
    gms.poison = lambda one: "no such thing" if one.aspect_name == "schemaMetadata" else None
    tested_transport = client(to=f"rest:{gms.url}")
    start, _, end = a_run()
    tested_transport.emit(start)
    with pytest.raises(SinkError, match=r"the target rejected 1 of .*, first: .*no such thing"):
        tested_transport.emit(end)
    tested_transport.emit(end)
    assert "dataProcessInstanceOutput" in {one.aspect_name for one in gms.proposals}


def test_invalid_event_is_an_error_and_the_next_one_is_sent(tmp_path):
    tested_transport = DataHubTransport(DataHubConfig.from_dict({"to": f"catalog:{tmp_path / 'sent.db'}"}))
    wrong = event("START")
    object.__setattr__(wrong, "eventTime", "yesterday")
    with pytest.raises(EventError, match="yesterday"):
        tested_transport.emit(wrong)
    tested_transport.emit(event("START"))
    assert tested_transport.close()
    assert aspects(tmp_path / "sent.db", urn())


def test_filters_apply(gms):
    tested_transport = client(to=f"rest:{gms.url}", settings={"filters.jobs": "!tmp_*"})
    tested_transport.emit(event("START", name="tmp_1"))
    assert not gms.proposals
    tested_transport.emit(event("START"))
    assert gms.proposals


def test_error_message_is_sent_without_its_secrets(gms):
    tested_transport = client(to=f"rest:{gms.url}")
    facet = error_message_run.ErrorMessageRunFacet("postgres://u:hunter2@db failed", "python")
    tested_transport.emit(event("START"))
    tested_transport.emit(event("FAIL", 1, facets={"errorMessage": facet}))
    sent = json.dumps([one.value for one in gms.proposals])
    assert "failed" in sent
    assert "hunter2" not in sent


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"too": "rest:"}, "`too` .did you mean `to`?"),
        ({"url": "http://x"}, "use one of to, config, ledger, settings"),
        ({"to": "http://x"}, "unknown target"),
        ({"to": 8}, "`to` is not a string"),
        ({"settings": ["datahub_version"]}, "`settings` holds no settings"),
        ({"settings": {"datahub_versio": "1.4"}}, "transport.settings.datahub_versio.*datahub_version"),
        ({"settings": {"datahub_version": "banana"}}, "unknown DataHub version .banana."),
        ({"config": "nowhere.yml"}, "nowhere.yml"),
        ({"config": {"datahub_version": "1.4"}}, "`config` is not a string"),
        ({"settings": {"max_new_entities_per_hour": 5}}, "requires a ledger"),
    ],
)
def test_invalid_configuration_is_named(stated, words):
    with pytest.raises(SettingsError, match=words):
        client(**stated)


def test_settings_file_and_settings_of_its_own(tmp_path):
    (tmp_path / "mine.yml").write_text("datahub_version: '1.1'\nwindow: 7\n", encoding="utf-8")
    found = DataHubConfig.from_dict(
        {"config": "mine.yml", "settings": {"window": 9, "identity": {"airflow_plugin": None}}}
    )
    assert (found.settings.datahub_version, found.settings.window, found.to) == ("1.1", 9, "rest:")


def test_forked_process_opens_its_own(gms, tmp_path):
    tested_transport = client(to=f"rest:{gms.url}", ledger=str(tmp_path / "ledger.db"))
    start, _, end = a_run()
    tested_transport.emit(start)
    child = os.fork()
    if not child:
        try:
            tested_transport.emit(end)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    tested_transport.emit(event("START", run=OTHER, name="other"))
    assert tested_transport.close()
    points = [one.value for one in gms.proposals if one.entity_urn == urn() and "RunEvent" in one.aspect_name]
    assert sorted(one.get("durationMillis", 0) for one in points) == [0, 42_000]


def test_variable_for_another_transport_changes_nothing(tmp_path, monkeypatch):
    """Of OPENLINEAGE_URL the client makes a transport of a composite, and puts it into the environment."""
    monkeypatch.setattr(os, "environ", os.environ | {"OPENLINEAGE_URL": "http://localhost:5000"})
    for target in ("memory:", f"catalog:{tmp_path / 'sent.db'}"):
        tested_transport = client(to=target)
        assert isinstance(tested_transport.transport, DataHubTransport)
        tested_transport.emit(event("START"))
        assert tested_transport.close()
    assert aspects(tmp_path / "sent.db", urn())


def test_unclosed_client_is_closed_at_program_exit(tmp_path):
    """A file that is there only when it is whole is written then; a forked process leaves it alone."""
    program = """
import os, sys; from pathlib import Path
from openlineage.client import OpenLineageClient; from openlineage.client.event_v2 import *
def main():
    client = OpenLineageClient()
    run, job = Run(sys.argv[1]), Job("shop", "load")
    client.emit(RunEvent(eventTime="2026-11-01T12:00:00Z", eventType=RunState.START, run=run, job=job, producer="https://shop"))
    return client
client = main()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert not Path("sent.json").exists()
"""
    stated = {"OPENLINEAGE__TRANSPORT__TYPE": TYPE, "OPENLINEAGE__TRANSPORT__TO": "file:sent.json"}
    done = subprocess.run(
        [sys.executable, "-c", program, RUN],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | stated,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert {one["entityType"] for one in json.loads((tmp_path / "sent.json").read_bytes())} >= {"dataProcessInstance"}
    assert [one.name for one in tmp_path.iterdir()] == ["sent.json"]


def test_unreferenced_transport_is_closed(tmp_path, caplog):
    tested_transport = DataHubTransport(DataHubConfig(f"file:{tmp_path / 'sent.json'}"))
    tested_transport.emit(event("START"))
    assert not (tmp_path / "sent.json").exists()
    del tested_transport
    gc.collect()
    assert {one["entityType"] for one in json.loads((tmp_path / "sent.json").read_bytes())} >= {"dataProcessInstance"}
    down = DataHubTransport(
        DataHubConfig("rest:http://127.0.0.1:9", Settings(datahub_version="1.7", rest={"retries": 0}))
    )
    with pytest.raises(SinkError):
        down.emit(event("START"))
    assert caplog.text == ""
    del down
    gc.collect()
    assert "ended before all of its events were sent" in caplog.text


def test_forked_process_starts_with_a_new_transport_state(gms):
    tested_transport = DataHubTransport(DataHubConfig.from_dict({"to": f"rest:{gms.url}", "settings": AT_ONCE}))
    tested_transport.emit(event("START"))
    gms.stop()
    with pytest.raises(SinkError):
        tested_transport.emit(event("COMPLETE", 1))
    with tested_transport._state._lock:  # a thread of the parent that emits now never lets go in the child
        child = os.fork()
        if not child:
            anew = (
                tested_transport._state._delivery is None
                and not tested_transport._state._waiting
                and not tested_transport._state._lock.locked()
            )
            os._exit(0 if anew and tested_transport.close() else 1)
    assert os.waitpid(child, 0)[1] == 0
    gms.start()
    assert tested_transport.close()
    assert "COMPLETE" in {one.value.get("status") for one in gms.proposals if isinstance(one.value, dict)}


@pytest.mark.parametrize("target", ["file:", "catalog:no/sent.db", "rest:ftp://nowhere"])
def test_target_that_cannot_be_opened_is_an_error_of_each_event(target):
    tested_transport = client(to=target)
    for seconds in range(2):
        with pytest.raises((SettingsError, SinkError)):
            tested_transport.emit(event("START", seconds))
    assert not tested_transport.close()


@pytest.mark.parametrize("ledger", [False, True])
def test_threads_may_emit(gms, tmp_path, ledger):
    tested_transport = client(to=f"rest:{gms.url}", **({"ledger": str(tmp_path / "ledger.db")} if ledger else {}))
    runs = [f"{RUN[:-2]}{number:02d}" for number in range(8)]

    def emit(run):
        for one in a_run(run):
            tested_transport.emit(one)

    threads = [threading.Thread(target=emit, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tested_transport.close()
    durations = {
        one.entity_urn
        for one in gms.proposals
        if "RunEvent" in one.aspect_name and one.value.get("durationMillis") == 42_000
    }
    assert durations == {urn(run=run) for run in runs}


class Taken:
    """A sink that counts, can be down or break off ``fails`` times, and always over ``poison``; ``busy`` aspects it does not take now."""

    name = "taken"

    def __init__(self, busy="", poison=lambda _one: False):
        self.proposals = []
        self.down = False
        self.fails = 0
        self.busy = busy
        self.poison = poison
        self.asked = 0

    def emit(self, proposals):
        self.asked += 1
        if self.down or self.fails or any(map(self.poison, proposals)):
            self.fails = max(self.fails - 1, 0)
            raise SinkError("down", retryable=True)
        failed = [Failure(one, "busy", retryable=True) for one in proposals if one.aspect_name == self.busy]
        self.proposals += proposals
        return Delivery(len(proposals) - len(failed), failed)


def with_schema(column, seconds, run):
    schema = schema_dataset.SchemaDatasetFacet([schema_dataset.SchemaDatasetFacetFields(column, "int")])
    orders = OutputDataset("postgres://db:5432", "shop.public.orders", {"schema": schema})
    return parsed(event("COMPLETE", seconds, run=run, outputs=[orders]))[0]


def columns(sink):
    """Name the column of each schema, as they were written."""
    schemas = [one.value for one in sink.proposals if one.aspect_name == "schemaMetadata"]
    return [schema["fields"][0]["fieldPath"].rpartition(".")[2] for schema in schemas]


def others(count, prefix="02"):
    """Return the starts of as many runs."""
    runs = [f"{RUN[:-4]}{prefix}{number:02d}" for number in range(count)]
    return [parsed(event("START", run=run))[0] for run in runs]


def arrived(sink, *runs):
    return set(runs) <= {one.entity_urn for one in sink.proposals if one.aspect_name == "dataProcessInstanceRunEvent"}


def errors(caplog):
    return [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]


def test_newer_run_is_sent_last_after_an_outage():
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    sink.down = True
    assert delivery_buffer.deliver(with_schema("older", 0, RUN))
    sink.down = False
    assert not delivery_buffer.deliver(with_schema("newer", 1, OTHER))
    assert columns(sink) == ["older", "newer"]
    assert delivery_buffer.is_flushed


def test_event_behind_an_undeliverable_one_waits_with_an_error():
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    sink.down = True
    first, second = others(2)
    delivery_buffer.deliver(first)
    (problem,) = delivery_buffer.deliver(second)
    assert problem.retryable
    assert sink.asked == 2
    sink.down = False
    delivery_buffer.flush()
    assert arrived(sink, urn(run=first.run_id), urn(run=second.run_id))
    assert delivery_buffer.is_flushed


def test_close_sends_events_behind_a_failing_run():
    sink = Taken(poison=lambda one: one.aspect_name == "schemaMetadata")
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    assert delivery_buffer.deliver(with_schema("huge", 1, RUN))
    (behind,) = others(1)
    assert delivery_buffer.deliver(behind)
    assert not sink.proposals
    delivery_buffer.flush()
    assert arrived(sink, urn(run=behind.run_id))


def test_failing_run_is_dropped_once_others_are_delivered(caplog):
    sink = Taken(poison=lambda one: one.aspect_name == "schemaMetadata")
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    assert delivery_buffer.deliver(with_schema("huge", 1, RUN))
    behind = others(MAX_TRIES - 1)
    for one in behind[:-1]:
        assert delivery_buffer.deliver(one)
        assert not delivery_buffer.is_flushed
    assert not errors(caplog)
    assert not delivery_buffer.deliver(behind[-1])
    assert delivery_buffer.is_flushed
    assert arrived(sink, *(urn(run=one.run_id) for one in behind))
    (error,) = errors(caplog)
    assert f"run {RUN} failed {MAX_TRIES + 1} times while other runs were sent, and is not sent again: down" in error
    assert not delivery_buffer.deliver(parsed(event("START"))[0])  # what it says beside arrives
    assert arrived(sink, urn())


def test_two_failing_runs_are_both_dropped(caplog):
    poison = {urn(run=RUN), urn(run=OTHER)}
    sink = Taken(poison=lambda one: one.entity_urn in poison)
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    behind = others(MAX_TRIES**2 - 2)
    for one in (*parsed(event("START"), event("START", run=OTHER)), *behind):
        delivery_buffer.deliver(one)
    assert delivery_buffer.is_flushed
    assert arrived(sink, *(urn(run=one.run_id) for one in behind))
    assert len(errors(caplog)) == 2


def test_long_outage_drops_nothing_and_tries_once_per_event(caplog):
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    sink.down = True
    asked = []
    tested_transport = others(4 * MAX_TRIES)
    for one in tested_transport:
        before = sink.asked
        assert delivery_buffer.deliver(one)[-1].retryable
        asked.append(sink.asked - before)
    assert asked == 4 * [*(MAX_TRIES - 1) * [1], 2]
    delivery_buffer.flush()
    sink.down = False
    sink.busy = "dataFlowInfo"
    delivery_buffer.flush()
    assert not delivery_buffer.is_flushed  # what is refused for now is not yet given up
    sink.busy = ""
    delivery_buffer.flush()
    assert delivery_buffer.is_flushed
    assert arrived(sink, *(urn(run=one.run_id) for one in tested_transport))
    assert not errors(caplog)


def test_outage_ending_between_runs_drops_nothing(caplog):
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    sink.fails = MAX_TRIES
    assert delivery_buffer.deliver(with_schema("older", 0, RUN))
    assert delivery_buffer.deliver(with_schema("newer", 1, OTHER))
    tested_transport = others(MAX_TRIES - 2)
    for one in tested_transport[:-1]:
        assert delivery_buffer.deliver(one)
    assert not delivery_buffer.deliver(tested_transport[-1])
    assert delivery_buffer.is_flushed
    assert columns(sink) == ["newer", "older", "newer"]
    assert arrived(sink, urn(), *(urn(run=one.run_id) for one in tested_transport))
    assert not errors(caplog)


def test_permanently_refused_run_is_not_sent_again():
    stated = [SinkError("answers 401")]
    sink = Taken()
    tested_transport = SimpleNamespace(emit=lambda proposals: sink.emit(proposals) if not stated else throw(stated[0]))
    delivery_buffer = BufferedDelivery(BRIDGE, tested_transport)
    first, second, third = others(3)
    assert delivery_buffer.deliver(first) == stated
    assert delivery_buffer.is_flushed
    sink.down, error = True, stated.pop()
    assert delivery_buffer.deliver(first)
    assert delivery_buffer.deliver(second)
    stated.append(error)
    assert delivery_buffer.deliver(third) == [error]
    assert not delivery_buffer.is_flushed
    stated.clear()
    sink.down = False
    delivery_buffer.flush()
    assert delivery_buffer.is_flushed
    assert arrived(sink, urn(run=second.run_id), urn(run=third.run_id))
    assert not arrived(sink, urn(run=first.run_id))


def throw(error):
    raise error


def test_setting_that_is_found_wrong_by_a_delivery_loses_nothing():
    stated = [SettingsError("cannot be read", location="rest.token_file")]
    sink = Taken()
    tested_transport = SimpleNamespace(emit=lambda proposals: sink.emit(proposals) if not stated else throw(stated[0]))
    delivery_buffer = BufferedDelivery(BRIDGE, tested_transport)
    first, second = others(2)
    assert delivery_buffer.deliver(first) == stated
    stated.clear()
    assert not delivery_buffer.deliver(second)
    assert arrived(sink, urn(run=first.run_id), urn(run=second.run_id))
    assert delivery_buffer.is_flushed


def test_internal_error_of_one_run_does_not_block_others():
    sink, wrong = Taken(), set()

    def translate(events):
        return throw(ZeroDivisionError()) if events[0].run_id in wrong else BRIDGE.translate(events)

    delivery_buffer = BufferedDelivery(SimpleNamespace(translate=translate), sink)
    first, second, third = others(3)
    sink.down = True
    assert delivery_buffer.deliver(first)
    sink.down = False
    wrong.add(first.run_id)
    with pytest.raises(ZeroDivisionError):
        delivery_buffer.deliver(second)
    assert not delivery_buffer.deliver(third)
    assert arrived(sink, urn(run=second.run_id), urn(run=third.run_id))
    assert delivery_buffer.is_flushed


def test_events_without_a_run_are_kept_only_while_waiting():
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    table = Dataset("postgres://db:5432", "shop.public.x")
    (one,) = parsed(DatasetEvent(eventTime=START.isoformat(), producer="https://shop", dataset=table))
    assert not delivery_buffer.deliver(one)
    assert not delivery_buffer._runs
    sink.down = True
    assert delivery_buffer.deliver(one)
    assert len(delivery_buffer._runs) == 1
    sink.down = False
    assert not delivery_buffer.deliver(parsed(event("START"))[0])
    assert list(delivery_buffer._runs) == [RUN]


def test_retryable_refusal_is_retried_until_dropped(caplog):
    sink = Taken(busy="dataFlowInfo")
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    first, second = parsed(event("START"), event("START", run=OTHER, name="other"))
    (problem,) = delivery_buffer.deliver(first)
    assert problem.retryable
    sink.busy = "none"
    sent = len(sink.proposals)
    assert not delivery_buffer.deliver(second)
    assert "dataFlowInfo" in {one.aspect_name for one in sink.proposals[sent:]}
    assert delivery_buffer.is_flushed
    sink.busy = "dataProcessInstanceRunEvent"
    delivery_buffer.deliver(parsed(event("COMPLETE", 1))[0])
    for _ in range(MAX_TRIES - 2):
        delivery_buffer.flush()
        assert not delivery_buffer.is_flushed
    assert "not sent again" not in caplog.text
    delivery_buffer.flush()
    assert delivery_buffer.is_flushed
    assert f"rejected {MAX_TRIES} times, and not sent again: " in caplog.text


def test_reverted_change_is_no_longer_waiting():
    sink, stated = Taken(), []
    tested_transport = SimpleNamespace(translate=lambda _events: Translation(stated, [], [], Counts()))
    delivery_buffer = BufferedDelivery(tested_transport, sink)
    (one,) = parsed(event("START"))
    old, new = (upsert("dataset", "d", "status", {"removed": removed}) for removed in (False, True))
    stated[:] = [old]
    assert not delivery_buffer.deliver(one)
    stated[:], sink.busy = [new], "status"
    assert delivery_buffer.deliver(one)
    assert not delivery_buffer.is_flushed
    stated[:] = [old]
    delivery_buffer.flush()
    assert delivery_buffer.is_flushed


def test_run_of_many_events_keeps_its_first_and_its_last_ones():
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink)
    events = [
        event("START"),
        *(event("RUNNING", n) for n in range(1, 3 * MAX_EVENTS_PER_RUN)),
        event("COMPLETE", 3 * MAX_EVENTS_PER_RUN),
    ]
    for one in parsed(*events):
        assert not delivery_buffer.deliver(one)
    assert len(delivery_buffer._runs[RUN].events) == MAX_EVENTS_PER_RUN
    (end,) = [one.value for one in sink.proposals if one.value and "result" in one.value]
    assert end["durationMillis"] == 3 * MAX_EVENTS_PER_RUN * 1000


def test_runs_of_before_are_let_go_but_not_silently(caplog):
    sink = Taken()
    delivery_buffer = BufferedDelivery(BRIDGE, sink, max_bytes=3000)
    every = [event("START", run=f"{RUN[:-2]}{number:02d}") for number in range(20)]
    for one in parsed(*every[:10]):
        assert not delivery_buffer.deliver(one)
    assert len(delivery_buffer._runs) < 10
    assert not caplog.records
    sink.down = True
    for one in parsed(*every[10:]):
        assert delivery_buffer.deliver(one)
    assert len([one for one in caplog.records if "are dropped" in one.message]) == 10 - len(delivery_buffer._runs)
    assert not delivery_buffer.is_flushed
    sink.down = False
    delivery_buffer.flush()
    assert delivery_buffer.is_flushed


def test_events_waiting_for_the_target_are_bounded(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(transport, "MAX_WAITING_EVENTS", 5)
    tested_transport = DataHubTransport(DataHubConfig.from_dict({"to": f"catalog:{tmp_path / 'no' / 'sent.db'}"}))
    one = event("START")
    for _ in range(7):
        with pytest.raises(SinkError):
            tested_transport.emit(one)
    assert len(tested_transport._state._waiting) == 5
    assert len([record for record in caplog.records if "is dropped" in record.message]) == 1, "the other one is counted"
    (tmp_path / "no").mkdir()
    tested_transport.emit(one)
    assert tested_transport.close()


def test_atomic_file_is_written_by_close(tmp_path):
    tested_transport = client(to=f"file:{tmp_path / 'sent.json'}")
    for one in a_run():
        tested_transport.emit(one)
    assert not (tmp_path / "sent.json").exists()
    assert tested_transport.close()
    assert json.loads((tmp_path / "sent.json").read_text(encoding="utf-8"))
    assert list(read_events([str(tmp_path)]))


def test_closed_transport_can_be_used_again(gms):
    tested_transport = client(to=f"rest:{gms.url}")
    tested_transport.emit(event("START"))
    assert tested_transport.close()
    assert tested_transport.close()
    tested_transport.emit(event("COMPLETE", 1))
    assert tested_transport.close(timeout=5)
    assert "COMPLETE" in {one.value.get("status") for one in gms.proposals if isinstance(one.value, dict)}


def test_temporary_server_error_is_waited_for(gms):
    gms.faults = [Fault(status=503)]
    tested_transport = client(to=f"rest:{gms.url}")
    tested_transport.emit(event("START"))
    assert gms.proposals


def test_first_event_imports_nothing(tmp_path):
    """A process that is forked while a thread imports would wait for it without end."""
    program = f"""
import sys
from openlineage.client.event_v2 import *
from dh_bridge.transport import DataHubConfig, DataHubTransport
told = DataHubTransport(DataHubConfig("catalog:sent.db"))
before = set(sys.modules)
run, job = Run("{RUN}"), Job("shop", "load")
told.emit(RunEvent(eventTime="2026-11-01T12:00:00Z", eventType=RunState.START, run=run, job=job, producer="https://shop"))
assert sorted(set(sys.modules) - before) == [], sorted(set(sys.modules) - before)
assert told.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ
    )
    assert done.returncode == 0, done.stderr


def test_fork_waits_for_what_another_thread_writes_to_sqlite(tmp_path, monkeypatch):
    """SQLite keeps its locks in memory: forked inside of a transaction, a process would find the file locked for ever."""
    monkeypatch.setattr("dh_bridge.storage.connection._BUSY_MILLIS", 500)
    tested_transport = DataHubTransport(DataHubConfig(f"catalog:{tmp_path / 'sent.db'}"))
    tested_transport.emit(event("START"))
    writes = threading.Event()

    def write():
        with tested_transport._state._lock, Catalog(tmp_path / "sent.db") as file, file.transaction():
            writes.set()
            time.sleep(0.2)

    thread = threading.Thread(target=write)
    thread.start()
    writes.wait()
    child = os.fork()
    if not child:
        try:
            tested_transport.emit(event("START", run=OTHER, name="other"))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    tested_transport.emit(event("COMPLETE", 1))
    assert tested_transport.close()
    assert aspects(tmp_path / "sent.db", urn("other", OTHER))
