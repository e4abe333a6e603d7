"""The views of docs/sql.md, asked with the sqlite3 module alone."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dh_bridge.bridge import Bridge
from dh_bridge.catalog.runs import find_runs
from dh_bridge.catalog.store import Catalog
from dh_bridge.catalog.views import VIEWS
from dh_bridge.datahub.proposal import upsert

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
EVENTS = ROOT / "examples" / "events"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    place = tmp_path_factory.mktemp("views") / "shop.db"
    with Catalog(place) as catalog:
        catalog.apply(Bridge().translate(EVENTS).proposals)
    return place


@pytest.fixture
def ask(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield lambda statement, *values: [dict(row) for row in connection.execute(statement, values)]


def documented():
    """Return the columns of each section of the page."""
    sections = re.findall(r"^## (\w+)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) for name, text in sections}


def test_page_describes_every_column_of_every_view(ask):
    assert documented() == {view: [row["name"] for row in ask(f"PRAGMA table_info({view})")] for view in VIEWS}


def test_statements_of_the_page_find_something(ask):
    statements = [re.search(r'execute\("(.+?)"\)', PAGE)[1], re.search(r"```sql\n(.+?)```", PAGE, re.DOTALL)[1]]
    assert all(ask(statement) for statement in statements)


def test_entities_and_aspects_are_those_of_the_catalogue(ask, path):
    with Catalog(path, readonly=True) as catalog:
        assert {row["urn"] for row in ask("SELECT * FROM entities")} == set(catalog.entities())
        for row in ask("SELECT * FROM aspects"):
            assert json.loads(row["value"]) == catalog.aspect(row["urn"], row["aspect"])
            assert row["type"] == row["urn"].split(":")[2]


def test_points_are_those_of_the_catalogue(ask, path):
    rows = ask("SELECT * FROM points ORDER BY urn, aspect, time")
    assert all(TIME.fullmatch(row["time"]) for row in rows)
    with Catalog(path, readonly=True) as catalog:
        for row in rows:
            assert json.loads(row["value"]) in catalog.timeseries(row["urn"], row["aspect"])
        assert len(rows) == sum(
            len(catalog.timeseries(urn, name)) for urn in catalog.entities() for name in catalog.timeseries_aspects(urn)
        )


def test_runs_view_equals_the_runs_command(ask, path):
    rows = ask("SELECT * FROM runs")
    assert rows
    with Catalog(path, readonly=True) as catalog:
        for row in rows:
            (shown,) = [one for one in find_runs(catalog, row["urn"]) if one.urn == row["urn"]]
            assert (row["job"], row["parent"], row["status"]) == (shown.job, shown.parent, shown.status)
            assert (row["duration_millis"], row["attempt"]) == (shown.duration, shown.attempt)
            assert (row["ended"] is None) is (shown.status == "STARTED")
    times = [time for row in rows for time in (row["started"], row["ended"]) if time is not None]
    assert times
    assert all(TIME.fullmatch(time) for time in times)


def test_checks_have_their_dataset_and_their_latest_result(ask, path):
    rows = ask("SELECT * FROM checks")
    assert {row["result"] for row in rows} >= {"SUCCESS", "FAILURE"}
    with Catalog(path, readonly=True) as catalog:
        for row in rows:
            latest = catalog.timeseries(row["urn"], "assertionRunEvent")[-1]
            assert row["dataset"] == latest["asserteeUrn"]
            assert (row["result"], row["run_id"]) == (latest["result"]["type"], latest["runId"])
            assert row["type"] == catalog.aspect(row["urn"], "assertionInfo")["type"]


def test_edges_run_from_upstream_to_downstream(ask, path):
    rows = ask("SELECT * FROM edges")
    assert {row["level"] for row in rows} == {"entity", "column"}
    fields = {row["level"] for row in rows if "schemaField" in row["upstream"] and "schemaField" in row["downstream"]}
    assert fields == {"column"}
    with Catalog(path, readonly=True) as catalog:
        for job in catalog.entities("dataJob"):
            io = catalog.aspect(job, "dataJobInputOutput") or {}
            found = ask("SELECT * FROM edges WHERE stated_by = ? AND level = 'entity'", job)
            read = {edge["destinationUrn"] for edge in io.get("inputDatasetEdges", ())}
            written = {edge["destinationUrn"] for edge in io.get("outputDatasetEdges", ())}
            assert read <= {row["upstream"] for row in found if row["downstream"] == job}
            assert written <= {row["downstream"] for row in found if row["upstream"] == job}


def test_entities_view_flags_removed_entities(tmp_path):
    urn = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
    with Catalog(tmp_path / "c.db") as catalog:
        catalog.apply([upsert("dataset", urn, "status", {"removed": True})])
        assert catalog.connection.execute("SELECT urn, removed FROM entities").fetchall() == [(urn, 1)]
