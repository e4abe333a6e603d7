"""What comes in spoilt, huge or without end: a clear message, counted, and the rest goes through."""

from __future__ import annotations

import gzip
import json
import runpy
import sys

import pytest
from click.testing import CliRunner
from support.partitions import dumped
from support.sample_events import EXAMPLES, event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.cli import EXIT_DELIVERY, EXIT_USAGE, commands
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.read import read_events
from dh_bridge.spark import SparkTranslation, read, rows, stream, stream_files

CLIENT = EXAMPLES / "client.ndjson"
SETTINGS = Settings(datahub_version="1.7")
OTHER = "018cc251-f400-734d-88b3-1e3d63fe6299"


def test_run_with_very_many_events_ends_as_one_call(session, held, tmp_path):
    times = [f"2026-11-20T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z" for number in range(4000)]
    many = [event("RUNNING", time) for time in times[1:-1]]
    raws = sent([event("START"), *many, event("COMPLETE", times[-1]), event("COMPLETE", run=OTHER, job="etl.other")])
    (tmp_path / "many.ndjson").write_bytes(b"\n".join(reversed(raws)))
    found = SparkTranslation(read(session, str(tmp_path)), SETTINGS, partitions=2)
    assert held(found.proposals.collect()) == dumped(Bridge(SETTINGS).translate(raws).proposals)
    counts = found.counts()
    assert (counts.events, counts.dead, counts.runs, counts.rejected) == (4001, 0, 2, 0)
    found.close()


def test_stream_reports_unusable_records_and_continues(session, held, tmp_path):
    landing = tmp_path / "landing"
    landing.mkdir()
    whole = gzip.compress(CLIENT.read_bytes())
    (landing / "0.ndjson").write_bytes(CLIENT.read_bytes() + b'\n{"a": 1}\n\xff\xfe\x00junk\n{')
    (landing / "1.ndjson.gz").write_bytes(whole[: len(whole) // 2])
    (landing / "2.json").write_bytes(json.dumps(event(run_facets={"x": {"text": "y" * 20_000_000}})).encode())
    (landing / "3.log").write_bytes(bytes(range(256)) * 8)
    bad, proposals = [], []

    def take(found, unusable, _number):
        proposals.extend(found.collect())
        bad.extend((row.location, row.reason, bytes(row.raw)) for row in unusable.collect())

    events = stream_files(session, str(landing))
    stream(events, checkpoint=str(tmp_path / "state"), settings=SETTINGS, partitions=1).to(
        take
    ).start().awaitTermination()
    one = Bridge(SETTINGS).translate(read_events([landing]))
    assert len(one.dead) >= 5
    assert {place_and_reason[:2] for place_and_reason in bad} == {
        (letter.location, letter.reason) for letter in one.dead
    }
    assert len(bad) == len(one.dead)
    assert held(proposals) == dumped(one.proposals)


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("options", "stated"),
    [
        (
            ["--events", "{client}", "--format", "text", "--column", "payload"],
            "--column: unknown column 'payload'; the columns are value",
        ),
        (["--events", "{client}", "--format", "no-such-format"], "no-such-format"),
        (["--events", "{client}", "--format", "parquet"], "Parquet"),
        (["--events", "no-such-file"], "no-such-file does not exist"),
        (["--events", "{client}", "--from", "yesterday"], "--from, --until: not an ISO 8601 time"),
    ],
    ids=["column", "format", "content", "file", "time"],
)
def test_unreadable_input_is_a_one_line_error(options, stated, tmp_path):
    named = [option.replace("{client}", str(CLIENT)) for option in options]
    done = CliRunner().invoke(commands, ["spark", "batch", *named, "--to", f"parquet:{tmp_path / 'found'}"])
    assert done.exit_code == EXIT_USAGE, done.output
    assert stated in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 1000


@pytest.mark.usefixtures("session")
def test_unwritable_folder_is_exit_code_3(tmp_path):
    (tmp_path / "file").write_text("no folder")
    target = f"parquet:{tmp_path / 'file' / 'found'}"
    done = CliRunner().invoke(commands, ["spark", "batch", "--events", str(CLIENT), "--to", target])
    assert done.exit_code == EXIT_DELIVERY, done.output
    assert f"Error: {target}: " in done.stderr
    assert "proposals" in done.stderr
    nameless = CliRunner().invoke(commands, ["spark", "batch", "--events", str(CLIENT), "--to", "parquet:"])
    assert (nameless.exit_code, "--to: parquet: needs a folder" in nameless.stderr) == (EXIT_USAGE, True)


@pytest.mark.parametrize(
    ("raised", "stated"),
    [
        ("ModuleNotFoundError('no pyarrow')", "pyarrow is not installed"),
        ("ImportError('pyarrow requires NumPy 2.0 or newer')", "cannot import pyarrow: pyarrow requires NumPy 2.0"),
    ],
)
def test_broken_pyarrow_is_not_reported_as_missing(raised, stated, tmp_path, monkeypatch):
    (tmp_path / "pyarrow.py").write_text(f"raise {raised}", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyarrow")
    with pytest.raises(SettingsError, match=stated):
        runpy.run_path(rows.__file__)
