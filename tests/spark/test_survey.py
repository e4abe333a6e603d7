"""What a DataFrame of events tells beside its translation: what one process would say of the same events."""

from __future__ import annotations

import json

import pytest
from samples import EXAMPLES, SPARK, dataset, event, examples
from samples import packed as sent
from test_replay import dumped

from dh_bridge import Bridge, Settings
from dh_bridge.learning import learn
from dh_bridge.spark import Survey, frame, read, report, sightings
from dh_bridge.spark.rows import RECORD, batches
from dh_bridge.spark.sightings import CountRuns
from dh_bridge.spark.survey import TABLES

SETTINGS = Settings(profile="1.7")
RUNS = [f"018cc251-f400-734d-88b3-1e3d63fe62{number:02}" for number in range(5)]


def rows(found):
    return [row.asDict(recursive=True) for row in found.collect()]


def counted(name, rows, namespace="postgres://db:5432"):
    statistics = {"rowCount": rows, "size": rows * 10, "_producer": SPARK, "_schemaURL": "x"}
    return dataset(name, namespace, outputFacets={"outputStatistics": statistics})


@pytest.fixture(scope="module")
def told():
    """Three runs of a job that ended and one that goes on; two servers behind one URN, two spellings of a name."""
    return [
        event("START", "2026-11-20T10:00:00Z", run=RUNS[0]),
        event("COMPLETE", "2026-11-20T10:01:00Z", run=RUNS[0], outputs=[counted("d.s.a", 5)]),
        event("FAIL", "2026-11-20T12:00:00Z", run=RUNS[2], outputs=[counted("d.s.a", 7)]),
        event("COMPLETE", "2026-11-20T11:00:00Z", run=RUNS[1], outputs=[counted("d.s.a", 70)]),
        event("START", "2026-11-20T13:00:00Z", run=RUNS[3], outputs=[counted("d.s.a", 700)]),
        event("COMPLETE", run=RUNS[4], job="etl.other", inputs=[dataset("d.s.a", "postgres://other:5432")]),
        event("COMPLETE", run=RUNS[4], job="etl.other", outputs=[dataset("d.S.A", "snowflake://acc.eu-1.aws")]),
        event("COMPLETE", run=RUNS[4], job="etl.other", outputs=[dataset("e.d.s.a", "snowflake://acc.eu-1.aws")]),
    ]


@pytest.fixture(scope="module")
def survey(session, told):
    lines = session.createDataFrame([(raw.decode(),) for raw in [*sent(told), b"{"]], "value string")
    found = Survey(frame(lines), SETTINGS, partitions=2)
    yield found
    found.close()


def test_jobs_are_counted_by_how_their_runs_ended_and_the_last_one_is_told(survey):
    job, other = (row for row in rows(survey.jobs(sums=True)))
    assert job["job"].endswith("etl.load)") or job["job"].endswith("load)")
    assert [job[key] for key in ("runs", "completed", "failed", "aborted", "duration")] == [4, 2, 1, 0, 60_000]
    assert job["last"]["run"].endswith(RUNS[2])
    assert job["last"]["result"] == "FAIL"
    assert other["runs"] == 1
    assert "duration" not in survey.jobs().columns


def test_datasets_show_what_the_last_run_that_ended_counted_and_sums_on_request(survey):
    (last,) = rows(survey.datasets())
    assert (last["direction"], last["runs"]) == ("output", 3)
    assert last["run"].endswith(RUNS[2])
    assert (last["row_count"], last["bytes"], last["files"]) == (7, 70, None)
    (added,) = rows(survey.datasets(sums=True))
    assert (added["row_count"], added["bytes"], added["files"]) == (82, 820, None)


def test_statistics_of_the_last_run_are_those_on_the_edge(survey, told):
    (last,) = rows(survey.datasets())
    lines = map(json.loads, dumped(Bridge(SETTINGS).translate(sent(told)).proposals))
    (job,) = [
        one["aspect"]["json"]
        for one in lines
        if (one["entityUrn"], one["aspectName"]) == (last["job"], "dataJobInputOutput")
    ]
    (edge,) = job["outputDatasetEdges"]
    assert edge["destinationUrn"] == last["dataset"]
    assert edge["properties"]["openlineage.outputStatistics.rowCount"] == str(last["row_count"])


def test_one_urn_of_two_servers_is_a_collision(survey):
    (found,) = rows(survey.collisions())
    assert found["urn"] == "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.a,PROD)"
    assert found["namespaces"] == ["postgres://db:5432", "postgres://other:5432"]
    assert found["events"] == 5


def test_urns_that_look_like_one_dataset_are_near_misses_each_pair_once(survey):
    found = {
        (row["urn"].split(":")[-1], row["found"].split(":")[-1], row["differs"]) for row in rows(survey.near_misses())
    }
    assert ("postgres,d.s.a,PROD)", "snowflake,d.s.a,PROD)", "platform") in found
    assert len({frozenset(pair[:2]) for pair in found}) == len(found)


def test_what_is_learned_in_parts_is_what_one_learner_learns(session):
    found = Survey(read(session, str(EXAMPLES)), SETTINGS, partitions=3)
    assert found.learned().page() == learn(examples(), SETTINGS).page()
    whole = report(read(session, str(EXAMPLES / "client.ndjson")), SETTINGS, partitions=1)
    assert found.leaves().columns == whole.columns
    found.close()


def test_everything_is_written_into_folders(survey, session, tmp_path):
    survey.write(str(tmp_path / "report"))
    for name in TABLES:
        assert session.read.json(str(tmp_path / "report" / name)).count() > 0
    page = "\n".join(row.value for row in session.read.text(str(tmp_path / "report" / "settings")).collect())
    assert "collision" in page
    assert json.dumps(RUNS[0]) not in page


def test_a_run_of_very_many_events_is_counted_in_the_memory_of_some_hundreds(monkeypatch):
    held = []
    history_of = sightings.history_of
    monkeypatch.setattr(
        sightings, "history_of", lambda state, options: held.append(state) or history_of(state, options)
    )
    times = [f"2026-11-20T10:{number // 60 % 60:02}:{number % 60:02}.{number // 3600}Z" for number in range(5000)]
    events = [event("START", "2026-11-20T09:00:00Z"), *(event("RUNNING", time) for time in times)]
    events.append(event("COMPLETE", "2026-11-20T12:00:00Z"))
    rows = [("run", number, f"e:{number}", raw, None) for number, raw in enumerate(sent(events))]
    (found,) = CountRuns(SETTINGS)(batches(rows, RECORD))
    (row,) = found.to_pylist()
    assert (row["result"], row["duration"]) == ("COMPLETE", 3 * 3600 * 1000)
    (state,) = held
    assert len(state.events) < 2500
