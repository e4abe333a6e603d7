# ruff: noqa: S608 - the statements are made of constants
"""benchmarks/large_catalogue.py writes tables directly: they equal those that the same proposals give."""

from __future__ import annotations

import msgspec
import pytest
from support.large_catalogues import write_large_catalogue

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.phrases import expand
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import Proposal

ENTITY = "(SELECT urn FROM entity WHERE id = {})"
TABLES = {
    "aspect": f"SELECT {ENTITY.format('entity')}, name, CAST(value AS TEXT) FROM aspect",
    "point": f"SELECT {ENTITY.format('entity')}, aspect, hex(document), time, CAST(value AS TEXT) FROM point",
    "relationship": f"SELECT {ENTITY.format('source')}, aspect, name, {ENTITY.format('target')}, lineage FROM relationship",
    "column_edge": f"SELECT {ENTITY.format('owner')}, aspect, {ENTITY.format('downstream')}, {ENTITY.format('upstream')} FROM column_edge",
    "run_summary": f"SELECT {ENTITY.format('run')}, time, hex(document), failed FROM run_summary",
    "run_link": f"SELECT {ENTITY.format('entity')}, time, {ENTITY.format('run')}, failed FROM run_link",
    "search_text": f"SELECT {ENTITY.format('entity')}, kind, text FROM search_text",
}


def table_rows(catalog):
    return {name: sorted(catalog.connection.execute(query)) for name, query in TABLES.items()}


@pytest.fixture(scope="module")
def large_catalogue_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.db"
    write_large_catalogue(path, 200, 40)
    return path


def test_generated_tables_equal_those_of_the_same_proposals(large_catalogue_path):
    with Catalog(large_catalogue_path, readonly=True) as generated, Catalog(":memory:") as catalog:
        lines = list(dump_catalog(generated))
        catalog.apply([msgspec.json.decode(line, type=Proposal) for line in lines])
        assert list(dump_catalog(catalog)) == lines
        expected, actual = table_rows(catalog), table_rows(generated)
        for name in TABLES:
            if name not in {"aspect", "point"}:  # a dump is canonical JSON; the line above compares them
                assert actual[name] == expected[name], name
        query = "SELECT count(*) FROM search_index WHERE text GLOB '*payment*'"
        assert generated.connection.execute(query).fetchone() == catalog.connection.execute(query).fetchone() != (0,)


def test_file_of_the_version_before_gets_the_same_tables(large_catalogue_path, tmp_path, monkeypatch):
    from dh_bridge.storage import migrations  # noqa: PLC0415 - patched here only

    newest = migrations.newest_version()
    before = [(version, text) for version, text in migrations.sorted_migrations() if version <= 11]
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "sorted_migrations", lambda: before)
        with Catalog(tmp_path / "old.db") as old:
            assert old.connection.execute("PRAGMA user_version").fetchone() == (11,)
            old.connection.execute("ATTACH ? AS new", (str(large_catalogue_path),))
            for table in ("entity", "relationship", "column_edge"):
                old.connection.execute(f"INSERT INTO {table} SELECT * FROM new.{table}")
            old.connection.create_function("expand", 1, expand)  # an old file has no phrases
            old.connection.execute("INSERT INTO aspect SELECT entity, name, expand(value) FROM new.aspect")
            columns = "entity, aspect, document, time, value"
            old.connection.execute(f"INSERT INTO point ({columns}) SELECT {columns} FROM new.point")
    with Catalog(tmp_path / "old.db") as migrated, Catalog(large_catalogue_path, readonly=True) as generated:
        assert migrated.connection.execute("PRAGMA user_version").fetchone() == (newest,)
        expected, actual = table_rows(generated), table_rows(migrated)
        assert {**actual, "aspect": []} == {**expected, "aspect": []}  # the dumps below compare them
        assert migrated.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert migrated.connection.execute("SELECT count(*) FROM runs").fetchone() == (200,)
        assert list(dump_catalog(migrated)) == list(dump_catalog(generated))
