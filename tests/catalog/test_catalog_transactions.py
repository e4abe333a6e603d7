from __future__ import annotations

import sqlite3
import threading

import pytest
from support.catalog_sample import (
    LOAD,
    ORDERS,
    RAW,
    TOTALS,
    job,
    shop,
)

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError

TABLE = {"typeNames": ["Table"]}


def test_file_keeps_what_was_applied(tmp_path):
    with Catalog(tmp_path / "c.db") as catalog:
        catalog.apply(shop())
        before = list(dump_catalog(catalog))
    with Catalog(tmp_path / "c.db", readonly=True) as again:
        assert list(dump_catalog(again)) == before
        with pytest.raises(SinkError, match="readonly"):
            again.apply(shop())


def test_many_urns_do_not_fill_the_memory(catalog, monkeypatch):
    monkeypatch.setattr("dh_bridge.catalog.store._MAX_CACHED_IDS", 3)
    catalog.apply(shop())
    assert catalog._cached_ids == {}
    catalog.apply(shop())
    assert list(catalog.entities("dataJob")) == [LOAD, LOAD.replace("load", "report")]


def test_transaction_around_several_is_all_or_nothing(catalog):
    def two_and_an_error():
        with catalog.transaction():
            catalog.apply([upsert("dataset", ORDERS, "subTypes", TABLE)])
            catalog.apply([upsert("dataset", RAW, "subTypes", TABLE)])
            raise KeyError

    with pytest.raises(KeyError):
        two_and_an_error()
    assert list(catalog.entities()) == []
    with catalog.transaction():
        catalog.apply([upsert("dataset", RAW, "subTypes", TABLE)])
        catalog.apply([upsert("dataset", ORDERS, "subTypes", TABLE)])
    assert list(catalog.entities()) == [ORDERS, RAW]


def test_failed_inner_transaction_rolls_back_only_itself(catalog):
    def inner():
        with catalog.transaction():
            catalog.apply([upsert("dataset", TOTALS, "subTypes", TABLE)])
            raise KeyError

    with catalog.transaction():
        catalog.apply([upsert("dataset", RAW, "subTypes", TABLE)])
        with pytest.raises(KeyError):
            inner()
        catalog.apply([upsert("dataset", ORDERS, "subTypes", TABLE)])
    assert list(catalog.entities()) == [ORDERS, RAW]


def test_writer_that_is_held_up_is_a_retryable_error(tmp_path):
    with Catalog(tmp_path / "c.db") as one, Catalog(tmp_path / "c.db") as two:
        two.connection.execute("PRAGMA busy_timeout = 1")
        with one.transaction():
            one.apply(shop())
            with pytest.raises(SinkError, match="try again") as caught:
                two.apply(shop())
            assert caught.value.retryable
        assert two.apply(shop()).failures == []


def test_readers_see_the_last_committed_transaction(tmp_path):
    with Catalog(tmp_path / "c.db") as writer, Catalog(tmp_path / "c.db", readonly=True) as reader:
        with writer.transaction():
            writer.apply(shop())
            assert list(reader.entities()) == []
        assert len(list(reader.entities())) == len(list(writer.entities())) > 0


def test_two_writers_take_turns(tmp_path):
    def write(number):
        with Catalog(tmp_path / "c.db") as catalog:
            for at in range(20):
                urn = f"urn:li:dataset:(urn:li:dataPlatform:x,{number}.{at % 5},PROD)"
                assert catalog.apply([upsert("dataset", urn, "subTypes", TABLE), job(LOAD, f"{at}")]).failures == []

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Catalog(tmp_path / "c.db") as catalog:
        assert len(list(catalog.entities("dataset"))) == 15


def test_broken_statement_is_a_sink_error_and_keeps_nothing(catalog):
    def broken():
        with catalog.transaction():
            catalog.apply([upsert("dataset", RAW, "subTypes", TABLE)])
            catalog.connection.execute("SELECT nothing")

    with pytest.raises(SinkError, match="nothing") as caught:
        broken()
    assert not caught.value.retryable
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert list(catalog.entities()) == []


def test_blocked_commit_leaves_no_open_transaction(tmp_path):
    """Where WAL cannot be, as on some network drives, a COMMIT may fail, and SQLite leaves its transaction open."""
    with Catalog(tmp_path / "c.db") as catalog:
        catalog.connection.execute("PRAGMA journal_mode = DELETE")
        catalog.connection.execute("PRAGMA busy_timeout = 10")
        reader = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entity").fetchall()
        with pytest.raises(SinkError, match="locked"):
            catalog.apply([upsert("dataset", RAW, "subTypes", TABLE)])
        reader.close()
        assert catalog.apply([upsert("dataset", ORDERS, "subTypes", TABLE)]).delivered_count == 1
    with Catalog(tmp_path / "c.db", readonly=True) as again:
        assert list(again.entities()) == [ORDERS]
