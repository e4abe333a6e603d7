from __future__ import annotations

import sqlite3

import pytest
from support.catalog_sample import LOAD, shop

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.storage import migrations
from dh_bridge.storage.migrations import newest_version


def test_new_catalogue_file_has_version_and_application_id(tmp_path):
    Catalog(tmp_path / "c.db").close()
    plain = sqlite3.connect(tmp_path / "c.db")
    assert plain.execute("PRAGMA user_version").fetchone() == (newest_version(),)
    assert plain.execute("PRAGMA application_id").fetchone()[0].to_bytes(4, "big") == b"dhBr"
    assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    plain.close()


def test_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("these are notes, longer than a header of SQLite is, to be sure" * 9)
    for readonly in (False, True):
        with pytest.raises(SinkError, match="not a catalogue") as caught:
            Catalog(tmp_path / "notes.txt", readonly=readonly)
        assert "notes.txt" in str(caught.value)
    assert (tmp_path / "notes.txt").read_text().startswith("these are notes")


def test_another_program_s_database_is_refused_and_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (a)")
    other.commit()
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(SinkError, match="not a catalogue or ledger"):
        Catalog(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before


def test_file_of_a_newer_release_is_refused(tmp_path):
    Catalog(tmp_path / "c.db").close()
    plain = sqlite3.connect(tmp_path / "c.db")
    plain.execute(f"PRAGMA user_version = {newest_version() + 1}")
    plain.close()
    for readonly in (False, True):
        with pytest.raises(SinkError, match=f"version {newest_version() + 1}, newer than {newest_version()}"):
            Catalog(tmp_path / "c.db", readonly=readonly)


def test_reader_makes_no_file(tmp_path):
    with pytest.raises(SinkError, match=r"no such catalogue or ledger.*--to catalog:FILE.*--ledger FILE"):
        Catalog(tmp_path / "c.db", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_catalogue_reader_works_in_a_readonly_folder(tmp_path, monkeypatch):
    with Catalog(tmp_path / "c.db") as catalog:
        catalog.apply(shop())
    monkeypatch.setattr("os.access", lambda *_: False)
    with Catalog(tmp_path / "c.db", readonly=True) as catalog:
        assert LOAD in set(catalog.entities())
        assert [path.name for path in tmp_path.iterdir()] == ["c.db"]


def test_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(SinkError, match=r"cannot open the file: the folder .*missing does not exist \(use a file"):
        Catalog(tmp_path / "missing" / "c.db")
    with pytest.raises(SinkError, match="cannot open the file: it is a folder"):
        Catalog(tmp_path)


def test_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")  # root, who runs tests, may write anywhere

    monkeypatch.setattr("sqlite3.connect", refused)
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("dh_bridge.private_files.create_private", lambda _: None)
    with pytest.raises(SinkError, match="cannot open the file: no permission to write to the folder"):
        Catalog(tmp_path / "c.db")


def test_empty_file_becomes_a_catalogue_but_not_for_a_reader(tmp_path):
    (tmp_path / "c.db").touch()
    with pytest.raises(SinkError, match="is empty"):
        Catalog(tmp_path / "c.db", readonly=True)
    with Catalog(tmp_path / "c.db") as catalog:
        assert list(catalog.entities()) == []


@pytest.mark.parametrize("name", ["a b.db", "per%20cent.db", "question?.db", "hash#.db", "ünïcode.db"])
def test_any_file_name_will_do(tmp_path, name):
    Catalog(tmp_path / name).close()
    with Catalog(tmp_path / name, readonly=True) as catalog:
        assert list(catalog.entities()) == []
    assert [path.name for path in tmp_path.glob("*.db")] == [name]


def test_half_made_file_is_finished_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(migrations, "sorted_migrations", lambda: [(1, "CREATE TABLE a (b); CREATE TABLE a (b)")])
    with pytest.raises(SinkError, match="already exists"):
        Catalog(tmp_path / "c.db")
    monkeypatch.undo()
    with Catalog(tmp_path / "c.db") as catalog:
        assert list(catalog.entities()) == []


def test_catalogue_in_memory_can_be_read_only_in_name():
    with Catalog(":memory:", readonly=True) as catalog:
        assert list(catalog.entities()) == []


def test_name_that_no_file_can_have_is_refused():
    with pytest.raises(SinkError, match="cannot open the file"):
        Catalog("a\0b")
