"""Runs whose events arrive in several calls, without a ledger: each call completes the run, and none erases anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from support.gms import VERSIONS, Gms

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.datahub.proposal import create, upsert
from dh_bridge.delivery import open_target, wrap_sink
from dh_bridge.errors import SinkError
from dh_bridge.review.completing import RunMerger
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import Delivery
from dh_bridge.sinks.memory import MemorySink

ID = "01938a9c-0000-7000-8000-000000000001"
RUN = f"urn:li:dataProcessInstance:{ID}"
PARENT = "01938a9c-0000-7000-8000-0000000000aa"
PROPERTIES, RELATIONSHIPS = "dataProcessInstanceProperties", "dataProcessInstanceRelationships"
ORDERS = {"namespace": "postgres://db:5432", "name": "shop.public.orders"}
FACETS = {"_producer": "https://example.com/me", "_schemaURL": "https://example.com/x.json"}


def event(kind, second, *, run_id=ID, **facets):
    return {
        "eventType": kind,
        "eventTime": f"2026-11-20T01:00:{second:02d}Z",
        "producer": "https://example.com/me",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id, "facets": {name: {**FACETS, **leaves} for name, leaves in facets.items()}},
        "job": {"namespace": "shop", "name": "daily.load"},
        "inputs": [ORDERS],
    }


STARTED = event("START", 0, own_start={"a": 1}, both={"x": "old"})
RUNNING = event(
    "RUNNING", 5, own_running={"b": 2}, parent={"run": {"runId": PARENT}, "job": {"namespace": "shop", "name": "daily"}}
)
ENDED = event("COMPLETE", 9, errorMessage={"message": "slow", "programmingLanguage": "SQL"}, both={"x": "new"})


@pytest.fixture(params=VERSIONS)
def gms(tmp_path, request):
    with Gms(tmp_path / "gms.db", version=request.param) as server:
        yield server


@pytest.fixture
def server(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.7.0") as found:
        yield found


def emit(gms, *events, **chosen):
    """Deliver events in a call of its own; return what was left out."""
    destination = open_target(f"rest:{gms.url}", Settings(**chosen), environ={"HOME": "/nowhere"})
    with destination.sink as sink:
        proposals = Bridge(destination.settings).translate(list(events)).proposals
        assert sink.emit(proposals).failures == []
        return dict(getattr(sink, "dropped_counts", {}))


def aspect(gms, name, urn=RUN):
    with Catalog(gms.place, readonly=True) as catalog:
        return catalog.aspect(urn, name)


def reads(gms):
    return [one for one in gms.requests if "batchGet" in one.path or "/entitiesV2" in one.path]


def custom(gms):
    return aspect(gms, PROPERTIES)["customProperties"]


def test_lone_end_is_found_by_the_runs_tab(gms):
    assert emit(gms, ENDED) == {}
    assert aspect(gms, RELATIONSHIPS)["parentTemplate"].startswith("urn:li:dataJob:")
    assert aspect(gms, PROPERTIES)["created"]["time"] == 1795136409000
    assert custom(gms)["openlineage.errorMessage.message"] == "slow"


def test_run_with_only_running_has_properties_and_no_point(gms):
    emit(gms, RUNNING)
    assert aspect(gms, PROPERTIES)["created"]["time"] == 1795136405000
    assert aspect(gms, RELATIONSHIPS)["parentTemplate"].startswith("urn:li:dataJob:")
    assert not [one for one in gms.proposals if one.aspect_name == "dataProcessInstanceRunEvent"]


def test_calls_in_any_order_leave_the_same_run_and_erase_nothing(gms):
    results = []
    for order in permutations((STARTED, RUNNING, ENDED)):
        gms.forget()
        before = set()
        for one in order:
            emit(gms, one)
            assert before <= custom(gms).keys()
            before = set(custom(gms))
        results.append((aspect(gms, PROPERTIES), aspect(gms, RELATIONSHIPS)))
    properties, relationships = results[0]
    assert results == [(properties, relationships)] * len(results)
    assert properties["created"]["time"] == 1795136400000
    stated = {name.removeprefix("openlineage."): value for name, value in properties["customProperties"].items()}
    assert stated["eventType"] == "COMPLETE"
    assert (stated["startTime"], stated["endTime"]) == ("2026-11-20T01:00:00Z", "2026-11-20T01:00:09Z")
    assert (stated["facet.own_start"], stated["facet.own_running"]) == ('{"a":1}', '{"b":2}')
    assert stated["facet.both"] == '{"x":"new"}'
    assert relationships["parentInstance"] == f"urn:li:dataProcessInstance:{PARENT}"


def test_same_event_twice_changes_nothing(gms):
    emit(gms, ENDED)
    first = gms.dump()
    emit(gms, ENDED)
    assert gms.dump() == first


def test_two_ends_of_a_run_are_merged_and_the_newer_wins(server):
    first, second = (
        event("COMPLETE", 9, a={"x": 1}, both={"x": "old"}),
        event("FAIL", 10, b={"y": 2}, both={"x": "new"}),
    )
    for order in ((first, second), (second, first)):
        server.forget()
        for one in order:
            emit(server, one)
        stated = custom(server)
        assert (stated["openlineage.facet.a"], stated["openlineage.facet.b"]) == ('{"x":1}', '{"y":2}')
        assert stated["openlineage.facet.both"] == '{"x":"new"}'
        assert stated["openlineage.eventType"] == "FAIL"


def test_aspect_of_a_restart_is_the_newer_one():
    merger = RunMerger("openlineage.")
    end = {
        "customProperties": {
            "openlineage.startTime": "2026-11-20T01:00:00Z",
            "openlineage.endTime": "2026-11-20T01:00:00.300Z",
        }
    }
    start = {"customProperties": {"openlineage.startTime": "2026-11-20T01:00:00.500Z"}}
    same = {"customProperties": {"openlineage.startTime": "2026-11-20T01:00:00.300Z"}}
    assert merger.is_newer(start, end)
    assert not merger.is_newer(end, start)
    assert merger.is_newer(end, same)
    assert not merger.is_newer(same, end)


def test_better_name_and_the_job_of_a_flow_stay():
    older = {"name": "nightly", "customProperties": {}, "created": {"time": 1, "actor": "urn:li:corpuser:a"}}
    newer = {
        "name": "r",
        "customProperties": {"openlineage.runId": "r"},
        "created": {"time": 2, "actor": "urn:li:corpuser:b"},
    }
    merger = RunMerger("openlineage.")
    whole = merger.merge_properties(older, newer)
    assert (whole["name"], whole["created"]) == ("nightly", older["created"])
    flow, job = {"parentTemplate": "urn:li:dataFlow:(a,b,c)"}, {"parentTemplate": "urn:li:dataJob:(x,y)"}
    for pair in ((flow, job), (job, flow)):
        assert merger.merge_relationships(*pair) == {**job, "upstreamInstances": []}


# -- cost ---------------------------------------------------------------------------------------------------------------


def test_call_with_start_and_end_reads_nothing(server):
    emit(server, STARTED, ENDED)
    assert reads(server) == []


def test_runs_are_read_a_hundred_at_a_time(server):
    ends = [event("COMPLETE", 9, run_id=f"01938a9c-0000-7000-8000-{number:012d}") for number in range(250)]
    emit(server, *ends)
    assert len(reads(server)) == 3
    assert len({one.entity_urn for one in server.proposals if one.aspect_name == PROPERTIES}) == 250


def test_ledger_reads_nothing(server, tmp_path):
    settings = Settings(ledger={"file": str(tmp_path / "ledger.db")})
    destination = open_target(f"rest:{server.url}", settings, ledger=True, environ={"HOME": "/nowhere"})
    with destination.sink as sink:
        sink.emit(
            [
                upsert(
                    "dataProcessInstance",
                    RUN,
                    PROPERTIES,
                    {"name": "x", "created": {"time": 1, "actor": "urn:li:corpuser:a"}, "customProperties": {}},
                )
            ]
        )
    assert reads(server) == []


# -- targets that cannot ------------------------------------------------------------------------------------------------


class Blind(MemorySink, Readable):
    """A target that may be written, but not be read."""

    kind = replace(MemorySink.kind, is_readable=True)

    def __init__(self, *, retryable):
        super().__init__()
        self.asked = 0
        self._retryable = retryable

    def read(self, aspects_by_urn):  # noqa: ARG002 - nothing is found
        self.asked += 1
        raise SinkError("answers 403", location="rest:x", retryable=self._retryable)


def run_proposals(*events):
    return Bridge(Settings(datahub_version="1.7")).translate(list(events)).proposals


def test_server_that_refuses_to_be_read_gets_the_rest(caplog):
    inner = Blind(retryable=False)
    sink = wrap_sink(inner, Settings())
    proposals = run_proposals(ENDED)
    created = [one for one in proposals if one.change_type == "CREATE"]
    assert sink.emit(proposals) == Delivery(len(proposals) - 2, [])
    assert sink.emit(run_proposals(STARTED)).failures == []
    assert sink.dropped_counts == {LEFT_OUT: len(created)}
    assert inner.asked == 1
    assert "--ledger" in LEFT_OUT
    assert "single_event" in LEFT_OUT
    assert [one.change_type for one in inner.proposals if one.aspect_name == PROPERTIES] == ["UPSERT"]
    assert "cannot read the aspects of runs" in caplog.text


@pytest.mark.parametrize(("first", "second"), [(STARTED, ENDED), (ENDED, STARTED)], ids=["end later", "start later"])
def test_run_that_may_not_be_read_keeps_its_aspects(server, first, second):
    emit(server, first)
    before = aspect(server, PROPERTIES)
    server.forbidden = {RUN}
    assert emit(server, second) == {"not-readable": 2}
    assert aspect(server, PROPERTIES) == before


def test_server_that_is_down_fails_the_delivery():
    with pytest.raises(SinkError):
        wrap_sink(Blind(retryable=True), Settings()).emit(run_proposals(ENDED))


def test_failure_names_the_proposal_of_the_caller(server):
    server.poison = lambda found: "no" if found.aspect_name == PROPERTIES else None
    destination = open_target(f"rest:{server.url}", Settings(), environ={"HOME": "/nowhere"})
    with destination.sink as sink:
        proposals = run_proposals(ENDED)
        (failure,) = sink.emit(proposals).failures
    assert any(failure.proposal is one for one in proposals)


def test_relationships_in_a_batch_of_their_own_are_completed(server):
    destination = open_target(f"rest:{server.url}", Settings(), environ={"HOME": "/nowhere"})
    emit(server, RUNNING)
    with destination.sink as sink:
        for one in run_proposals(STARTED):
            assert sink.emit([one]).failures == []
    assert aspect(server, RELATIONSHIPS)["parentInstance"] == f"urn:li:dataProcessInstance:{PARENT}"


def test_create_is_written_by_the_rest_sink_only_if_absent(gms):
    from dh_bridge.sinks.base import SinkOptions, open_sink  # noqa: PLC0415 - the plain sink, of this test alone

    value = {"customProperties": {}, "name": "first", "created": {"time": 1, "actor": "urn:li:corpuser:a"}}
    with open_sink("rest:", SinkOptions(rest={"server": gms.url})) as sink:
        for name in ("first", "second"):
            assert sink.emit([create("dataProcessInstance", RUN, PROPERTIES, {**value, "name": name})]) == Delivery(
                1, []
            )
    assert aspect(gms, PROPERTIES)["name"] == "first"
