# ruff: noqa: S608 - the statements are made of constants
"""Values of a ledger are compressed with a dictionary, which the ledger makes of its own values when it has some."""

from __future__ import annotations

import zlib
from pathlib import Path
from zlib import crc32

import pytest
import zstandard
from support.ledger_batches import read
from support.sample_events import dataset, event, job_event

from dh_bridge.ledger import Ledger, compression
from dh_bridge.ledger.compression import Compression, compression_of, package_dictionary
from dh_bridge.ledger.run_history import read_history
from dh_bridge.ledger.shared import EQUAL_BASE
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.storage.damage import DamageError
from dh_bridge.storage.database import Database

EXAMPLES = Path(__file__).parents[2] / "examples" / "events"
OPTIONS = Options(Settings(datahub_version="1.7"), is_stateful=True)
RUN = "018cc251-f400-734d-88b3-{:012}"
COLUMNS = (("run", "state"), ("shared", "registers"), ("state_object", "value"))
"""The columns of states, which begin with a checksum."""


def events(first, last):
    for number in range(first, last):
        inputs = [dataset(f"d.s.t{number % 7}"), dataset("d.s.common")]
        yield event(
            "COMPLETE", "2026-11-20T10:00:01Z", run=RUN.format(number), job=f"etl.load_{number % 9}", inputs=inputs
        )


def emit(path, items, sink="memory:"):
    """Process events; return the number of proposals that were sent."""
    sink = open_sink(sink, SinkOptions())
    with Database(path) as file:
        results = list(Ledger(file, OPTIONS, sink).stream(items))
    sink.close()
    return sum(len(translation.proposals) for translation, _ in results)


def dictionaries(path):
    """Return the numbers of the dictionaries that the values of the ledger use."""
    with Database(path) as file:
        frames = [
            frame
            for query in (
                *(f"SELECT substr({column}, 6) FROM {table}" for table, column in COLUMNS),
                "SELECT aspects FROM sent",
            )
            for (frame,) in file.connection.execute(query)
            if frame.startswith(compression._FRAME_MAGIC)
        ]
    return {zstandard.get_frame_parameters(frame).dict_id for frame in frames}


@pytest.fixture
def few_runs(monkeypatch):
    monkeypatch.setattr(compression, "TRAINING_RUNS", 20)


def test_new_ledger_uses_the_dictionary_of_the_package(tmp_path):
    emit(tmp_path / "l.db", read(events(0, 5)))
    assert dictionaries(tmp_path / "l.db") == {package_dictionary().dict_id()}
    with Database(tmp_path / "l.db") as file:
        assert file.connection.execute("SELECT count(*) FROM dictionary").fetchone() == (0,)


@pytest.mark.usefixtures("few_runs")
def test_grown_ledger_makes_a_dictionary_and_reads_all_values(tmp_path):
    path = tmp_path / "l.db"
    emit(path, read(events(0, 25)))
    emit(path, read(events(25, 40)))
    with Database(path) as file:
        ((number, run_count),) = file.connection.execute("SELECT id, run_count FROM dictionary").fetchall()
        assert run_count == 25
        histories = [read_history(file.connection, RUN.format(run), OPTIONS, location="l") for run in range(40)]
    assert [len(history.events) for history in histories] == 40 * [1]
    assert dictionaries(path) == {number, package_dictionary().dict_id()}
    assert emit(path, read(events(0, 40))) == 0  # all states and fingerprints were read, and none changed
    emit(path, read(events(40, 260)))
    with Database(path) as file:  # another one at ten times as many runs
        assert [count for (count,) in file.connection.execute("SELECT run_count FROM dictionary ORDER BY 1")] == [
            25,
            260,
        ]


def test_values_without_compression_are_read(tmp_path):
    path = tmp_path / "l.db"
    emit(path, read(events(0, 12)))
    with Database(path) as file, file.transaction():
        values = compression_of(file.connection)
        for table, column in COLUMNS:
            for row, data in file.connection.execute(f"SELECT id, {column} FROM {table}").fetchall():
                plain = values.decompress(data[5:])
                sealed = b"\x01" + crc32(plain).to_bytes(4, "big") + plain
                file.connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (sealed, row))
        for urn, data in file.connection.execute("SELECT urn, aspects FROM sent").fetchall():
            file.connection.execute("UPDATE sent SET aspects = ? WHERE urn = ?", (values.decompress(data), urn))
        for run, entry in file.connection.execute("SELECT run, entry FROM run_history").fetchall():
            data = zlib.compress(values.decompress(entry), 1) if run % 2 else values.decompress(entry)
            file.connection.execute("UPDATE run_history SET entry = ? WHERE run = ?", (data, run))
    assert dictionaries(path) == set()
    assert emit(path, read(events(0, 12))) == 0
    with Database(path) as file:
        for run in range(12):
            assert len(read_history(file.connection, RUN.format(run), OPTIONS, location="l").events) == 1


@pytest.mark.usefixtures("few_runs")
def test_dictionary_of_a_batch_that_failed_is_not_used(tmp_path, monkeypatch):
    path = tmp_path / "l.db"

    def fail(*_, **__):
        raise RuntimeError("the disk is gone")

    with Database(path) as file:
        ledger = Ledger(file, OPTIONS, open_sink("memory:", SinkOptions()))
        with monkeypatch.context() as patched:
            patched.setattr(Compression, "train_if_due", lambda self: (train(self), fail()))
            with pytest.raises(RuntimeError):
                ledger.process_and_deliver(read(events(0, 30)))
        ledger.process_and_deliver(read(events(0, 3)))
    assert dictionaries(path) == {package_dictionary().dict_id()}
    assert emit(path, read(events(0, 3))) == 0


train = Compression.train_if_due


@pytest.mark.usefixtures("few_runs")
def test_value_whose_dictionary_is_missing_is_damage(tmp_path):
    path = tmp_path / "l.db"
    emit(path, read(events(0, 25)))
    emit(path, read(events(25, 40)))
    with Database(path) as file:
        file.connection.execute("DELETE FROM dictionary")
    with pytest.raises(DamageError, match=r"a compressed value cannot be read: dictionary \d+ is missing"):
        emit(path, read(events(25, 40)))


def test_facts_of_job_events_are_stored_once(tmp_path):
    path = tmp_path / "l.db"
    emit(path, read([job_event(job=f"etl.load_{number}") for number in range(3)]))
    with Database(path) as file:
        bases = [
            base for (base,) in file.connection.execute("SELECT base FROM shared WHERE urn GLOB 'urn:li:dataJob:*'")
        ]
    assert bases == 3 * [EQUAL_BASE]
    assert emit(path, read([job_event(job=f"etl.load_{number}") for number in range(3)])) == 0


def test_ledger_of_captured_events_is_a_fifth_of_its_values(tmp_path):
    path = tmp_path / "l.db"
    emit(path, read_events([str(EXAMPLES)]))
    with Database(path) as file:
        values = Compression(file.connection)
        sizes = [
            (len(data), len(values.decompress(data)))
            for query in (
                *(f"SELECT substr({column}, 6) FROM {table}" for table, column in COLUMNS),
                "SELECT aspects FROM sent",
                "SELECT entry FROM run_history",
            )
            for (data,) in file.connection.execute(query)
        ]
    assert 5 * sum(stored for stored, _ in sizes) < sum(plain for _, plain in sizes)
