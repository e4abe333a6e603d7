"""Runs of a ledger in pages: an index finds the latest, and only the runs of a page are rendered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dh_bridge.catalog.paging import encode_key
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.cli import commands
from dh_bridge.ledger.contents import LedgerContents
from dh_bridge.ledger.run_candidates import candidate_runs
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.storage.database import Database

EVENTS = Path(__file__).parents[2] / "examples" / "events"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.staging.orders,PROD)"
FLOW = "urn:li:dataFlow:(openlineage,shop_nightly,shop_prod)"
LISTS = {
    "all runs": (None, RunFilter()),
    "failed runs": (None, RunFilter(failed=True)),
    "runs of jobs by name": (None, RunFilter(job="shop_nightly")),
    "runs of a producer": (None, RunFilter(producer="spark")),
    "runs of a dataset": (ORDERS, RunFilter()),
    "runs of a flow": (FLOW, RunFilter()),
    "runs since a time": (None, RunFilter(since=1_795_220_000_000)),
}


@pytest.fixture(scope="module")
def ledger_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run_pages")
    target = ["--to", f"file:{folder}/p.ndjson", "--ledger", f"{folder}/ledger.db"]
    result = CliRunner().invoke(commands, ["emit", str(EVENTS), *target])
    assert result.exit_code == 0, result.output
    return folder / "ledger.db"


@pytest.fixture
def contents(ledger_path):
    with Database(ledger_path) as file:
        yield LedgerContents(file, Options(Settings(datahub_version="1.7"), is_stateful=True))


@pytest.mark.parametrize("name", LISTS)
def test_pages_of_a_ledger_are_the_whole_list(name, contents):
    urn, run_filter = LISTS[name]
    _, whole = contents.list_runs(urn, run_filter)
    assert (whole.next_page, whole.remaining, whole.is_exact) == (None, 0, True)
    urns, page = [], None
    while True:
        _, part = contents.list_runs(urn, run_filter, limit=4, page=page)
        urns += [row.urn for row in part.items]
        page = part.next_page
        if page is None:
            break
    assert urns == [row.urn for row in whole.items]
    assert len(urns) == len(set(urns)) > 1


def test_page_renders_few_runs_and_the_rest_is_counted(contents, monkeypatch):
    rendered = []
    render = LedgerContents._render
    monkeypatch.setattr(
        LedgerContents, "_render", lambda self, catalog, urns: (rendered.extend(urns), render(self, catalog, urns))
    )
    catalog, page = contents.list_runs(None, RunFilter(), limit=3)
    assert (len(page.items), page.remaining, page.is_exact) == (3, 52, True)
    assert sum(urn.startswith("urn:li:dataProcessInstance:") for urn in rendered) == 3
    assert all(catalog.aspect(row.job, "dataJobInfo") or catalog.aspect(row.job, "dataFlowInfo") for row in page.items)


@pytest.mark.parametrize(
    ("urns", "run_filter"), [(None, RunFilter()), (None, RunFilter(failed=True, since=5)), ([ORDERS], RunFilter())]
)
def test_candidates_are_found_by_an_index(urns, run_filter, contents):
    connection, statements = contents._file.connection, []
    connection.set_trace_callback(statements.append)
    rows = list(candidate_runs(connection, urns, run_filter, (1 << 60, 5)))
    connection.set_trace_callback(None)
    assert len(rows) > 4
    assert [key for key, _ in rows] == sorted((key for key, _ in rows), reverse=True)
    for statement in statements:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not [step for step in plan if step.startswith("SCAN") or "ORDER BY" in step], statement


def test_file_of_the_version_before_lists_failed_runs(contents):
    connection = contents._file.connection
    _, before = contents.list_runs(None, RunFilter(failed=True))
    with contents._file.transaction(commit=False):
        assert connection.execute("UPDATE run SET may_have_failed = NULL").rowcount > 50
        rows = list(candidate_runs(connection, None, RunFilter(failed=True), (1 << 60, 5)))
    assert len(rows) == 55 > len(before.items) == 17


def test_page_that_no_call_returned_is_wrong_usage(ledger_path):
    for arguments in (["runs", ledger_path], ["list", ledger_path, "jobs"], ["search", ledger_path, "orders"]):
        result = CliRunner().invoke(commands, [*map(str, arguments), "--page", encode_key((1, 2, 3, 4))])
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is not a page of this list (use the value that the page before it returned)" in result.stderr
