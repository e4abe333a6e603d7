"""A ledger's file: a copy made while it is written goes on where it was, and a file of the first version is migrated."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from gen_runs import group
from told import Told, read, settings

from dh_bridge.catalog.dump import dump
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.storage.connection import _APPLICATION
from dh_bridge.storage.migrations import migrations, newest_version
from dh_bridge.translation.options import Options

FIRST, LATER = ([one for i in numbers for one in group(7, i)] for numbers in (range(4), range(4, 8)))


def ledger(file):
    return Ledger(file, Options(settings(), stateful=True), CatalogSink(file), clock=lambda: 1_796_000_000)


def whole():
    told = Told(settings())
    told.tell(FIRST, LATER)
    return told.dump()


def vacuum(source, copy):
    source.execute("VACUUM INTO ?", (str(copy),))


def backup(source, copy):
    with closing(sqlite3.connect(copy)) as target:
        source.backup(target)


@pytest.mark.parametrize("way", [vacuum, backup])
def test_a_copy_goes_on_where_the_ledger_was(way, tmp_path):
    with Catalog(tmp_path / "ledger.db") as file:
        told = ledger(file)
        told.take(read(FIRST))
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as other:
            way(other, tmp_path / "copy.db")
        told.take(read(LATER))
    with Catalog(tmp_path / "copy.db") as copy:
        assert ledger(copy).take(read(FIRST))[0].proposals == []
        ledger(copy).take(read(LATER))
        assert list(dump(copy)) == whole()


def test_a_catalogue_of_the_first_version_becomes_a_ledger(tmp_path):
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        old.executescript(dict(migrations())[1] + f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = 1;")
    with Catalog(tmp_path / "old.db") as file:
        assert file.connection.execute("PRAGMA user_version").fetchone() == (newest_version(),)
        told = ledger(file)
        told.take(read(FIRST))
        told.take(read(LATER))
        assert list(dump(file)) == whole()


def test_who_is_below_whom_is_kept_from_version_five(tmp_path):
    """It stood among the tokens of kin."""
    rows = [("under urn:li:dataProcessInstance:up", 1), ("hands down BATCH MANUAL", 1), ("under x", 2), ("run y", 2)]
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        old.executescript("".join(text for version, text in migrations() if version < 6))
        old.executemany("INSERT INTO kin (token, run) VALUES (?, ?)", rows)
        old.commit()
        old.executescript(f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = 5;")
    with Catalog(tmp_path / "old.db") as file:
        assert file.connection.execute("SELECT run, parent, handed FROM heritage ORDER BY run").fetchall() == [
            (1, "urn:li:dataProcessInstance:up", "BATCH MANUAL"),
            (2, "x", None),
        ]
        assert file.connection.execute("SELECT token, run FROM kin").fetchall() == [("run y", 2)]
