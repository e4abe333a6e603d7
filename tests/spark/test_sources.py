"""Files that Spark reaches and rows of streams: nothing that is named is passed over in silence, whatever its name."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timezone

import pytest
from click.testing import CliRunner
from pyspark.errors import AnalysisException
from support.sample_events import RUN, event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.cli import commands
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.times import parse_time
from dh_bridge.spark import frame, read, stores, stream_files, stream_rows
from dh_bridge.spark import session as local_session
from dh_bridge.spark.rows import RECORD
from dh_bridge.spark.stages import RecordStep
from dh_bridge.spark.stores import MAX_CONTENT_OPTION, exists_in_store, max_content_bytes

START, COMPLETE = (raw.decode() for raw in sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")]))


def places(events):
    """Return (file, reason) of the events that a batch reads, one to a file; of other rows their place as it is."""
    rows = events.select("location", "value", "whole").mapInArrow(RecordStep(Settings()), RECORD).collect()
    return sorted((row.location.rpartition("/")[2].removesuffix(":1"), row.reason) for row in rows)


def followed(events, checkpoint):
    """Return the same of what a stream takes until there is no more."""
    found = []
    query = events.writeStream.foreachBatch(lambda rows, _number: found.extend(places(rows)))
    query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return sorted(found)


def folder(path, *names):
    path.mkdir(parents=True, exist_ok=True)
    for name in names:
        (path / name).write_text(START)
    return path


def test_files_of_a_store_are_read_as_they_are_named(session, tmp_path, monkeypatch):
    archive = folder(tmp_path / "a{1}", "events", "part-0", "part-1", "one.json", "_old.json")
    (archive / "b[1].ndjson").write_text(f"{START}\n{COMPLETE}\n" * 20)
    monkeypatch.setattr(stores, "MAX_WHOLE_BYTES", len(START) + 1)
    there = f"file://{archive}"
    # by themselves whatever their ending, below folders by it; a large one in lines, whose place is their block
    assert places(read(session, [f"{there}/events"])) == [("events", None)]
    lines = [("b%5B1%5D.ndjson@0", None)] * 40
    assert places(read(session, there)) == [*lines, ("one.json", None)]
    (archive / "b[2].ndjson").write_text(f"{START}\n{COMPLETE}\n" * 20)
    assert places(read(session, there)) == [*lines, *[("b%5B2%5D.ndjson@0", None)] * 40, ("one.json", None)]
    plain = folder(tmp_path / "plain", "events", "part-0", "part-1", "_part-2")
    pattern = f"file://{plain}/part-*"
    assert places(read(session, [pattern, f"{there}/one.json"])) == [
        ("one.json", None),
        ("part-0", None),
        ("part-1", None),
    ]
    for nothing in ("file:///no/such/file", f"file://{plain}/no*", f"file://{plain}/_part-2"):
        with pytest.raises(SettingsError, match=r"--events: .* does not exist"):
            read(session, nothing)


def test_exported_log_is_read_as_its_events_and_as_plain_text(session, tmp_path, monkeypatch):
    """A file has its receipts in a second frame, which readers of Zstandard skip. Hadoop's codec needs native code; Spark has its own from 4.1 on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 2_000)
    raws = sent([event("COMPLETE", run=f"01a1f6ae-0000-7000-8000-{number:012}") for number in range(20)])
    (tmp_path / "events.ndjson").write_bytes(b"\n".join(raws))
    for line in (
        "emit events.ndjson --to catalog:shop.db --set ledger.batch=2",
        "log export shop.db archive",
    ):
        done = CliRunner().invoke(commands, line.split())
        assert done.exit_code == 0, done.output
    exported = raws[:18]  # the last segment is still open
    assert len(list((tmp_path / "archive").iterdir())) == 9
    for path in (str(tmp_path / "archive"), f"file://{tmp_path / 'archive'}"):
        rows = read(session, path).mapInArrow(RecordStep(Settings()), RECORD).collect()
        assert [row.reason for row in rows] == [None] * len(exported)
        assert sorted(row.raw for row in rows) == sorted(exported)
    lines = session.read.text(str(tmp_path / "archive")).collect()
    assert sorted(line.value.encode() for line in lines) == sorted(exported)


def test_landing_folder_is_followed_whatever_its_name(session, tmp_path):
    landing = folder(tmp_path / "l[1]{x}", "one.json", "b[2].json", "é d+e%20.json", "_draft.json", "unknown")
    assert followed(stream_files(session, str(landing)), tmp_path / "c1") == [
        (name, None) for name in ("b[2].json", "one.json", "é d+e%20.json")
    ]
    assert followed(stream_files(session, str(landing / "unknown")), tmp_path / "c2") == [("unknown", None)]
    days = folder(tmp_path / "days" / "1", "x.json", "x.csv", "y").parent
    folder(days, "1.json", "1y", "2")
    assert followed(stream_files(session, f"file://{days}/1*"), tmp_path / "c3") == [
        (name, None) for name in ("1.json", "1y", "x.json")
    ]
    # as the shell would: Spark knows the whole path, the user named a part of it
    near = [os.path.relpath(path) for path in (landing / "unknown", days / "1*")]
    assert followed(stream_files(session, near[0]), tmp_path / "c4") == [("unknown", None)]
    assert followed(stream_files(session, near[1]), tmp_path / "c5") == [
        (name, None) for name in ("1.json", "1y", "x.json")
    ]
    assert exists_in_store(session, str(landing))
    assert exists_in_store(session, f"{days}/1*")
    assert not exists_in_store(session, f"{days}/3*")
    with pytest.raises(SettingsError, match="/no/such/folder does not exist"):
        stream_files(session, "/no/such/folder")


def test_store_is_opened_with_the_session_configuration(session):
    session.conf.set("fs.defaultFS", "hdfs://127.0.0.1:9")
    try:
        store, place = stores.store_of(session, "state")
        assert store.getUri().toString() == "hdfs://127.0.0.1:9"
        assert place.toUri().getScheme() == "hdfs"
    finally:
        session.conf.unset("fs.defaultFS")


def test_full_file_limit_is_below_the_java_array_limit(session):
    assert int(session.conf.get(MAX_CONTENT_OPTION)) > max_content_bytes(session) == 1 << 30


def test_session_of_another_thread_is_used_unchanged(session):
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(local_session).result() is session
        assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")


def test_stream_reports_a_too_large_file_and_continues(session, tmp_path):
    landing = folder(tmp_path / "landing", "small.json")
    (landing / "large.json").write_text(START + " " * len(START))
    most = session.conf.get(MAX_CONTENT_OPTION)
    session.conf.set(MAX_CONTENT_OPTION, str(len(START)))
    try:
        found = dict(followed(stream_files(session, str(landing)), tmp_path / "c"))
    finally:
        session.conf.set(MAX_CONTENT_OPTION, most)
    assert found.pop("small.json") is None
    (too_large,) = found.values()
    assert too_large.startswith(
        "the file is larger than Spark can read (1 GiB, or spark.sql.sources.binaryFile.maxLength)"
    )


def test_stream_reads_rows_of_a_format_or_table(session, tmp_path):
    rows = session.createDataFrame([(START,), (COMPLETE,), (None,)], "payload string")
    rows.coalesce(1).write.parquet(str(tmp_path / "t"))
    events = stream_rows(session, str(tmp_path / "t"), format="parquet", column="payload")
    found = followed(events, tmp_path / "c1")
    assert {reason for _, reason in found} == {None, "no event: the column is null"}
    assert len({place for place, _ in found}) == 3
    assert all(place.startswith("parquet[") for place, _ in found)
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "new.txt").write_text(START)
    (tmp_path / "lines" / "old.txt").write_text(COMPLETE)
    os.utime(tmp_path / "lines" / "old.txt", (0, 0))
    lines = stream_rows(session, str(tmp_path / "lines"), format="text")
    assert [reason for _, reason in followed(lines, tmp_path / "c2")] == [None, None]
    rows.write.saveAsTable("streamed")
    try:
        found = followed(stream_rows(session, "streamed", format="table", column="payload"), tmp_path / "c3")
    finally:
        session.sql("DROP TABLE streamed")
    assert sorted(place.partition("[")[0] for place, _ in found) == ["streamed"] * 3


@pytest.mark.parametrize("name", ["l[1]", "{a,b}", "w*?", "plain"])
def test_format_stream_reads_each_file_of_a_literal_path_once(session, tmp_path, name):
    ours, other = ([(START,), (COMPLETE,)], [(START,)] * 3)
    for place, rows in (
        (name, ours),
        *((one, other) for one in ("l1", "a", "b", "wxy")),
    ):  # as patterns the names are these
        session.createDataFrame(rows, "payload string").repartition(len(rows)).write.parquet(str(tmp_path / place))

    def taken(place, checkpoint):
        return followed(stream_rows(session, place, format="parquet", column="payload"), tmp_path / checkpoint)

    found = taken(str(tmp_path / name), "c1")
    assert len(found) == len(set(found)) == 2
    assert taken(f"file://{tmp_path / name}", "c2") == found


def test_format_stream_accepts_patterns_and_refuses_no_match(session, tmp_path):
    for place in "ab":
        folder(tmp_path / place, "one.txt")
    lines = stream_rows(session, f"{tmp_path}/[a-c]", format="text")
    assert [reason for _, reason in followed(lines, tmp_path / "state")] == [None, None]
    for nothing in ("c", "[c]"):
        with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
            stream_rows(session, str(tmp_path / nothing), format="text")


def test_format_batch_accepts_literal_names_and_patterns(session, tmp_path):
    named, other = tmp_path / "l[1]{x}", tmp_path / "other"
    for place, text in ((named, START), (other, COMPLETE)):
        place.mkdir()
        (place / "events.txt").write_text(text)
    assert [reason for _, reason in places(read(session, str(named), format="text"))] == [None]
    assert [reason for _, reason in places(read(session, f"{tmp_path}/oth*", format="text"))] == [None]
    assert len(places(read(session, [str(named), f"{tmp_path}/oth*"], format="text"))) == 2


def test_time_in_a_struct_keeps_its_microseconds(session):
    parts = f"named_struct('eventTime', timestamp'2026-11-20 10:00:00.123456Z', 'run', named_struct('runId', '{RUN}'))"
    (row,) = frame(session.sql(f"SELECT {parts} AS value")).collect()
    time, *_ = parse_time(json.loads(row.value)["eventTime"], timezone.utc)
    assert time == parse_time("2026-11-20T10:00:00.123456Z", timezone.utc)[0]
