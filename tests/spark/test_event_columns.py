"""Any DataFrame of events is translated: columns of text, bytes, structs, flat columns, in batches and streams."""

from __future__ import annotations

import json

import pytest
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.errors import SettingsError
from dh_bridge.spark import batch_function, frame, read, stream, stream_files, translate
from dh_bridge.spark.rows import RECORD
from dh_bridge.spark.stages import RecordStep

RAWS = sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")])
FLAT = "eventTime timestamp, eventType string, run struct<runId: string>, job struct<namespace: string, name: string>, producer string, loaded_at date"


def event_types(rows):
    """Return the types of the events that the workers find; a reason for each row that is none."""
    found = rows.mapInArrow(RecordStep(Settings()), RECORD).collect()
    return sorted(row.reason or json.loads(row.raw)["eventType"] for row in found)


def flat_rows(session):
    return session.read.schema(FLAT).json(session.sparkContext.parallelize([raw.decode() for raw in RAWS], 1))


@pytest.mark.parametrize("kind", ["string", "binary", "struct", "flat"])
def test_events_of_any_column_are_the_same(session, kind):
    rows = session.createDataFrame([(1, raw) for raw in RAWS], "id int, value binary")
    events = {
        "binary": lambda: rows,
        "string": lambda: rows.selectExpr("id", "CAST(value AS STRING) AS value"),
        "struct": lambda: flat_rows(session).selectExpr("struct(*) AS value", "1 AS id"),
        "flat": lambda: flat_rows(session),
    }[kind]()
    assert event_types(frame(events)) == ["COMPLETE", "START"]


def test_flat_columns_of_a_stream_are_translated(session, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_bytes(b"\n".join(RAWS))
    rows, counts = session.readStream.schema(FLAT).json(str(tmp_path / "in")), []
    stream(rows, checkpoint=str(tmp_path / "c"), settings=Settings(datahub_version="1.7"), partitions=1).to(
        lambda proposals, bad, _number: counts.append(
            (proposals.filter("aspect_name = 'dataProcessInstanceRunEvent'").count(), bad.count())
        )
    ).start().awaitTermination()
    assert counts == [(2, 0)]


def test_struct_with_an_inferred_schema_is_refused_with_the_remedy(session):
    inferred = session.read.json(session.sparkContext.parallelize([raw.decode() for raw in RAWS], 1))
    with pytest.raises(SettingsError, match=r"Spark inferred the schema of the events.*read them as text"):
        translate(inferred)
    with pytest.raises(SettingsError, match="read them as text"):
        frame(inferred.selectExpr("struct(*) AS payload"), "payload")
    assert event_types(frame(inferred, allow_inferred=True)) == ["COMPLETE", "START"]


def test_rows_without_events_are_refused_with_their_columns(session):
    with pytest.raises(SettingsError, match="no column with events is named; the columns are a, b"):
        frame(session.createDataFrame([(1, 2)], "a int, b int"))


def test_own_foreach_batch_translates_with_one_function(session, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_bytes(b"\n".join(RAWS))
    seen = []
    function = batch_function(
        lambda proposals, _bad, number: seen.append((number, proposals.count())),
        state=str(tmp_path / "state"), settings=Settings(datahub_version="1.7"), partitions=1,
    )  # fmt: skip
    writer = session.readStream.text(str(tmp_path / "in")).writeStream.foreachBatch(function)
    writer.option("checkpointLocation", str(tmp_path / "offsets")).trigger(availableNow=True).start().awaitTermination()
    assert [number for number, _ in seen] == [0]
    assert seen[0][1] > 5


def test_patterns_and_several_folders_are_read(session, tmp_path):
    for name, raw in zip("ab", RAWS, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.json").write_bytes(raw)
    assert event_types(read(session, f"{tmp_path}/[ab]")) == ["COMPLETE", "START"]
    with pytest.raises(SettingsError, match="does not exist"):
        read(session, f"{tmp_path}/[cd]")
    found = []
    query = stream_files(session, [str(tmp_path / "a"), str(tmp_path / "b")]).writeStream
    query = query.foreachBatch(lambda rows, _number: found.extend(event_types(rows)))
    query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert sorted(found) == ["COMPLETE", "START"]
