"""A stream's batches have metrics, in Spark's progress and as JSON lines."""

from __future__ import annotations

import json

import pytest
from support.sample_events import dataset, event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.errors import SinkError
from dh_bridge.spark import DeliveryCounts, stream, stream_files

SETTINGS = Settings(datahub_version="1.7")


@pytest.fixture
def landing(tmp_path):
    """Return a landing folder: a file with two events and a broken line, and a file with one event."""
    folder = tmp_path / "landing"
    folder.mkdir()
    start, complete = sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z", outputs=[dataset("d.s.a")])])
    (folder / "0.ndjson").write_bytes(b"\n".join([start, b"{", start]))
    (folder / "1.ndjson").write_bytes(complete)
    return str(folder)


def test_metrics_of_each_batch_are_in_the_progress_and_in_a_file(session, landing, tmp_path):
    events = stream_files(session, landing, options={"maxFilesPerTrigger": "1"})
    started = stream(events, checkpoint=str(tmp_path / "state"), settings=SETTINGS, partitions=1)
    query = started.to(f"parquet:{tmp_path / 'out'}").metrics(str(tmp_path / "metrics.ndjson")).start()
    query.awaitTermination()
    lines = [json.loads(line) for line in (tmp_path / "metrics.ndjson").read_text().splitlines()]
    counts = [(line["batch"], line["events"], line["dead"], line["refused"]) for line in lines]
    assert sorted(count[1:] for count in counts) == [(1, 0, 0), (2, 1, 0)]
    assert [count[0] for count in counts] == [0, 1]
    observed = [progress["observedMetrics"]["dh_bridge"] for progress in query.recentProgress]
    assert [(metrics["events"], metrics["dead"]) for metrics in observed] == [count[1:3] for count in counts]
    assert sum(line["delivered"] for line in lines) == session.read.parquet(str(tmp_path / "out")).count() > 0
    assert all(line["seconds"] > 0 and line["stream"] == str(query.id) for line in lines)
    assert lines[0]["time"] < lines[1]["time"]


def test_metrics_have_the_counts_that_a_function_returns(session, landing, tmp_path):
    def run(consume, name):
        events = stream_files(session, landing)
        started = stream(events, checkpoint=str(tmp_path / name), settings=SETTINGS, partitions=1)
        started.to(consume).metrics(str(tmp_path / f"{name}.ndjson")).start().awaitTermination()
        (line,) = map(json.loads, (tmp_path / f"{name}.ndjson").read_text().splitlines())
        return line["events"], line["dead"], line["delivered"], line["refused"]

    assert run(lambda *_: DeliveryCounts(7, 2), "counted") == (3, 1, 7, 2)
    assert run(lambda *_: None, "uncounted") == (3, 1, None, None)


def test_metrics_file_that_cannot_be_written_is_refused_at_the_start(session, landing, tmp_path):
    started = stream(stream_files(session, landing), checkpoint=str(tmp_path / "state"), settings=SETTINGS)
    with pytest.raises(SinkError, match="cannot write the metrics: No such file or directory"):
        started.to("parquet:out").metrics(str(tmp_path / "missing" / "metrics.ndjson")).start()
    assert not (tmp_path / "state").exists()
