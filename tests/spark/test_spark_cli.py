"""``dh-bridge spark``: thin over the functions, delivers to its target, and survives kill -9 of its driver."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click import UsageError
from click.testing import CliRunner
from pyarrow import parquet
from support.generated_runs import group
from support.gms import Gms
from support.partitions import dumped
from support.sample_events import EXAMPLES, RUN, event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.cli.spark import open_checkpoint
from dh_bridge.cli.spark_targets import report_rejections
from dh_bridge.cli.summary import CommandOutcome
from dh_bridge.errors import SinkError
from dh_bridge.openlineage.read import read_events
from dh_bridge.sinks.base import Delivery, Failure, SinkOptions
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.spark import deliver, folder_files, targets
from dh_bridge.spark.executors import deliver_from_executors
from dh_bridge.spark.problems import innermost_cause
from dh_bridge.spark.state import StreamState

KILLS = int(os.environ.get("TESTS_KILLS", "1"))
"""How often the driver is killed; ten for the whole proof."""
CLIENT = EXAMPLES / "client.ndjson"


def invoke(*arguments):
    return CliRunner().invoke(commands, ["spark", *map(str, arguments)])


def held(path):
    with Catalog(path, readonly=True) as catalog:
        return list(dump_catalog(catalog))


def expected(*paths):
    return dumped(Bridge(Settings(datahub_version="1.7")).translate(read_events(paths)).proposals)


def test_rejected_proposals_are_printed_and_counted(session, capsys):
    columns = "entity_type string, entity_urn string, aspect_name string, change_type string, reason string"
    outcome = CommandOutcome()
    report_rejections(outcome, session.createDataFrame([], columns))
    assert (outcome.rejected_count, capsys.readouterr().err) == (0, "")
    report_rejections(outcome, session.createDataFrame([("dataset", "d", "status", "UPSERT", "why")] * 25, columns))
    assert outcome.rejected_count == 25
    assert capsys.readouterr().err.splitlines() == ["left out: d: why"] * 20


@pytest.mark.usefixtures("session")
def test_batch_fills_a_catalogue_and_folders_and_reports(tmp_path, session):
    target = tmp_path / "catalog.db"
    (tmp_path / "bad.ndjson").write_bytes(b'{"a": 1}\n')
    options = ("--datahub-version", "1.7", "--partitions", 1)
    done = invoke("batch", "--events", CLIENT, "--to", f"catalog:{target}", *options)
    assert done.exit_code == 0, done.output
    assert held(target) == expected(CLIENT)
    assert "delivered" in done.stderr
    both = ("--events", CLIENT, "--events", tmp_path / "bad.ndjson", "--bad-records", tmp_path / "bad")
    done = invoke("batch", *both, "--to", f"ndjson:{tmp_path / 'lines'}", *options)
    assert done.exit_code == 1
    assert "bad.ndjson:1: not an OpenLineage event: run, job and dataset are missing" in done.stderr
    assert session.read.parquet(str(tmp_path / "bad")).count() == 1
    lines = [line for file in (tmp_path / "lines").glob("part-*") for line in file.read_bytes().splitlines()]
    assert len(lines) == len(Bridge(Settings(datahub_version="1.7")).translate(read_events([CLIENT])).proposals)


@pytest.mark.usefixtures("session")
def test_executors_deliver_proposals_and_return_failures(tmp_path, session):
    rows = [
        ("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)", "status", "UPSERT", '{"removed": true}'),
        ("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)", "globalTags", "PATCH", '[{"op": "odd"}]'),
    ]
    names = "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string"
    target = f"catalog:{tmp_path / 'catalog.db'}"
    found = deliver_from_executors(session.createDataFrame(rows, names), target, SinkOptions(), max_partitions=1)
    assert (found.delivered_count, found.failed_count) == (1, 1)
    assert [row.aspect_name for row in found.failures.collect()] == ["globalTags"]
    found.close()


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("name", [None, "batch", "stream"])
def test_help_examples_run_unchanged(name, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "events", ignore=shutil.ignore_patterns("[!c]*"))
    monkeypatch.chdir(tmp_path)
    shown = invoke(*([name] if name else []), "--help").stdout
    line = shown.partition("Example:\n")[2].split("\n")[0].strip()
    # Spark's own paths are those of the folder that its session started in
    for word, place in (("", "examples/events"), ("parquet:", "proposals"), ("--checkpoint ", "state")):
        line = line.replace(word + place, f"{word}{tmp_path / place}")
    done = CliRunner().invoke(commands, [*line.split()[1:], "--partitions", "1"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / ("shop.db" if name else "proposals")).exists()


@pytest.mark.usefixtures("session")
def test_dry_stream_translates_what_is_there_and_goes_on_nowhere(tmp_path):
    landing, state = tmp_path / "landing", tmp_path / "state"
    landing.mkdir()
    (landing / "one.json").write_bytes(sent([event("START")])[0])
    where = ("--events", str(landing), "--checkpoint", str(state), "--to", f"catalog:{tmp_path / 'c.db'}")
    stated = ("stream", *where, "--partitions", "1")
    assert invoke(*stated).exit_code == 0
    (landing / "two.json").write_bytes(sent([event("COMPLETE")])[0])
    os.utime(landing / "two.json", (0, 0))  # moved there with its age
    before, dump_before = sorted(state.rglob("*")), held(tmp_path / "c.db")
    dry = invoke(*stated, "--dry-run", "--every", "1 second")
    assert re.search(r"batch 1: [1-9]\d* proposals$", dry.stderr, re.MULTILINE)
    assert sorted(state.rglob("*")) == before
    assert held(tmp_path / "c.db") == dump_before


def test_dry_stream_copies_no_checkpoint_of_a_store(session):
    session.conf.set("fs.defaultFS", "hdfs://127.0.0.1:9")  # as on a cluster: a mere name is one of HDFS there
    try:
        with pytest.raises(UsageError, match="folder of this machine"), open_checkpoint(session, "state", is_copy=True):
            pass
    finally:
        session.conf.unset("fs.defaultFS")


class Refusing:
    """Stands for the catalogue's ``emit``: an error for all, or what is said of each proposal."""

    def __init__(self, monkeypatch, answer):
        monkeypatch.setattr(CatalogSink, "emit", lambda _sink, proposals: self.answered(proposals))
        monkeypatch.setattr(targets, "FIRST_PAUSE_SECONDS", 0.0)
        self.answer = answer
        self.calls = 0

    def answered(self, proposals):
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return Delivery(0, [Failure(one, self.answer, retryable=True) for one in proposals])


@pytest.mark.usefixtures("session")
def test_undelivered_or_uncommitted_stream_batch_is_repeated(tmp_path, monkeypatch, session):
    landing, bad, database = tmp_path / "landing", tmp_path / "bad", tmp_path / "c.db"
    landing.mkdir()
    (landing / "one.ndjson").write_bytes(CLIENT.read_bytes() + b"broken\n")
    where = ("--events", landing, "--checkpoint", tmp_path / "state", "--to", f"catalog:{database}")
    stated = ("stream", *where, "--bad-records", bad, "--partitions", 1, "--fail-on", "delivery")
    with monkeypatch.context() as later:
        sink = Refusing(later, "is busy")
        done = invoke(*stated)
        assert (done.exit_code, sink.calls) == (3, 4)
        assert re.search(
            r"Error: batch 0: \d+ proposals were not delivered, and may get through later \(start the", done.stderr
        )
    with monkeypatch.context() as later:
        later.setattr(StreamState, "mark_complete", lambda _state: open(tmp_path))  # noqa: PTH123, SIM115 - fails
        done = invoke(*stated)
        assert done.exit_code == 2
        assert f"Error: Spark: IsADirectoryError: [Errno 21] Is a directory: '{tmp_path}'" in done.stderr
    done = invoke(*stated)
    assert done.exit_code == 0, done.output
    assert "written for DataHub 1.7, the newest version" in done.stderr
    assert held(database) == dumped(Bridge(Settings()).translate(read_events([CLIENT])).proposals)
    assert session.read.parquet(str(bad)).count() == 1
    done = invoke(*stated)
    assert (done.exit_code, done.stderr) == (
        0,
        "written for DataHub 1.7, the newest version; pass --datahub-version VERSION for an older server\nnothing is new: there was no batch\n",
    )


@pytest.mark.parametrize("scheme", ["parquet", "ndjson"])
def test_repeated_stream_batch_is_in_its_folder_once(tmp_path, monkeypatch, session, scheme):
    landing, found = folder_of(tmp_path / "landing"), tmp_path / "f[o]und {a,b}"
    read = session.read.option("__globPaths__", "false")

    def held_now():
        rows = (read.parquet if scheme == "parquet" else read.text)(str(found))
        return sorted(tuple(row)[:5] for row in rows.collect())

    def ran(checkpoint):
        where = ("--events", landing, "--checkpoint", tmp_path / checkpoint, "--to", f"{scheme}:{found}")
        return invoke("stream", *where, "--partitions", 1, "--datahub-version", "1.7").exit_code

    (landing / "one.json").write_bytes(sent([event("START")])[0])
    with monkeypatch.context() as later:
        later.setattr(StreamState, "mark_complete", lambda _state: open(tmp_path))  # noqa: PTH123, SIM115 - fails behind the delivery
        assert ran("c1") == 2
    first = held_now()
    assert first
    assert ran("c1") == 0
    assert held_now() == first
    (landing / "two.json").write_bytes(sent([event("COMPLETE", run=RUN.replace("f", "e"))])[0])
    assert ran("c1") == 0
    both = held_now()
    assert len(both) > len(first)
    assert ran("c2") == 0  # another stream, whose batch has the same number: it takes nothing away
    assert set(both) == set(held_now())
    assert len(held_now()) > len(both)
    assert [path.name for path in found.iterdir() if path.is_dir()] == []


def folder_of(path):
    path.mkdir()
    return path


def test_file_that_cannot_be_moved_ends_the_batch(tmp_path, monkeypatch, session):
    proposals = session.createDataFrame(
        [("dataset", "d", "status", "UPSERT", "{}")], ", ".join(f"{name} string" for name in targets.PROPOSAL_COLUMNS)
    )
    session.sparkContext.setLocalProperty("sql.streaming.queryId", "one")
    real = folder_files.store_of

    class Refusing:
        """A file system that moves no file."""

        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            return (lambda *_paths: False) if name == "rename" else getattr(self._store, name)

    def refusing_store(spark, path):
        store, hadoop_path = real(spark, path)
        return Refusing(store), hadoop_path

    monkeypatch.setattr(folder_files, "store_of", refusing_store)
    try:
        with pytest.raises(SinkError, match="cannot move the file to") as caught:
            targets.write_batch(proposals, f"ndjson:{tmp_path / 'found'}", 7)
    finally:
        session.sparkContext.setLocalProperty("sql.streaming.queryId", None)
    assert caught.value.retryable


@pytest.mark.usefixtures("session")
def test_filtered_and_undelivered_proposals_are_counted(tmp_path, monkeypatch, session):
    (tmp_path / "few.yaml").write_text("writes: {aspects: [dataFlowInfo, dataJobInfo]}")
    stated = ("batch", "--config", tmp_path / "few.yaml", "--events", CLIENT, "--partitions", 1)
    done = invoke(*stated, "--to", f"parquet:{tmp_path / 'found'}")
    assert done.exit_code == 0, done.output
    found = session.read.parquet(str(tmp_path / "found"))
    assert {row.aspect_name for row in found.select("aspect_name").distinct().collect()} == {
        "dataFlowInfo",
        "dataJobInfo",
    }
    assert re.search(r"left out by writes.aspects: status: [1-9]", done.stderr)
    assert "written for DataHub 1.7, the newest version" in done.stderr
    Refusing(monkeypatch, SinkError("answers 401", location="catalog:c.db"))
    done = invoke(*stated, "--to", f"catalog:{tmp_path / 'c.db'}", "--undelivered", tmp_path / "late")
    assert done.exit_code == 3
    late = session.read.parquet(str(tmp_path / "late"))
    assert late.count() == found.count()
    assert {row.reason for row in late.collect()} == {"catalog:c.db: answers 401"}
    assert f"not delivered  {found.count():>9,}" in done.stderr


def test_innermost_spark_error_cause_is_shown():
    python = 'Traceback (most recent call last):\n  File "a.py", line 1, in take\n    deliver(it)\n'
    batch = f"[STREAM_FAILED] Query [id = 1] terminated with exception: Return Message: {python}"
    java = "py4j.protocol.Py4JJavaError: An error occurred while calling o5.collect.\n: java.util.Some: org.a.B: late\n\tat x\n"
    for text, stated in (
        ("[PATH_NOT_FOUND] Path does not exist: x.\nmore", "[PATH_NOT_FOUND] Path does not exist: x."),
        (f"{batch}OSError: disk gone\n SQLSTATE: 39000", "OSError: disk gone"),
        (f"{batch}pyspark.errors.captured.AnalysisException: [NOT_THERE] no x.\n SQLSTATE: 1", "[NOT_THERE] no x."),
        (f"{batch}{java}Caused by: org.a.B: late\n\tat y\nCaused by: org.a.C: too large\n\tat z\n\n SQL", "too large"),
        ("An error occurred while calling o1.load\n: org.a.B: first\n\tat x\nCaused by: org.a.C: last\n", "last"),
    ):
        assert innermost_cause(text) == stated


def test_invalid_options_are_refused_before_spark_starts():
    two = ("--events", "x", "--events", "y")
    for arguments, stated in (
        (("batch", "--to", "parquet:x"), "name either --events or --kafka"),
        (("batch", "--kafka", "b:9092", "--to", "parquet:x"), "--kafka needs --topic"),
        (("stream", "--events", "x", "--to", "file:x.json", "--checkpoint", "c"), "cannot write one JSON array"),
        (
            ("stream", "--events", "x", "--to", "ndjson:x/y", "--checkpoint", "c"),
            "--to x/y lies in x, of which all is read",
        ),
        (
            ("batch", "--events", "x", "--to", "parquet:y", "--bad-records", "x"),
            "--bad-records x lies in x, of which all is read",
        ),
        (
            ("stream", *two, "--format", "text", "--to", "parquet:x", "--checkpoint", "c"),
            "a stream with --format reads one folder or table",
        ),
    ):
        done = invoke(*arguments)
        assert done.exit_code == 2
        assert stated in done.stderr


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        (("batch", "--events", "x", "--topic", "t"), "--topic goes with --kafka only"),
        (("batch", "--events", "x", "--column", "value"), "--column goes with --format only"),
        (("batch", "--events", "x", "--option", "a=b"), "--option goes with --format or --kafka only"),
        (("batch", "--kafka", "b:1", "--topic", "t", "--format", "text"), "--format goes with --events only"),
        (("stream", "--events", "x", "--checkpoint", "c", "--topic", "t"), "--topic goes with --kafka only"),
        (("stream", "--events", "x", "--checkpoint", "c", "--column", "c"), "--column goes with --format only"),
    ],
)
def test_option_that_would_do_nothing_is_refused(options, stated):
    done = invoke(*options, "--to", "parquet:x")
    assert done.exit_code == 2
    assert stated in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["catalog", "parquet", "rest"])
def test_stream_resumes_after_its_driver_is_killed(kind, session, tmp_path):
    raws = [raw.replace(b"db.s.", b"db%d.s." % i) for i in range(12) for raw in sent(group(2026, i))]
    raws.append(sent([event("COMPLETE")])[0])
    landing = tmp_path / "landing"
    landing.mkdir()
    files = KILLS + 2
    for number in range(files):
        (landing / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::files]))
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        target = {
            "catalog": f"catalog:{tmp_path}/catalog.db",
            "parquet": f"parquet:{tmp_path}/out",
            "rest": f"rest:{gms.url}",
        }[kind]
        follow_and_kill(landing, target, tmp_path)
        delivered = gms.dump()
    if kind == "parquet":
        deliver(session.read.parquet(str(tmp_path / "out")), f"catalog:{tmp_path}/catalog.db")
    assert (delivered if kind == "rest" else held(tmp_path / "catalog.db")) == expected(landing)
    # after a kill between Spark's own notes a batch may take two files; each event is there once all the same
    done = tmp_path / "state" / "dh_bridge" / "done"
    assert KILLS < len(list(done.glob("batch=*"))) <= files
    retained = (tmp_path / "state" / "dh_bridge" / "events").rglob("*.parquet")
    events = [
        one
        for file in retained
        for one in parquet.read_table(file, columns=["raw"])["raw"].to_pylist()
        if one is not None
    ]
    assert len(events) == len(raws)


def follow_and_kill(landing, target, home):
    """Run the driver of a stream, kill it in or between batches, and run it to the end."""
    command = [
        sys.executable,
        Path(__file__).parents[1] / "support" / "spark_follow.py",
        landing,
        target,
        home / "state",
    ]
    done = home / "state" / "dh_bridge" / "done"
    plain = {key: value for key, value in os.environ.items() if not key.startswith("DH_BRIDGE_")}
    for kill in range(KILLS):
        log = (home / f"log{kill}").open("wb")
        with subprocess.Popen(command, stdout=log, stderr=log, env=plain, start_new_session=True) as driver:
            # some time into the batch after the first that it finishes, each time later
            while driver.poll() is None and len(list(done.glob("batch=*"))) <= kill:
                time.sleep(0.1)
            time.sleep(0.3 * (kill % 4))
            assert driver.poll() is None, (home / f"log{kill}").read_text()[-3000:]
            os.killpg(driver.pid, signal.SIGKILL)
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    assert finished.returncode == 0, finished.stderr[-3000:]
