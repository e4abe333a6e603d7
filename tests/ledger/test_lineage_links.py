"""The lineage of one entity in a ledger: links find what is around it, and only that is rendered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.generated_runs import group, group_of_tries
from support.ledger_batches import NOW, compiled, read
from support.sample_events import dataset, event

from dh_bridge import Settings
from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.lineage import lineage_tree, to_json
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import Ledger, NullSink
from dh_bridge.ledger.contents import LedgerContents
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.lineage_links import LineageLinks
from dh_bridge.openlineage.read import read_events
from dh_bridge.replay import apply_replay
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.storage.database import Database

EXAMPLES = Path(__file__).parents[2] / "examples" / "events"
GENERATED = [event for number in range(4) for event in (*group(11, number), *group_of_tries(11, number))]
ACCUMULATED = Settings(datahub_version="1.7")
LAST_RUN = Settings(datahub_version="1.7", edges="last_run", ledger={"max_runs": 5, "batch": 20})
PLAIN = Settings(datahub_version="0.15.0", column_lineage={"target": "dataset"})
CASES = {
    "examples": (ACCUMULATED, lambda: list(read_events([EXAMPLES]))),
    "generated": (ACCUMULATED, lambda: read(GENERATED)),
    "edges of the last run, evicted runs": (LAST_RUN, lambda: read(GENERATED)),
    "lineage of datasets": (PLAIN, lambda: read(GENERATED)),
}


def fold(file, chosen, items, event_log=None):
    ledger = Ledger(file, compiled(chosen), NullSink(), clock=lambda: NOW, event_log=event_log)
    for start in range(0, len(items), 7):
        ledger.process_and_deliver(items[start : start + 7])


def trees(catalog_of, urns, depths=(1, 2, 20)):
    return {
        (urn, depth, direction): to_json(
            lineage_tree(catalog_of(urn, direction, depth), urn, direction=direction, depth=depth, columns=True)
        )
        for urn in urns
        for depth in depths
        for direction in ("up", "down")
    }


@pytest.mark.parametrize("case", CASES)
def test_lineage_is_that_of_the_whole_graph(tmp_path, case):
    chosen, events = CASES[case]
    with Database(tmp_path / "ledger.db") as file:
        fold(file, chosen, events())
        contents = LedgerContents(file, compiled(chosen))
        graph = contents._load_graph()
        urns = contents.list_urns(["dataset", "dataJob"]).items[::3]
        columns = [
            urn for (urn,) in graph.connection.execute("SELECT urn FROM entity WHERE type = 'schemaField' LIMIT 9")
        ]
        expected = trees(lambda *_: graph, [*urns, *columns])
        assert sum("upstream" in tree or "downstream" in tree for tree in expected.values()) > 20
        assert (
            trees(lambda urn, side, depth: contents.load_lineage(urn, side, depth=depth), [*urns, *columns]) == expected
        )
        assert contents.notes == []


def test_links_follow_what_a_job_reads_and_writes(tmp_path):
    def named(urn):
        return contents.load_lineage(urn, "both", depth=1)

    def run(number, outputs):
        return read([event("COMPLETE", run=f"01a1f6ae-0000-7000-8000-{number:012}", outputs=[*map(dataset, outputs)])])

    with Database(tmp_path / "ledger.db") as file:
        contents = LedgerContents(file, compiled(LAST_RUN))
        fold(file, LAST_RUN, run(1, ["d.s.old", "d.s.kept"]))
        count = "SELECT count(*) FROM lineage_link"
        assert file.connection.execute(count).fetchone() == (2,)
        fold(file, LAST_RUN, run(1, ["d.s.old", "d.s.kept", "d.s.new"]))
        assert file.connection.execute(count).fetchone() == (3,)
        (job,) = contents.list_urns(["dataJob"]).items
        assert sum(urn.startswith("urn:li:dataset") for urn in named(job).entities()) == 3


def test_links_are_those_of_the_replayed_states(tmp_path):
    path = tmp_path / "ledger.db"
    with Database(path) as file, EventLog(log_folder(path), max_bytes=1 << 30) as event_log:
        fold(file, ACCUMULATED, read(GENERATED), event_log)
        before = file.connection.execute("SELECT count(*) FROM lineage_link").fetchone()
    other = ACCUMULATED.model_copy(update={"naming": Settings(naming={"env": "TEST"}).naming})
    apply_replay(path, other)
    with Database(path) as file:
        assert file.connection.execute("SELECT count(*) FROM lineage_link").fetchone() == before
        contents = LedgerContents(file, compiled(other))
        url = "urn:li:dataset:(urn:li:dataPlatform:postgres,db.s.t1,TEST)"
        tree = lineage_tree(contents.load_lineage(url, "both", depth=2), url, depth=2)
        assert tree.upstream or tree.downstream


def test_older_ledger_gets_its_links_when_it_is_opened_for_writing(tmp_path):
    with Database(tmp_path / "ledger.db") as file:
        fold(file, ACCUMULATED, read(GENERATED))
        links = file.connection.execute("SELECT * FROM lineage_link").fetchall()
        file.connection.execute("DELETE FROM lineage_link")
        file.connection.execute("DELETE FROM note WHERE name = 'lineage links'")
        contents = LedgerContents(file, compiled(ACCUMULATED))
        urn = contents.list_urns(["dataset"]).items[0]
        expected = to_json(lineage_tree(contents.load_lineage(urn, "both", depth=3), urn, depth=3))
        assert "upstream" in expected or "downstream" in expected
        Ledger(file, compiled(ACCUMULATED), NullSink())
        assert file.connection.execute("SELECT * FROM lineage_link").fetchall() == links
        assert to_json(lineage_tree(contents.load_lineage(urn, "both", depth=3), urn, depth=3)) == expected


def test_catalogue_has_no_links(tmp_path):
    with Catalog(tmp_path / "catalogue.db") as file, CatalogSink(file) as sink:
        Ledger(file, compiled(ACCUMULATED), sink, clock=lambda: NOW).process_and_deliver(read(GENERATED))
        assert not LineageLinks(file.connection).are_stored
        assert file.connection.execute("SELECT count(*) FROM lineage_link").fetchone() == (0,)


@pytest.fixture(scope="module")
def hot_ledger(tmp_path_factory):
    """A ledger in which 1,200 jobs read one table."""
    path = tmp_path_factory.mktemp("hot") / "ledger.db"
    events = [
        event(
            "COMPLETE", job=f"job_{number}", run=f"01a1f6ae-0000-7000-8000-{number:012}", inputs=[dataset("d.s.hot")],
            outputs=[dataset(f"d.s.t{number}")],
        )
        for number in range(1_200)
    ]  # fmt: skip
    with Database(path) as file:
        Ledger(file, compiled(ACCUMULATED), NullSink(), clock=lambda: NOW).process_and_deliver(read(events))
    return path


def test_hot_table_renders_a_few_neighbours_and_says_so(hot_ledger, monkeypatch):
    rendered = []
    render = LedgerContents._render
    monkeypatch.setattr(
        LedgerContents, "_render", lambda self, catalog, urns: (rendered.extend(urns), render(self, catalog, urns))
    )
    result = CliRunner().invoke(
        commands, ["lineage", str(hot_ledger), "d.s.hot", "--limit", "20"], prog_name="dh-bridge"
    )
    assert result.exit_code == 0, result.output
    assert 10 < sum("job_" in line for line in result.stdout.splitlines()) <= 20
    assert "On each side, the nearest 40 datasets and jobs were looked at (--limit)." in result.stderr
    assert 40 < len(set(rendered)) < 50


def test_all_neighbours_of_a_hot_table_are_shown_on_request(hot_ledger):
    result = CliRunner().invoke(
        commands, ["lineage", str(hot_ledger), "d.s.hot", "--limit", "0", "--depth", "1"], prog_name="dh-bridge"
    )
    assert sum("job_" in line for line in result.stdout.splitlines()) == 1_200
    assert "looked at" not in result.stderr


def test_pages_of_edges_render_no_more_than_they_need(hot_ledger, monkeypatch):
    with Database(hot_ledger) as file:
        contents = LedgerContents(file, compiled(ACCUMULATED))
        whole = lineage_edges(contents._load_graph()).items
        rendered = []
        render = LedgerContents._render
        monkeypatch.setattr(
            LedgerContents, "_render", lambda self, catalog, urns: (rendered.extend(urns), render(self, catalog, urns))
        )
        first = contents.lineage_edges(limit=50)
        assert (len(first.items), first.is_exact, len(rendered)) == (50, False, 500)
        edges, page = first.items, first.next_page
        while page is not None:
            part = contents.lineage_edges(limit=600, page=page)
            edges, page = edges + part.items, part.next_page
        assert len(edges) == len(whole) == 2_400
        assert {(edge.upstream.urn, edge.downstream.urn) for edge in edges} == {
            (edge.upstream.urn, edge.downstream.urn) for edge in whole
        }
