"""A run reported from Python is the run that OpenLineage's events would report, and more."""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import AspectError, EventError, SettingsError, SinkError
from dh_bridge.sdk import Pipeline, run_proposals
from dh_bridge.sdk.references import resolve_dataset
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.sinks.memory import MemorySink

RUN_ID = "018cc251-f400-7662-b080-b72299e0a86b"
RUN = f"urn:li:dataProcessInstance:{RUN_ID}"
OTHER = "urn:li:dataProcessInstance:018cc251-f400-7662-b080-b72299e0a86c"
PLATFORM = "urn:li:dataPlatform:openlineage"
FLOW = "urn:li:dataFlow:(openlineage,shop,nightly)"
JOB = f"urn:li:dataJob:({FLOW},shop.load)"
LAKE = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/in,PROD)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
PAIR = ("postgres://db:5432", "shop.public.orders")
PROFILES = ["0.15.0", "1.7"]
EVENT = "dataProcessInstanceRunEvent"
PROPERTIES = "dataProcessInstanceProperties"
RELATIONS = "dataProcessInstanceRelationships"


def load(one, **stated):
    return one.pipeline.run(("nightly", "shop.load"), ["s3://lake/in"], [PAIR], **{"run_id": RUN_ID, **stated})


def results(one, urn=RUN):
    points = one.aspects(urn, EVENT)
    return [(point["attempt"], point["status"], point.get("result", {}).get("type")) for point in points]


def test_run_starts_and_completes(record_pipeline):
    one = record_pipeline()
    with load(one, url="https://runs.example/1", name="tonight", kind="scheduled", properties={"team": "data"}):
        pass
    assert one.aspects(RUN, EVENT) == [
        {
            "timestampMillis": 1700000000000,
            "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
            "messageId": "29005be545fb4718633a0448b030da61",
            "externalUrl": "https://runs.example/1",
            "status": "STARTED",
            "attempt": 1,
        },
        {
            "timestampMillis": 1700000001500,
            "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
            "messageId": "383697ce5fa6937acb8d3d720082fad1",
            "externalUrl": "https://runs.example/1",
            "status": "COMPLETE",
            "attempt": 1,
            "result": {"type": "SUCCESS", "nativeResultType": "openlineage"},
            "durationMillis": 1500,
        },
    ]
    assert one.last(RUN, PROPERTIES) == {
        "customProperties": {
            "openlineage.durationMillis": "1500",
            "openlineage.endTime": "2023-11-14T22:13:21.5Z",
            "openlineage.eventType": "COMPLETE",
            "openlineage.orchestrator": "openlineage",
            "openlineage.producer": "dh_bridge.sdk",
            "openlineage.run.team": "data",
            "openlineage.runId": RUN_ID,
            "openlineage.runIdTime": "2024-01-01T00:00:00Z",
            "openlineage.schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "openlineage.startTime": "2023-11-14T22:13:20Z",
        },
        "externalUrl": "https://runs.example/1",
        "name": "tonight",
        "type": "BATCH_SCHEDULED",
        "created": {"time": 1700000000000, "actor": "urn:li:corpuser:datahub", "message": "AUTOMATIC"},
    }
    assert one.last(RUN, RELATIONS) == {"parentTemplate": JOB, "upstreamInstances": []}
    assert one.last(RUN, "dataProcessInstanceInput") == {"inputs": [LAKE]}
    assert one.last(RUN, "dataProcessInstanceOutput") == {"outputs": [ORDERS]}
    assert {proposal.entity_urn for proposal in one.sink.proposals} == {PLATFORM, RUN, FLOW, JOB, LAKE, ORDERS}


@pytest.mark.parametrize("profile", PROFILES)
def test_same_run_from_openlineage_is_the_same(record_pipeline, profile):
    one = record_pipeline(datahub_version=profile)
    parent = ("nightly", "shop", "018cc251-f400-7662-b080-000000000001")
    with load(one, parent=parent):
        pass
    pairs = [{"namespace": "s3://lake", "name": "in"}], [{"namespace": PAIR[0], "name": PAIR[1]}]
    facet = {"run": {"runId": parent[2]}, "job": {"namespace": parent[0], "name": parent[1]}}
    events = [
        {
            "eventTime": time, "eventType": word, "producer": "dh_bridge.sdk",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": RUN_ID, "facets": {"parent": facet}}, "job": {"namespace": "nightly", "name": "shop.load"},
            "inputs": pairs[0], "outputs": pairs[1],
        }
        for time, word in (("2023-11-14T22:13:20Z", "START"), ("2023-11-14T22:13:21.5Z", "COMPLETE"))
    ]  # fmt: skip
    wanted = Bridge(Settings(datahub_version=profile)).translate(events).proposals
    latest = {key(proposal): proposal for proposal in one.sink.proposals}
    assert latest == {key(proposal): proposal for proposal in wanted}


def key(proposal):
    """Return what one proposal replaces another by: the entity and aspect, of a timeseries the point too."""
    time = proposal.value.get("timestampMillis") if isinstance(proposal.value, dict) else None
    return proposal.entity_urn, proposal.aspect_name, time


@pytest.mark.parametrize("profile", PROFILES)
def test_every_aspect_is_one_for_datahub(record_pipeline, profile):
    one = record_pipeline(datahub_version=profile)
    with (  # noqa: PT012 - what happens in the run is the test
        pytest.raises(ValueError, match="boom"),
        load(one, attempt=1, upstream=[OTHER], kind="ad_hoc", url="http://x/1") as run,
    ):
        run.reads(ORDERS)
        run.retry(2, "first")
        raise ValueError("boom")
    one.assert_sound()


def test_exception_is_a_failure_and_goes_on(record_pipeline):
    one = record_pipeline()
    with pytest.raises(ZeroDivisionError), load(one):
        1 / 0  # noqa: B018 - the exception is the test
    assert results(one) == [(1, "STARTED", None), (1, "COMPLETE", "FAILURE")]
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "ZeroDivisionError: division by zero"
    assert "1 / 0" in properties["openlineage.errorMessage.stackTrace"]
    assert properties["openlineage.eventType"] == "FAIL"


@pytest.mark.parametrize("code", [None, 0, False])
def test_run_succeeds_if_the_program_exits_with_success(record_pipeline, code):
    one = record_pipeline()
    with pytest.raises(SystemExit), load(one):
        sys.exit(code)
    assert results(one) == [(1, "STARTED", None), (1, "COMPLETE", "SUCCESS")]


@pytest.mark.parametrize("code", [1, "no such table"])
def test_program_that_leaves_with_an_error_fails_its_run(record_pipeline, code):
    one = record_pipeline()
    with pytest.raises(SystemExit), load(one):
        sys.exit(code)
    assert results(one) == [(1, "STARTED", None), (1, "COMPLETE", "FAILURE")]


def test_single_dataset_or_run_is_accepted_as_a_list(record_pipeline):
    one = record_pipeline()
    with one.pipeline.run(("ns", "etl.load"), ORDERS, None, upstream=OTHER) as run:
        pass
    assert one.last(run.urn, "dataProcessInstanceInput")["inputs"] == [ORDERS]
    assert one.aspects(run.urn, "dataProcessInstanceOutput") == []
    assert one.last(run.urn, "dataProcessInstanceRelationships")["upstreamInstances"] == [OTHER]


def test_single_run_object_is_accepted_as_upstream(record_pipeline):
    one = record_pipeline()
    with load(one, run_id=OTHER.rpartition(":")[2]) as first, load(one, upstream=first):
        pass
    assert one.last(RUN, RELATIONS)["upstreamInstances"] == [OTHER]


def test_path_is_no_sink():
    with pytest.raises(SettingsError, match="pass a target as str"):
        Pipeline(sink=Path("shop.db"))


def test_secret_in_an_exception_is_masked(record_pipeline):
    one = record_pipeline()
    with pytest.raises(OSError, match="db"), load(one):
        raise OSError("cannot open postgres://ann:s3cret@db/shop")
    assert "s3cret" not in json.dumps([proposal.value for proposal in one.sink.proposals])


def test_exception_text_with_a_surrogate_is_sent_escaped(record_pipeline):
    one = record_pipeline()
    with pytest.raises(ValueError, match="bad"), load(one):
        raise ValueError("bad caf\udce9")  # a file's name whose bytes are no UTF-8
    assert results(one)[-1] == (1, "COMPLETE", "FAILURE")
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "ValueError: bad caf\\udce9"


def test_facet_that_json_cannot_encode_is_an_event_error(record_pipeline):
    run = record_pipeline().pipeline.run(("ns", "job"), facets={"own": {"path": "caf\udce9"}})
    with pytest.raises(EventError, match="surrogate"):
        run.__enter__()


def test_skipped_run_is_skipped_despite_the_abort_setting(record_pipeline):
    one = record_pipeline(runs={"abort": "failure"})
    with load(one) as run:
        run.skip()
    assert results(one) == [(1, "STARTED", None), (1, "COMPLETE", "SKIPPED")]


def test_exception_without_a_message_is_sent_as_a_failure(record_pipeline):
    class WordlessError(Exception):
        def __str__(self):
            raise KeyError("x")

    one = record_pipeline()
    with pytest.raises(WordlessError), load(one):
        raise WordlessError
    assert one.sink.proposals[-1].value["result"]["type"] == "FAILURE"


def test_exception_beats_a_skip(record_pipeline):
    one = record_pipeline()
    with pytest.raises(ValueError, match="late"), load(one) as run:  # noqa: PT012 - what happens in the run is the test
        run.skip()
        raise ValueError("late")
    assert results(one)[-1] == (1, "COMPLETE", "FAILURE")


def test_tries_in_one_run_are_points_of_their_own(record_pipeline):
    one = record_pipeline()
    with load(one) as run:
        for attempt in range(2, 4):
            run.retry(attempt, ConnectionError(f"try {attempt - 1}"))
    assert results(one) == [
        (1, "STARTED", None),
        (1, "COMPLETE", "UP_FOR_RETRY"),
        (2, "STARTED", None),
        (2, "COMPLETE", "UP_FOR_RETRY"),
        (3, "STARTED", None),
        (3, "COMPLETE", "SUCCESS"),
    ]
    last = one.last(RUN, EVENT)
    assert last["durationMillis"] == 1500, "of the last try"
    properties = one.last(RUN, PROPERTIES)["customProperties"]
    assert properties["openlineage.attempt"] == "3"
    assert properties["openlineage.errorMessage.message"] == "ConnectionError: try 2", (
        "why it was tried again stays known"
    )


@pytest.mark.parametrize("error", [None, "flaky", OSError("flaky")])
def test_try_that_someone_else_repeats_ends_up_for_retry(record_pipeline, error):
    one = record_pipeline()
    with load(one, attempt=2) as run:
        run.retry(error=error)
    assert results(one) == [(2, "STARTED", None), (2, "COMPLETE", "UP_FOR_RETRY")]
    message = one.last(RUN, PROPERTIES)["customProperties"].get("openlineage.errorMessage.message")
    assert (message is None) if error is None else message.endswith("flaky")


def test_exception_that_is_to_be_retried_goes_on_too(record_pipeline):
    one = record_pipeline()
    with pytest.raises(OSError, match="flaky"), load(one) as run:  # noqa: PT012 - what happens in the run is the test
        run.retry()
        raise OSError("flaky")
    assert results(one)[-1] == (1, "COMPLETE", "UP_FOR_RETRY")
    assert one.last(RUN, PROPERTIES)["customProperties"]["openlineage.errorMessage.message"] == "OSError: flaky"


def test_run_events_of_one_millisecond_replace_each_other(record_pipeline):
    one = record_pipeline(step=0)
    with load(one) as run:
        run.retry(2)
    assert results(one) == [
        (1, "STARTED", None),
        (1, "COMPLETE", "UP_FOR_RETRY"),
        (2, "COMPLETE", "SUCCESS"),
    ]
    assert len({point["messageId"] for point in one.aspects(RUN, EVENT)}) == 1, "each replaces the one before"


def test_catalogue_keeps_a_run_as_datahub_would():
    with Catalog(":memory:") as catalog:
        ticks = iter(range(10**18, 2 * 10**18, 10**9))
        pipeline = Pipeline(sink=CatalogSink(catalog), clock=lambda: next(ticks))
        with pipeline.run(("nightly", "shop.load"), [LAKE], [ORDERS], run_id=RUN_ID) as run:
            run.retry(2)
        assert [point["status"] for point in catalog.timeseries(RUN, EVENT)] == ["STARTED", "COMPLETE"] * 2
        edges = {(name, target) for name, _, target in catalog.relationships(RUN)}
        assert edges == {("InstanceOf", JOB), ("Consumes", LAKE), ("Produces", ORDERS)}


# -- what a run can be said to be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "written"),
    [("scheduled", "BATCH_SCHEDULED"), ("ad_hoc", "BATCH_AD_HOC"), ("streaming", "STREAMING"), (None, None)],
)
def test_kind_of_a_run(record_pipeline, kind, written):
    one = record_pipeline()
    with load(one, kind=kind):
        pass
    assert one.last(RUN, PROPERTIES).get("type") == written


@pytest.mark.parametrize("template", [JOB, FLOW, ORDERS])
def test_run_template_can_be_set_by_the_caller(record_pipeline, template):
    one = record_pipeline()
    with load(one, template=template):
        pass
    assert one.last(RUN, RELATIONS)["parentTemplate"] == template
    assert one.last(JOB, "dataJobInputOutput"), "its own job is reported all the same"


def test_parents_and_upstream_runs_by_any_name(record_pipeline):
    one = record_pipeline()
    pair = ("nightly", "shop.copy", "018cc251-f400-7662-b080-00000000000a")
    with one.pipeline.run(("nightly", "shop"), run_id="018cc251-f400-7662-b080-00000000000b") as parent:
        for number, ref in enumerate((parent, ("nightly", "shop", parent.run_id), parent.urn)):
            own = f"018cc251-f400-7662-b080-0000000000{number}f"
            with one.pipeline.run(
                ("nightly", "shop.load"), parent=ref, upstream=[pair, OTHER, parent], run_id=own
            ) as run:
                pass
            assert one.last(run.urn, RELATIONS) == {
                "parentTemplate": JOB,
                "parentInstance": parent.urn,
                "upstreamInstances": [f"urn:li:dataProcessInstance:{pair[2]}", parent.urn, OTHER],
            }


def test_run_is_neither_its_parent_nor_its_upstream(record_pipeline):
    one = record_pipeline()
    with load(one, parent=RUN, upstream=[RUN]):
        pass
    assert one.last(RUN, RELATIONS) == {"parentTemplate": JOB, "upstreamInstances": []}


def test_datasets_added_during_the_run_are_sent_at_its_end(record_pipeline):
    one = record_pipeline()
    with one.pipeline.run(("nightly", "shop.load"), run_id=RUN_ID) as run:
        run.reads(LAKE, "s3://lake/more")
        run.writes(PAIR)
    assert one.aspects(RUN, "dataProcessInstanceInput") == [{"inputs": [LAKE, LAKE.replace("/in", "/more")]}]
    assert one.aspects(RUN, "dataProcessInstanceOutput") == [{"outputs": [ORDERS]}]


def test_dataset_passed_as_urn_is_written_only_as_an_edge(record_pipeline):
    one = record_pipeline()
    with one.pipeline.run(("nightly", "shop.load"), [LAKE], [ORDERS], run_id=RUN_ID):
        pass
    assert {proposal.entity_urn for proposal in one.sink.proposals} == {PLATFORM, RUN, FLOW, JOB}
    assert [edge["value"] for edge in one.last(JOB, "dataJobInputOutput")] == [
        {
            "destinationUrn": urn,
            "created": {"time": 1700000000000, "actor": "urn:li:corpuser:datahub"},
            "lastModified": {"time": 1700000001500, "actor": "urn:li:corpuser:datahub"},
        }
        for urn in (LAKE, ORDERS)
    ]


def test_facets_of_openlineage_are_read_as_in_events(record_pipeline):
    one = record_pipeline()
    sql = {"sql": {"query": "select 1"}}
    tags = {"tags": {"tags": [{"key": "cost", "value": "low"}]}}
    with load(one, facets={"nominalTime": {"nominalStartTime": "2024-01-01T00:00:00Z"}, **tags}, job_facets=sql):
        pass
    assert one.last(RUN, PROPERTIES)["type"] == "BATCH_SCHEDULED"
    info = {operation["path"]: operation["value"] for operation in one.last(JOB, "dataJobInfo")}
    assert info["/customProperties/openlineage.sql.query"] == "select 1"


def test_producer_determines_the_platform_of_the_job(record_pipeline):
    one = record_pipeline()
    with load(one, producer="https://github.com/apache/airflow/tree/providers-openlineage/2.0.0") as run:
        pass
    assert run.job.platform == "airflow"
    assert one.last(RUN, EVENT)["result"]["nativeResultType"] == "airflow"


def test_run_without_an_id_gets_a_new_one(record_pipeline):
    one = record_pipeline()
    ids = {one.pipeline.run(("nightly", "shop.load")).run_id for _ in range(3)}
    assert len(ids) == 3


def test_run_of_a_filtered_job_sends_nothing(record_pipeline):
    one = record_pipeline(filters={"jobs": ["!shop.*"]})
    with load(one) as run:
        pass
    assert run.filtered
    assert one.sink.proposals == []


# -- what cannot be used -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "where"),
    [
        ({"attempt": 0}, "attempt"),
        ({"attempt": True}, "attempt"),
        ({"attempt": 2**31}, "attempt"),
        ({"kind": "nightly"}, "kind"),
        ({"url": "ftp://x"}, "url"),
        ({"template": "urn:li:tag:x"}, "template"),
        ({"template": "nope"}, "template"),
        ({"run_id": " "}, "run_id"),
        ({"parent": "urn:li:tag:x"}, "run"),
        ({"parent": ("a", "b")}, "run"),
        ({"upstream": [("a", "b", "")]}, "run"),
    ],
)
def test_invalid_run_arguments_are_refused_before_the_start(record_pipeline, stated, where):
    one = record_pipeline()
    with pytest.raises(EventError) as caught:
        load(one, **stated)
    assert caught.value.location == where
    assert caught.value.remedy
    assert one.sink.proposals == []


@pytest.mark.parametrize("job", ["nightly/shop.load", ("nightly",), ("nightly", ""), ("nightly", 7), None])
def test_job_is_a_pair(record_pipeline, job):
    with pytest.raises(EventError, match="job"):
        record_pipeline().pipeline.run(job)


def test_ended_run_accepts_no_further_calls(record_pipeline):
    one = record_pipeline()
    with load(one) as run:
        pass
    before = len(one.sink.proposals)
    for more in (run.skip, run.retry, lambda: run.retry(2), lambda: run.reads(PAIR), lambda: run.writes(PAIR)):
        with pytest.raises(EventError, match="has ended"):
            more()
    with pytest.raises(EventError, match="has ended"):
        run.__exit__(None, None, None)
    assert len(one.sink.proposals) == before


def test_run_that_has_not_begun_has_no_second_try(record_pipeline):
    run = load(record_pipeline())
    with pytest.raises(EventError, match="not started"):
        run.retry(2)


def test_threads_share_a_pipeline(tmp_path, monkeypatch):
    opened = []

    class Slow(Pipeline):
        def __init__(self, *stated, **more):
            opened.append(self)
            sleep(0.05)
            super().__init__(*stated, **more)

    monkeypatch.setattr("dh_bridge.sdk.Pipeline", Slow)
    bridge = Bridge(sink=f"catalog:{tmp_path / 'shop.db'}")

    def work(name):
        urns = []
        for number in range(5):
            with bridge.run(("nightly", name), ["s3://lake/in"], run_id=f"{name}-{number}") as run:
                urns.append(run.urn)
        return urns

    with ThreadPoolExecutor(8) as pool:
        output = [urn for urns in pool.map(work, [f"shop.load_{thread}" for thread in range(8)]) for urn in urns]
    assert opened == [bridge.pipeline]
    ends = [bridge.pipeline.sink.catalog.timeseries(urn, EVENT)[-1]["status"] for urn in output]
    bridge.close()
    assert ends == ["COMPLETE"] * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows forks nothing")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_beside_a_thread_that_sends_can_send():
    sending, go_on = Event(), Event()

    class Slow(MemorySink):
        def emit(self, proposals):
            if not sending.is_set():
                sending.set()
                go_on.wait(10)
            return super().emit(proposals)

    pipeline = Pipeline(sink=Slow())
    thread = Thread(target=lambda: pipeline.assertion(PAIR, "row_count", min=1))
    thread.start()
    sending.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # where it waits for the parent's thread
        try:
            pipeline.assertion(PAIR, "row_count", min=2)
        finally:
            os._exit(7)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    go_on.set()
    thread.join()
    assert ended == 7


def test_run_begins_once_and_counts_its_tries_upwards(record_pipeline):
    one = record_pipeline()
    with load(one, attempt=3) as run, pytest.raises(EventError, match="not after"):
        run.retry(3)
    with pytest.raises(EventError, match="already started"):
        run.__enter__()


@pytest.mark.parametrize(
    ("ref", "urn"),
    [
        (LAKE, LAKE),
        ("s3://lake/in", LAKE),
        ("postgres://db:5432/shop.public.orders", ORDERS),
        (PAIR, ORDERS),
        (list(PAIR), ORDERS),
        ("file:///data/in.csv", resolve_dataset(("file://", "/data/in.csv"), Pipeline(sink="memory:").options).urn),
        ("hive/shop.orders", resolve_dataset(("hive", "shop.orders"), Pipeline(sink="memory:").options).urn),
    ],
)
def test_datasets_by_any_name(record_pipeline, ref, urn):
    assert resolve_dataset(ref, record_pipeline().pipeline.options).urn == urn


@pytest.mark.parametrize(
    "ref",
    [
        "orders",
        "/data/in.csv",
        "s3://lake",
        "s3://lake/",
        "urn:li:tag:x",
        "urn:nope",
        ("s3://lake",),
        ("a", ""),
        7,
        None,
    ],
)
def test_invalid_dataset_reference_is_refused(record_pipeline, ref):
    with pytest.raises(EventError) as caught:
        resolve_dataset(ref, record_pipeline().pipeline.options)
    assert caught.value.remedy


def test_name_that_is_skipped_is_no_dataset(record_pipeline):
    one = record_pipeline()
    with pytest.raises(EventError, match="is not a dataset"):
        one.pipeline.run(("nightly", "shop.load"), [("inmemory://", "step")], [PAIR], run_id=RUN_ID)


# -- when a report fails ------------------------------------------------------------------------------------------------


class Refusing(MemorySink):
    """Refuses what comes after the first batch."""

    def emit(self, proposals):
        if self.proposals:
            return Delivery(0, [Failure(proposal, "no room", retryable=True) for proposal in proposals])
        return super().emit(proposals)


def test_undelivered_run_is_a_sink_error(record_pipeline):
    one = record_pipeline(sink=Refusing())
    with pytest.raises(SinkError, match="no room") as caught, load(one):
        pass
    assert caught.value.retryable


def test_delivery_error_never_hides_the_exception_of_the_run(record_pipeline):
    one = record_pipeline(sink=Refusing())
    with pytest.warns(RuntimeWarning, match="no room"), pytest.raises(KeyError), load(one):
        raise KeyError("mine")


class Broken(MemorySink):
    """Breaks off once."""

    broken = False

    def emit(self, proposals):
        if not self.broken:
            self.broken = True
            raise SinkError("is down", retryable=True)
        return super().emit(proposals)


def test_unsent_run_can_be_started_again(record_pipeline):
    one = record_pipeline(sink=Broken())
    run = one.pipeline.run(("shop", "nightly"), run_id=RUN_ID)
    with pytest.raises(SinkError, match="is down"), run:
        pass
    assert one.sink.proposals == []
    with run:
        pass
    assert results(one) == [(1, "STARTED", None), (1, "COMPLETE", "SUCCESS")]
    assert one.aspects(PLATFORM, "dataPlatformInfo") != []


def test_invalid_proposal_blocks_its_batch(record_pipeline):
    one = record_pipeline()
    good = upsert("dataset", ORDERS, "status", {"removed": False})
    with pytest.raises(AspectError, match="status"):
        one.pipeline.send([good, upsert("dataset", ORDERS, "status", {"removed": 1})])
    assert one.sink.proposals == []


def test_invalid_rendered_aspect_is_named(record_pipeline, monkeypatch):
    monkeypatch.setattr(run_proposals, "_run_event", lambda *_: {"timestampMillis": "soon"})
    one = record_pipeline()
    with pytest.raises(AspectError, match=EVENT), load(one):
        pass


# -- doors -------------------------------------------------------------------------------------------------------------


def test_bridge_sends_runs_and_assertions(tmp_path):
    file = tmp_path / "shop.db"
    bridge = Bridge(sink=f"catalog:{file}")
    with bridge.run(("nightly", "shop.load"), outputs=[ORDERS], run_id=RUN_ID) as run:
        bridge.assertion(ORDERS, "row_count", min=1).report(success=True, actual=5, run_id=run)
    bridge.close()
    with Catalog(file, readonly=True) as catalog:
        assert catalog.aspect(RUN, RELATIONS)["parentTemplate"] == JOB
        (check,) = catalog.entities("assertion")
        (result,) = catalog.timeseries(check, "assertionRunEvent")
        assert result["runId"] == RUN_ID


def test_bridge_without_a_sink_is_a_settings_error():
    with pytest.raises(SettingsError, match="no sink"):
        Bridge().run(("nightly", "shop.load"))
    Bridge().close()


def test_sink_of_the_caller_stays_open():
    sink = MemorySink()
    with Pipeline(sink=sink):
        pass
    assert sink.emit([]).delivered_count == 0


def test_sink_that_was_opened_here_is_closed():
    with Pipeline(sink="memory:") as pipeline:
        pass
    with pytest.raises(SinkError):
        pipeline.sink.emit([])
