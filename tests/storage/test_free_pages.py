"""Free pages go back to the disk: when a file with many of them is closed, and at `prune`."""

from __future__ import annotations

import sqlite3

import pytest

from dh_bridge.errors import SinkError
from dh_bridge.storage.database import Database

ROW = b"x" * 3_000


def fill(file, count):
    with file.transaction():
        file.connection.executemany(
            "INSERT INTO entity (urn, type) VALUES (?, 'a')", ((f"{number}{ROW}",) for number in range(count))
        )


def empty(file):
    with file.transaction():
        file.connection.execute("DELETE FROM entity")


def test_file_with_many_free_pages_is_smaller_after_closing(tmp_path):
    path = tmp_path / "c.db"
    with Database(path) as file:
        fill(file, 3_000)
    full_size = path.stat().st_size
    assert full_size > 15_000_000
    with Database(path) as file:
        empty(file)
    assert path.stat().st_size < full_size / 10
    with Database(path) as file:
        assert file.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_few_free_pages_stay_for_the_next_batch(tmp_path):
    path = tmp_path / "c.db"
    with Database(path) as file:
        fill(file, 15)
    size = path.stat().st_size
    with Database(path) as file:
        empty(file)
    assert path.stat().st_size == size
    with Database(path) as file:
        assert file.release_free_pages() > 50_000
        assert file.release_free_pages() == 0
    assert path.stat().st_size < size - 50_000


def test_reader_beside_it_does_not_stop_closing(tmp_path):
    path = tmp_path / "c.db"
    with Database(path) as file:
        fill(file, 3_000)
        with Database(path, readonly=True) as reader:
            rows = reader.connection.execute("SELECT urn FROM entity")
            assert rows.fetchone() is not None
            empty(file)
            file.close()
            assert len(rows.fetchall()) == 2_999


def test_file_of_an_earlier_version_is_written_again(tmp_path):
    path = tmp_path / "c.db"
    Database(path).close()
    plain = sqlite3.connect(path, isolation_level=None)
    plain.execute("PRAGMA auto_vacuum = NONE")
    plain.execute("VACUUM")
    assert plain.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    plain.close()
    with Database(path) as file:
        fill(file, 2_000)
        empty(file)
    assert path.stat().st_size > 10_000_000
    with Database(path) as file:
        assert file.release_free_pages() > 10_000_000
        assert file.connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert path.stat().st_size < 1_000_000


def test_other_writer_is_named(tmp_path):
    path = tmp_path / "c.db"
    with Database(path) as file, Database(path) as other:
        fill(file, 300)
        empty(file)
        file.connection.execute("PRAGMA busy_timeout = 0")
        other.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            SinkError, match=r"cannot return free space to the disk: .*locked \(run the command again when no"
        ):
            file.release_free_pages()
        other.connection.execute("ROLLBACK")
