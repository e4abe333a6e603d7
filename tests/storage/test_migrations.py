"""Migrations: each owner of tables brings its own, and one file has those of both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dh_bridge.catalog import schema as catalog_schema
from dh_bridge.errors import SinkError
from dh_bridge.ledger import schema as ledger_schema
from dh_bridge.storage import migrations
from dh_bridge.storage.database import Database


def tables(schema):
    return {name for text in schema.MIGRATIONS.values() for name in re.findall(r"CREATE TABLE (\w+)", text)}


def test_each_table_has_one_owner_and_all_are_there(tmp_path):
    assert tables(catalog_schema) & tables(ledger_schema) == set()
    with Database(tmp_path / "c.db") as file:
        found = {name for (name,) in file.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    search_tables = {
        name for name in found if name.startswith("search_index")
    }  # one table, and those that FTS5 makes for it
    assert found - {"sqlite_sequence"} - search_tables == tables(catalog_schema) | tables(ledger_schema)


def test_views_and_tables_have_different_names(tmp_path):
    with Database(tmp_path / "c.db") as file:
        names = [name.lower() for (name,) in file.connection.execute("SELECT name FROM sqlite_master")]
    assert len(names) == len(set(names))


def test_file_older_than_the_first_migration_is_left_unchanged(tmp_path, monkeypatch):
    with Database(tmp_path / "c.db") as file:
        file.connection.execute("PRAGMA user_version = 2")
    monkeypatch.setattr(catalog_schema, "MIGRATIONS", {3: "CREATE TABLE a (b)"})
    monkeypatch.setattr(ledger_schema, "MIGRATIONS", {3: "CREATE TABLE c (d)"})
    before = (tmp_path / "c.db").read_bytes()
    with pytest.raises(SinkError, match="earlier version"):
        Database(tmp_path / "c.db")
    assert (tmp_path / "c.db").read_bytes() == before


def test_owners_may_migrate_in_one_version(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog_schema, "MIGRATIONS", {3: "CREATE TABLE a (b)"})
    monkeypatch.setattr(ledger_schema, "MIGRATIONS", {3: "CREATE TABLE c (d)", 2: "CREATE TABLE e (f)"})
    with Database(tmp_path / "c.db") as file:
        names = [name for (name,) in file.connection.execute("SELECT name FROM sqlite_master ORDER BY rowid")]
        assert names == ["e", "a", "c"]
        assert file.connection.execute("PRAGMA user_version").fetchone() == (3,)


def test_semicolon_in_a_comment_or_a_text_ends_no_statement(tmp_path, monkeypatch):
    script = "-- a note; and more\nCREATE TABLE a (b TEXT DEFAULT ';', -- 0: no; 1: yes\n c); CREATE TABLE d (e) -- the last; really\n"
    monkeypatch.setattr(catalog_schema, "MIGRATIONS", {3: script})
    monkeypatch.setattr(ledger_schema, "MIGRATIONS", {3: "CREATE TABLE f (g);\n"})
    with Database(tmp_path / "c.db") as file:
        names = [name for (name,) in file.connection.execute("SELECT name FROM sqlite_master ORDER BY rowid")]
    assert names == ["a", "d", "f"]


def test_corrupt_row_is_found_by_its_table_owner(tmp_path):
    with Database(tmp_path / "c.db") as file:
        file.connection.execute("INSERT INTO entity VALUES (1, 'urn:li:tag:a', 'tag')")
        file.connection.execute("INSERT INTO aspect VALUES (1, 'status', '{')")
        assert "urn:li:tag:a" in next(
            filter(None, (owner.find_fault(file.connection) for owner in migrations.table_owners()))
        )


def insert_and_break_off(file):
    with file.transaction():
        file.connection.execute("INSERT INTO note VALUES ('a', 'b')")
        raise KeyError


def test_error_inside_leaves_nothing_behind(tmp_path):
    with Database(tmp_path / "c.db") as file:
        with pytest.raises(KeyError):
            insert_and_break_off(file)
        assert file.connection.execute("SELECT count(*) FROM note").fetchone() == (0,)


def test_files_are_opened_by_the_storage_alone():
    """A lock is a file of its own."""
    source = Path(migrations.__file__).resolve().parents[1]
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "sqlite3.connect(" in path.read_text(encoding="utf-8")
    }
    assert found == {"storage/connection.py", "storage/process_lock.py"}
