"""A stream ends as one call over all its events, however they are split into batches, and wherever it is broken off."""

from __future__ import annotations

import gc
import random
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from py4j.java_gateway import JavaObject
from pyarrow import parquet
from support.generated_runs import group
from support.partitions import dumped
from support.sample_events import RUN, dataset, event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.options import Options
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.sinks.memory import MemorySink
from dh_bridge.spark import key_sets, state, stream_batch
from dh_bridge.spark.changes import diff_operations, diff_proposals
from dh_bridge.spark.key_sets import KeySet
from dh_bridge.spark.rows import STEP_OUTPUT
from dh_bridge.spark.sources import stream_files
from dh_bridge.spark.stages import PROPOSAL_PACK, REJECTED, EntityChangeStep, RunStep
from dh_bridge.spark.stream_batch import StreamBatch, events_of_keys, runs_linked_to
from dh_bridge.spark.streaming import start_stream
from dh_bridge.spark.targets import deliver_from_driver
from dh_bridge.spark.translation import as_rejected, records_of

SETTINGS = Settings(datahub_version="1.7")
MAX_JOBS_OF_SMALL_BATCH = 14
OLD = "018cc251-f400-734d-88b3-1e3d63fe6299"
FAR = "018cc251-f400-734d-88b3-1e3d63fe6300"
OWNED = {"ownership": {"owners": [{"name": "user:ann", "type": "OWNER"}]}}


def batch_of(session, number, raws, folder, settings=SETTINGS):
    """Return batch ``number`` of a stream of these events, whose state is in ``folder``."""
    rows = [(f"e{number}-{position}", raw, False) for position, raw in enumerate(raws)]
    frame = session.createDataFrame(rows, "location string, value binary, whole boolean")
    return StreamBatch(records_of(frame, settings), number, folder, settings, partitions=1)


class BrokenOffError(Exception):
    pass


def run(session, folder, database, checkpoint, *, files_a_batch=1, break_after=None):
    """Stream what ``folder`` holds into a catalogue; break off behind a delivery, before the state of its batch is written."""

    def take(proposals, bad, number):
        assert bad.count() == 0
        with CatalogSink(Catalog(database)) as sink:
            for delivery in deliver_from_driver(proposals, sink):
                assert delivery.failures == []
        if number == break_after:
            raise BrokenOffError

    events = stream_files(session, str(folder), options={"maxFilesPerTrigger": str(files_a_batch)})
    query = start_stream(events, take, checkpoint=str(checkpoint), settings=SETTINGS, partitions=2)
    query.awaitTermination()


def split(folder, raws, files, seed=1):
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    folder.mkdir()
    shares = [[] for _ in range(files)]
    for raw in raws:
        chance.choice(shares).append(raw)
    for number, share in enumerate(shares):
        (folder / f"{number}.ndjson").write_bytes(b"\n".join(share))


def test_events_split_at_random_end_as_one_call_after_a_crash(session, tmp_path, monkeypatch):
    monkeypatch.setattr(state, "BATCHES_PER_COMPACTION", 2)
    raws = [raw.replace(b"db.s.", b"db%d.s." % i) for i in range(20) for raw in sent(group(2026, i))]
    split(tmp_path / "landing", raws, 4)
    database = tmp_path / "catalog.db"
    with pytest.raises(Exception, match="BrokenOff"):
        run(session, tmp_path / "landing", database, tmp_path / "state", break_after=1)
    run(session, tmp_path / "landing", database, tmp_path / "state")
    with Catalog(database, readonly=True) as catalog:
        found = list(dump_catalog(catalog))
    expected = dumped(Bridge(SETTINGS).translate(raws).proposals)
    assert [line for line in found if line not in set(expected)] == []
    assert [line for line in expected if line not in set(found)] == []
    for file in (tmp_path / "state/dh_bridge/events/base=3").glob("*.parquet"):
        keys = parquet.read_table(file)["key"].to_pylist()
        assert keys == sorted(keys)
    # batches 0 and 1 became one, and left when 2 and 3 did
    assert {path.name for path in (tmp_path / "state/dh_bridge/events").iterdir()} >= {"base=1", "base=3", "batch=3"}
    assert not (tmp_path / "state/dh_bridge/events/batch=1").exists()


def test_pruned_run_leaves_its_job_and_dataset_facts(session, tmp_path, monkeypatch):
    now_ns = int(datetime(2026, 11, 22, tzinfo=timezone.utc).timestamp()) * 10**9
    monkeypatch.setattr(state, "time", SimpleNamespace(time_ns=lambda: now_ns))
    folder = str(tmp_path / "st[a]te {b,c}")
    old = sent([event("COMPLETE", "2026-01-01T10:00:00Z", run=OLD, outputs=[dataset("d.s.a")], job_facets=OWNED)])
    new = sent([event("COMPLETE", outputs=[dataset("d.s.b")]), event("START", "9999-12-31T00:00:00Z", run=FAR)])
    keys = []
    for number, raws in enumerate((old, new)):
        rows = [(f"e{number}", raw, False) for raw in raws]
        frame = session.createDataFrame(rows, "location string, value binary, whole boolean")
        batch = StreamBatch(records_of(frame, SETTINGS), number, folder, SETTINGS, partitions=1)
        batch.run(lambda proposals, bad, number: keys.append({row.entity_urn for row in proposals.collect()}))  # noqa: ARG005
    now = state.StreamState(session, folder, 1)
    now.compact(retention_days=30)
    after = state.StreamState(session, folder, 2)
    held = {row.key for row in after.read("events").collect()}
    assert held == {f"urn:li:dataProcessInstance:{run}" for run in (RUN, FAR)}
    left = {row.urn for row in after.read("pieces").filter("origin = ''").collect()}
    assert any(urn.endswith("d.s.a,PROD)") for urn in left)
    assert {row.urn for row in after.valid_pieces().collect()} >= left
    assert any(urn.endswith(OLD) for urn in keys[0])
    assert not any(urn.endswith(OLD) for urn in keys[1])


def test_compacted_batch_is_repeatable_and_the_stream_continues(session, tmp_path, monkeypatch):
    monkeypatch.setattr(
        state, "BATCHES_PER_COMPACTION", 2
    )  # so with batch 1, whose end Spark then does not get to note
    folder = str(tmp_path / "state")
    sent_rows = []

    def process(number, *events):
        batch_of(session, number, sent(events), folder).run(
            lambda proposals, *_: sent_rows.append(sorted((row.entity_urn, row.aspect) for row in proposals.collect()))
        )

    process(0, *a_run(1, "10:00", outputs=[dataset("d.s.a")]))
    process(1, *a_run(2, "11:00", outputs=[dataset("d.s.b")]))
    process(1, *a_run(2, "11:00", outputs=[dataset("d.s.b")]))
    assert sent_rows[1] == sent_rows[2]
    rows = state.StreamState(session, folder, 2).read("events").select("key", "batch").collect()
    assert sorted((row.key[-1], row.batch) for row in rows) == [("1", 0), ("1", 0), ("2", 1), ("2", 1)]


def test_deletion_of_compacted_batches_completes_after_a_crash(session, tmp_path, monkeypatch):
    for mark in ("batch=0", "batch=1", "base=1", "batch=2"):
        for name in (*state.TABLES, "done"):
            (tmp_path / name / mark).mkdir(parents=True)
    (tmp_path / "done" / f"format={state.VERSION}").mkdir()  # as each first batch notes it
    found = state.StreamState(session, str(tmp_path), 3)
    files_of = found._file_system

    def crash(name):
        if name == "pieces/batch=0":
            raise BrokenOffError
        return files_of(name)

    monkeypatch.setattr(found, "_file_system", crash)
    with pytest.raises(BrokenOffError):
        found._delete_compacted()
    monkeypatch.setattr(found, "_file_system", files_of)
    found._delete_compacted()
    assert {path.name for path in tmp_path.glob("*/*")} == {"base=1", "batch=2", f"format={state.VERSION}"}


def test_facts_of_pruned_runs_stay_when_others_are_rendered(session, tmp_path):
    settings = Settings(datahub_version="1.7", temporary={"datasets": ["*.tmp*"]})  # so every run is folded again
    folder = str(tmp_path / "state")
    sent_rows = []

    def process(number, *events):
        batch_of(session, number, sent(events), folder, settings).run(
            lambda proposals, *_: sent_rows.append([(row.entity_urn, row.aspect) for row in proposals.collect()])
        )

    old = event("COMPLETE", "2026-01-01T10:00:00Z", run=OLD, outputs=[dataset("d.s.a")], job_facets=OWNED)
    process(0, old, event("COMPLETE", outputs=[dataset("d.s.b")]))
    state.StreamState(session, folder, 0).compact(retention_days=30)
    process(1, *a_run(1, "10:00", outputs=[dataset("d.s.c")]))
    assert any("d.s.a" in urn for urn, _ in sent_rows[0])
    assert any("d.s.c" in urn for urn, _ in sent_rows[1])
    assert not any("d.s.a" in urn or '"remove"' in aspect for urn, aspect in sent_rows[1])
    keys = {row.key for row in state.StreamState(session, folder, 2).read("events").filter("batch = 1").collect()}
    assert keys == {f"urn:li:dataProcessInstance:018cc251-f400-734d-88b3-{1:012}"}


def test_small_batch_needs_few_jobs(session, tmp_path):
    """A job takes a tenth of a second or more, so their number decides how long a small batch takes."""
    context, counts = session.sparkContext, []

    def consume(proposals, bad, _number):
        assert proposals.count() > bad.count() == 0

    for number in range(3):
        events = a_run(number, f"1{number}:00", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.b")])
        context.setJobGroup(f"batch {number}", "a small batch")
        batch_of(session, number, sent(events), str(tmp_path / "state")).run(consume)
        counts.append(len(context.statusTracker().getJobIdsForGroup(f"batch {number}")))
    context.setLocalProperty("spark.jobGroup.id", None)
    assert 0 < min(counts) <= max(counts) <= MAX_JOBS_OF_SMALL_BATCH


def test_small_state_is_read_in_one_task_after_its_compaction(session, tmp_path):
    folder = str(tmp_path / "state")
    batch_of(session, 0, sent(a_run(0, "10:00", outputs=[dataset("d.s.a")])), folder).run(lambda *_: None)
    state.StreamState(session, folder, 0).compact(None)
    merged_state = state.StreamState(session, folder, 1)
    assert merged_state.read("events").count() == len(a_run(0, "10:00"))
    assert merged_state.use_one_task(stream_batch.MAX_SMALL_STATE_BYTES)
    assert not merged_state.use_one_task(0)


@pytest.fixture(params=["small", "large"])
def batch_size(request, monkeypatch):
    """Process batches by one task for each step, or as large ones, with shuffles and joins."""
    if request.param == "large":
        for module in (stream_batch, key_sets):
            monkeypatch.setattr(module, "MAX_LISTED_KEYS", -1)
        monkeypatch.setattr(stream_batch, "MAX_SMALL_BATCH_EVENTS", -1)
    return request.param


class StreamCase:
    """A catalogue to which batches of events are delivered one by one, and what one call over all of them gives."""

    def __init__(self, session, folder, **settings):
        self.settings = Settings(datahub_version="1.7", **settings)
        self.catalog = Catalog(folder / "catalog.db")
        self.raws = []
        self._session, self._state, self._number = session, str(folder / "st[a]te {b,c}"), 0

    def process(self, *events):
        raws = sent(events)
        batch_of(self._session, self._number, raws, self._state, self.settings).run(self._take)
        self.raws += raws
        self._number += 1

    def ends_as_one_call(self):
        found, expected = list(dump_catalog(self.catalog)), dumped(Bridge(self.settings).translate(self.raws).proposals)
        return [one for one in found if one not in expected], [one for one in expected if one not in found]

    def removed(self, kind):
        return [urn for urn in self.catalog.entities(kind) if self.catalog.aspect(urn, "status") == {"removed": True}]

    def _take(self, proposals, bad, _number):
        assert bad.count() == 0
        assert [
            done.failures for done in deliver_from_driver(proposals, CatalogSink(self.catalog)) if done.failures
        ] == []


def a_run(number, time, **parts):
    """Return the events of a short run of its own."""
    run = {"run": f"018cc251-f400-734d-88b3-{number:012}", "job": f"etl.j{number}"}
    begun, ended = f"2026-11-20T{time}:00Z", f"2026-11-20T{time}:30Z"
    return event(time=begun, **run, **parts), event("COMPLETE", ended, **run, **parts)


def changed(word):
    return [dataset("d.s.t", facets={"lifecycleStateChange": {"lifecycleStateChange": word}})]


@pytest.mark.usefixtures("batch_size")
def test_retractions_and_links_of_later_batches_end_as_one_call(session, tmp_path):
    sent_rows = StreamCase(session, tmp_path, optional_metadata=["queries"], temporary={"datasets": ["*.tmp*"]})
    first, ended = a_run(4, "10:00", job_facets={"sql": {"query": "select 1"}})
    longer = {"sql": {"query": "select 1, 2 from a_longer_text"}}
    sent_rows.process(
        *a_run(1, "10:01", outputs=changed("DROP")),
        *a_run(2, "10:03", inputs=[dataset("d.s.tmp2")], outputs=[dataset("d.s.b")]),
        first,
    )
    assert [urn.split(",")[1] for urn in sent_rows.removed("dataset")] == ["d.s.t"]
    sent_rows.process(
        *a_run(3, "10:04", outputs=changed("CREATE")),
        *a_run(5, "10:02", inputs=[dataset("d.s.tmp1")], outputs=[dataset("d.s.tmp2")]),
        {**ended, "job": {**ended["job"], "facets": longer}},
    )
    assert sent_rows.removed("dataset") == []
    assert len(sent_rows.removed("query")) == 1
    sent_rows.process(
        *a_run(6, "10:01", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.tmp1")]),
        *a_run(7, "10:05", job_facets={"sql": {"query": "select 1"}}),
    )
    assert sent_rows.removed("query") == []
    assert sent_rows.ends_as_one_call() == ([], [])


@pytest.mark.usefixtures("batch_size")
def test_temporary_mark_may_come_in_a_later_batch(session, tmp_path):
    sent_rows = StreamCase(session, tmp_path, temporary={"dataset_type": "drop_edges"})
    sent_rows.process(*a_run(1, "10:01", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.x")]))
    marked = dataset("d.s.x", facets={"datasetType": {"datasetType": "TEMPORARY"}})
    sent_rows.process(*a_run(2, "10:02", inputs=[marked], outputs=[dataset("d.s.b")]))
    assert sent_rows.ends_as_one_call() == ([], [])


def test_runs_are_linked_by_the_datasets_that_they_name():
    named = {"a": {"1"}, "b": {"1", "2"}, "c": {"2", "3"}, "d": {"4"}, "e": set()}
    assert runs_linked_to(named, {"3"}) == {"a", "b", "c"}
    assert runs_linked_to(named, {"4", "5"}) == {"d"}
    assert runs_linked_to(named, set()) == set()


def test_removal_that_is_no_longer_rendered_is_undone():
    removed, other = (upsert("dataset", urn, "status", {"removed": True}) for urn in "ab")
    (found,) = diff_proposals([removed, other], [other])
    assert (found.entity_urn, found.aspect_name, found.value) == ("a", "status", {"removed": False})
    assert list(diff_proposals([upsert("dataset", "a", "subTypes", {"typeNames": ["T"]})], [])) == []


def test_history_read_is_limited_to_the_keys_of_the_batch(session, tmp_path):
    """Ids of runs begin with their time, and what a batch left is sorted by them: Parquet passes over what is far behind."""
    rows = [(f"k{number:02}", number, "p", b"{}") for number in range(100)]
    session.createDataFrame(rows, state.EVENTS).coalesce(1).write.parquet(str(tmp_path / "events"))
    events = session.read.parquet(str(tmp_path / "events"))
    keys = session.createDataFrame([("k30",), ("k32",), ("k70",)], "key string")
    found = events_of_keys(events, KeySet(keys))
    assert sorted(row.key for row in found.collect()) == ["k30", "k32", "k70"]
    plan = found._jdf.queryExecution().toString()
    assert "GreaterThanOrEqual(key,k30), LessThanOrEqual(key,k70)" in plan
    assert events_of_keys(events, KeySet(keys.limit(0))).collect() == []


@pytest.mark.usefixtures("uncollected")  # so that it is the stream that collects
def test_batch_leaves_nothing_behind_in_the_driver(session, tmp_path):
    """A stream runs for weeks: what is kept of each batch, in Python or in Spark, ends it some day."""
    split(tmp_path / "landing", [raw for i in range(12) for raw in sent(group(2026, i))], 6)
    held = []

    def living():
        return {one._target_id for one in gc.get_objects() if isinstance(one, JavaObject)}

    def take(proposals, bad, _number):
        for delivery in deliver_from_driver(proposals, MemorySink()):
            assert delivery.failures == []
        assert bad.count() == 0
        held.append(living())

    scheduler = session.sparkContext._jsc.sc().dagScheduler()
    books = {"activeQueryToJobs", "jobIdToQueryExecutionId"}.intersection(dir(scheduler))
    assert books or session.version < "4.2"  # 3.5 and 4.0 keep none
    kept_by = [getattr(scheduler, name) for name in books]
    before = [jobs().size() for jobs in kept_by]
    events = stream_files(session, str(tmp_path / "landing"), options={"maxFilesPerTrigger": "1"})
    start_stream(events, take, checkpoint=str(tmp_path / "state"), settings=SETTINGS, partitions=1).awaitTermination()
    first, _, third, _, _, last = held
    assert len(third - first) > 20
    assert third & last <= first
    assert [jobs().size() for jobs in kept_by] == before


def test_rejected_proposals_are_reported_for_each_batch(session, tmp_path):
    """No event makes such a proposal: rows stand for the output of a worker."""
    split(tmp_path / "in", sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")]), 1)
    sent_rows = []
    events = stream_files(session, str(tmp_path / "in"))
    start_stream(
        events, lambda *_: None, checkpoint=str(tmp_path / "c"), settings=SETTINGS, partitions=2,
        on_rejected=lambda rows: sent_rows.append((rows.count(), rows.columns)),
    ).awaitTermination()  # fmt: skip
    columns = ["entity_type", "entity_urn", "aspect_name", "change_type", "reason"]
    assert sent_rows == [(0, columns)]
    rows = [
        {"kind": kind, "entity_type": "dataset", "entity_urn": "d", "reason": "why"}
        for kind in (REJECTED, PROPOSAL_PACK)
    ]
    (row,) = as_rejected(session.createDataFrame(rows, STEP_OUTPUT)).collect()
    assert (row.entity_type, row.entity_urn, row.reason) == ("dataset", "d", "why")


def test_second_rendering_replaces_earlier_rejections(session, tmp_path, refusing, monkeypatch):
    monkeypatch.setattr(stream_batch, "RunStep", refusing(RunStep, "dataProcessInstanceRunEvent"))
    monkeypatch.setattr(stream_batch, "EntityChangeStep", refusing(EntityChangeStep, "dataJobInfo"))
    (one,), (other,) = (a_run(number, "10:00")[1:] for number in (1, 2))
    target = {"type": "JOB", "runId": other["run"]["runId"], "namespace": "ns", "name": other["job"]["name"]}
    lineage = {"entries": [{**target, "inputs": [{"type": "DATASET", **dataset("d.s.x")}]}]}
    one["job"]["facets"] = {"lineage": lineage}
    sent_rows = []
    for number, events in enumerate(([one, other], [other])):
        batch_of(session, number, sent(events), str(tmp_path / "state")).run(
            lambda *_: None,
            on_rejected=lambda rows: sent_rows.append(
                sorted((row.entity_type, row.entity_urn[-2:]) for row in rows.collect())
            ),
        )
    run, job = [("dataProcessInstance", f"0{number}") for number in (1, 2)], [("dataJob", f"{n})") for n in (1, 2)]
    assert sent_rows == [job + run, job[1:] + run[1:]]


def test_only_what_changes_is_sent():
    urn = "urn:li:dataJob:(urn:li:dataFlow:(spark,app,ns),app.a)"
    add = [{"op": "add", "path": f"/customProperties/{name}", "value": name} for name in "abc"]
    old = [patch("dataJob", urn, "dataJobInfo", add[:2]), upsert("dataset", "d", "status", {"removed": False})]
    new = [patch("dataJob", urn, "dataJobInfo", add[1:]), upsert("dataset", "d", "status", {"removed": False})]
    (found,) = diff_proposals(old, new)
    assert found.value == [{"op": "remove", "path": "/customProperties/a"}, add[2]]
    assert list(diff_proposals(new, new)) == []
    assert [one.value for one in diff_proposals(old, [])] == [
        [{"op": "remove", "path": "/customProperties/a"}, {"op": "remove", "path": "/customProperties/b"}]
    ]
    assert diff_operations("dataJobInfo", [], add) == add


@pytest.mark.parametrize("version", ["0.15.0", "1.7"])
def test_changes_of_shared_entities_are_valid_patches(version):
    """A server rejects a patch that adds a value without those that it requires, such as the name of a job."""
    settings = Settings(datahub_version=version)
    raws = [raw for number in range(12) for raw in sent(group(2026, number))]
    before, after = (aspects_by_urn(Bridge(settings).translate(part).proposals) for part in (raws[::2], raws))
    validator = Options(settings).validator
    changes = [change for urn in after for change in diff_proposals(before.get(urn, []), after[urn])]
    assert [text for change in changes if (text := validator.refusal_text(change))] == []
    patched = {
        change.aspect_name for change in changes if change.change_type == "PATCH" and change.entity_urn in before
    }
    assert "dataFlowInfo" in patched


def aspects_by_urn(proposals):
    found = {}
    for one in proposals:
        if one.entity_type != "dataProcessInstance":
            found.setdefault(one.entity_urn, []).append(one)
    return found
