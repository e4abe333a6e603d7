"""Files that Spark cannot read, or that are gone, are bad records with their names; the others are translated."""

from __future__ import annotations

import pytest
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.spark import read, stream, stream_files, stream_rows, translate
from dh_bridge.spark.damaged_files import find_damaged
from dh_bridge.spark.state import StreamState

SETTINGS = Settings(datahub_version="1.7")
START, COMPLETE = sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")])


class BrokenOffError(Exception):
    pass


def follow(events, home):
    """Run a stream to its end; return (events of runs, bad records) of its batches."""
    found = []

    def consume(proposals, bad_records, _number):
        runs = proposals.filter("aspect_name = 'dataProcessInstanceRunEvent'").count()
        found.append((runs, [(row.location, row.reason) for row in bad_records.collect()]))

    stream(events, checkpoint=str(home / "state"), settings=SETTINGS, partitions=1).to(
        consume
    ).start().awaitTermination()
    return found


def test_file_that_is_gone_when_a_batch_is_repeated_is_a_bad_record(session, tmp_path, monkeypatch):
    landing = tmp_path / "in [1] %20"
    landing.mkdir()
    (landing / "gone é.json").write_bytes(START)
    (landing / "there.json").write_bytes(COMPLETE)

    def break_off(_state):
        raise BrokenOffError

    with monkeypatch.context() as patched:
        patched.setattr(StreamState, "mark_complete", break_off)
        with pytest.raises(Exception, match="BrokenOff"):
            follow(stream_files(session, str(landing)), tmp_path)
    (landing / "gone é.json").unlink()
    ((runs, bad),) = follow(stream_files(session, str(landing)), tmp_path)
    assert runs == 1
    assert [location for location, _ in bad] == [str(landing / "gone é.json")]
    assert bad[0][1] == "cannot read the file: it does not exist any more"


def test_damaged_table_file_is_a_bad_record_in_batch_and_stream(session, tmp_path):
    folder = tmp_path / "t"
    for raw in (START, COMPLETE):
        session.createDataFrame([(raw.decode(),)], "payload string").coalesce(1).write.mode("append").parquet(
            str(folder)
        )
    damaged = folder / "part-damaged.parquet"
    damaged.write_bytes(b"PAR1 this is no Parquet file PAR1")
    schema_first = read(session, str(folder), format="parquet", column="payload", options={"mergeSchema": "false"})
    with translate(schema_first, SETTINGS, partitions=1) as translation:
        assert translation.counts().events == 2
        assert [row.location for row in translation.bad_records.collect()] == [str(damaged)]
    events = stream_rows(session, str(folder), format="parquet", column="payload")
    ((runs, bad),) = follow(events, tmp_path)
    assert (runs, [location for location, _ in bad]) == (2, [str(damaged)])
    assert "cannot read the file: " in bad[0][1]


def test_few_damaged_files_are_found_in_few_jobs(session, tmp_path):
    paths = []
    for number in range(8):
        paths.append(str(tmp_path / f"{number}.txt"))
        if number != 3:
            (tmp_path / f"{number}.txt").write_bytes(START)
    jobs = []

    def load(some):
        jobs.append(len(some))
        return session.read.format("binaryFile").load(some)

    assert list(find_damaged(load, paths)) == [paths[3]]
    assert len(jobs) <= 7
