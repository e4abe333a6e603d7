"""A ledger's file: a copy made while it is written goes on where it was, and a file of an earlier version is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support.generated_runs import group
from support.ledger_batches import LedgerCase, read, settings

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.options import Options
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.storage.migrations import oldest_version

FIRST, LATER = ([one for i in numbers for one in group(7, i)] for numbers in (range(4), range(4, 8)))


def ledger(file):
    return Ledger(file, Options(settings(), is_stateful=True), CatalogSink(file), clock=lambda: 1_796_000_000)


def whole():
    ledger_case = LedgerCase(settings())
    ledger_case.process(FIRST, LATER)
    return ledger_case.dump()


def vacuum(source, copy):
    source.execute("VACUUM INTO ?", (str(copy),))


def backup(source, copy):
    with closing(sqlite3.connect(copy)) as target:
        source.backup(target)


@pytest.mark.parametrize("way", [vacuum, backup])
def test_copy_goes_on_where_the_ledger_was(way, tmp_path):
    with Catalog(tmp_path / "ledger.db") as file:
        ledger_case = ledger(file)
        ledger_case.process_and_deliver(read(FIRST))
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as other:
            way(other, tmp_path / "copy.db")
        ledger_case.process_and_deliver(read(LATER))
    with Catalog(tmp_path / "copy.db") as copy:
        assert ledger(copy).process_and_deliver(read(FIRST))[0].proposals == []
        ledger(copy).process_and_deliver(read(LATER))
        assert list(dump_catalog(copy)) == whole()


@pytest.mark.parametrize("version", [1, oldest_version() - 1])
@pytest.mark.parametrize("readonly", [False, True])
def test_file_of_an_earlier_version_is_refused_with_the_remedy(tmp_path, version, readonly):
    path = tmp_path / "old.db"
    with Catalog(path) as file:
        ledger(file).process_and_deliver(read(FIRST))
        file.connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(SinkError) as refused:
        Catalog(path, readonly=readonly)
    assert str(refused.value) == (
        f"{path}: written by an earlier version of dh-bridge, whose states this version cannot read"
        " (move the file away, but not its event log: the next `emit` makes a new file of the log, and sends everything again)"
    )
    assert path.read_bytes() == before
