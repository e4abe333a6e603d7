"""A stream's folder can be consumed: delivered whole, read as current aspects and as tables, in few files."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime, timedelta, timezone

import pytest
from support.generated_runs import group
from support.partitions import dumped
from support.sample_events import EXAMPLES
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import canonical_aspect, dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.openlineage.read import read_events
from dh_bridge.spark import checks, column_edges, current, deliver, edges, points, runs, stream, stream_files
from dh_bridge.spark.output_order import ORDER_NAMES, sort_by_entity
from dh_bridge.spark.state import StreamState

SETTINGS = Settings(datahub_version="1.7")
BATCHES = 4


class BrokenOffError(Exception):
    pass


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Return a landing folder of events whose runs and datasets continue in later files, and all events."""
    raws = [raw for i in range(6) for raw in sent(group(2026, i))]
    raws += [event.raw for event in read_events([EXAMPLES / "dbt.ndjson", EXAMPLES / "great_expectations.ndjson"])]
    folder = tmp_path_factory.mktemp("landing")
    for number in range(BATCHES):
        (folder / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::BATCHES]))
    return folder, raws


@pytest.fixture(scope="module")
def output(session, events, tmp_path_factory):
    """Return the output of a stream that died between the delivery of a batch and the end of this batch."""
    home = tmp_path_factory.mktemp("stream")
    real = StreamState.mark_complete

    def run():
        rows = stream_files(session, str(events[0]), options={"maxFilesPerTrigger": "1"})
        streamed = stream(rows, checkpoint=str(home / "state"), settings=SETTINGS, partitions=2)
        streamed.to(f"parquet:{home / 'output'}").start().awaitTermination()

    def break_off(state):
        if state._number == 1:
            raise BrokenOffError
        real(state)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StreamState, "mark_complete", break_off)
        with pytest.raises(Exception, match="BrokenOff"):
            run()
    run()
    return home


@pytest.fixture(scope="module")
def proposals(session, output):
    return session.read.parquet(str(output / "output")).cache()


@pytest.fixture(scope="module")
def catalogue(proposals, output):
    """Return the catalogue that the folder is delivered into, whole."""
    target = output / "whole.db"
    delivery = deliver(proposals, f"catalog:{target}", SETTINGS)
    assert (delivery.delivered_count, delivery.failed_count) == (proposals.count(), 0)
    assert delivery.failures.count() == 0
    return target


def test_whole_folder_is_delivered_as_one_call_of_all_events(catalogue, events):
    with Catalog(catalogue, readonly=True) as catalog:
        assert list(dump_catalog(catalog)) == dumped(Bridge(SETTINGS).translate(events[1]).proposals)


def test_rows_are_ordered_by_stream_batch_and_sequence(proposals):
    rows = proposals.select("entity_urn", "aspect_name", *ORDER_NAMES).collect()
    assert len({row.stream_id for row in rows}) == 1
    assert {row.batch for row in rows} == set(range(BATCHES))
    assert len({(row.batch, row.sequence) for row in rows}) == len(rows)
    assert len({row.written_at for row in rows}) == BATCHES
    assert len({(row.entity_urn, row.aspect_name) for row in rows}) < len(rows)  # so that the order matters


def test_current_aspects_are_those_of_the_catalogue(proposals, catalogue):
    with Catalog(catalogue, readonly=True) as catalog:
        expected = {
            (urn, name): canonical_aspect(name, value)
            for urn in catalog.entities()
            for name, value in catalog.aspects(urn).items()
        }
    rows = current(proposals).collect()
    assert {row.refused for row in rows} == {None}
    found = {
        (row.entity_urn, row.aspect_name): canonical_aspect(row.aspect_name, json.loads(row.aspect)) for row in rows
    }
    assert found == expected


def test_current_aspects_of_batches_one_by_one_are_the_same(proposals):
    """A batch that is merged twice, as after a crash, changes nothing."""
    names = ("entity_urn", "aspect_name", "aspect")
    base = current(proposals.filter("batch <= 1")).cache()
    for batch in (1, 2, 3):
        changed = current(proposals.filter(f"batch = {batch}"), base=base).cache()
        base = changed.unionByName(base.join(changed, ["entity_urn", "aspect_name"], "left_anti")).cache()

    def as_values(rows):
        return {
            (row.entity_urn, row.aspect_name): canonical_aspect(row.aspect_name, json.loads(row.aspect)) for row in rows
        }

    assert as_values(base.select(*names).collect()) == as_values(current(proposals).select(*names).collect())


def test_tables_have_the_rows_of_the_views_of_the_catalogue(proposals, catalogue):
    def iso(time):
        return time and f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"

    def in_view(query):
        with sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True) as shop:
            return sorted(map(tuple, shop.execute(query)), key=repr)

    def rows(table, *names):
        return sorted(
            (tuple(iso(v) if isinstance(v, datetime) else v for v in row) for row in table.select(*names).collect()),
            key=repr,
        )

    lineage = edges(proposals).cache()
    view = "SELECT DISTINCT upstream, downstream FROM edges WHERE level = '{}' AND aspect IN ('dataJobInputOutput', 'upstreamLineage')"
    assert rows(lineage.select("source", "target").distinct(), "source", "target") == in_view(view.format("entity"))
    columns = column_edges(proposals).cache()
    assert rows(columns.select("source", "target").distinct(), "source", "target") == in_view(view.format("column"))
    assert columns.filter("job IS NOT NULL AND last_used IS NULL").count() == 0
    run_names = ("urn", "name", "job", "parent", "status", "started", "ended", "duration_millis", "attempt")
    assert rows(runs(proposals), *run_names) == in_view(f"SELECT {', '.join(run_names)} FROM runs")  # noqa: S608 - names of the test
    check_names = ("urn", "dataset", "type", "description", "result", "time", "run_id")
    assert rows(checks(proposals), *check_names) == in_view(f"SELECT {', '.join(check_names)} FROM checks")  # noqa: S608 - as above
    assert points(proposals).count() == in_view("SELECT count(*) FROM points")[0][0]
    used = lineage.filter("run IS NOT NULL").collect()
    assert used
    assert all(row.first_used <= row.last_used for row in used)
    with sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True) as shop:
        jobs = dict(shop.execute("SELECT urn, job FROM runs"))
    assert {row.job for row in used} == {jobs[row.run] for row in used}


def test_columns_that_are_never_null_have_such_types(proposals):
    required = {
        field.name
        for table in (edges, column_edges, runs, checks, points)
        for field in table(proposals).schema
        if not field.nullable
    }
    assert required >= {"source", "target", "urn", "status", "updated", "removed", "operation", "time", "document"}


def test_folder_and_checkpoint_have_few_files(output):
    files = [path for path in (output / "output").rglob("*") if path.is_file() and path.suffix != ".crc"]
    assert len(files) == BATCHES
    assert sorted(files) == sorted(files, key=lambda path: path.name)
    state = list((output / "state" / "dh_bridge").rglob("*.parquet"))
    assert len(state) == 3 * BATCHES  # events, pieces and facts about other runs


def order_of(session, rows):
    """Return the values of ``rows`` (stream, batch, sequence, minutes), as they are delivered."""
    start = datetime(2026, 11, 20, tzinfo=timezone.utc)
    timed = [("d", f"{row}", *row[:3], start + timedelta(minutes=row[3])) for row in rows]
    columns = "entity_urn string, text string, stream_id string, batch long, sequence long, written_at timestamp"
    return [row.text for row in sort_by_entity(session.createDataFrame(timed, columns)).collect()]


def test_order_of_a_stream_holds_while_its_clock_goes_back(session):
    rows = [
        ("a", 9, 0, 7),
        ("a", 10, 2, 5),
        ("a", 10, 10, 5),
        ("a", 11, 0, 6),
        ("b", 0, 0, 8),
        (None, None, 1, 9),
        (None, None, 0, 10),
    ]
    assert order_of(session, rows[::-1]) == [str(row) for row in rows]


def test_aspect_with_a_refused_patch_has_the_reason(session):
    urn = "urn:li:dataFlow:(spark,app,ns)"
    rows = [
        ("dataFlow", urn, "dataFlowInfo", "PATCH", '[{"op": "add", "path": "/customProperties/a", "value": "1"}]'),
        ("dataFlow", urn, "status", "UPSERT", '{"removed": false}'),
    ]
    names = "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string"
    found = {row.aspect_name: row for row in current(session.createDataFrame(rows, names)).collect()}
    assert found["status"].aspect == '{"removed": false}'
    assert found["dataFlowInfo"].aspect is None
    assert found["dataFlowInfo"].refused == f"{urn} dataFlowInfo: the patched aspect has no name, which is required"
