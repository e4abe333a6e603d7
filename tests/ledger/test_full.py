"""``full``: for a target that lost what it had, everything that the events state is sent once more."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ledger_batches import LedgerCase
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.rerender import Rerenderer
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.memory import MemorySink

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "events"


def sent(place, *, full=False, batch=5000):
    sink = MemorySink()
    settings = Settings(datahub_version="1.4", ledger={"batch": batch})
    with Catalog(place) as file:
        ledger = Ledger(file, Options(settings, is_stateful=True), sink, full=full)
        for _ in ledger.stream(read_events([EXAMPLES])):
            pass
    return sorted(map(ndjson_line, sink.proposals))


def test_same_events_again_send_nothing_and_in_full_everything(tmp_path):
    first = sent(tmp_path / "l.db")
    assert sent(tmp_path / "l.db") == []
    assert sent(tmp_path / "l.db", full=True) == first


@pytest.mark.parametrize("batch", [1, 10])
def test_in_small_batches_full_leaves_nothing_out_either(tmp_path, batch):
    def about(lines):
        return {(line.partition(b'"aspect"')[0]) for line in lines}

    first = sent(tmp_path / "l.db")
    assert about(sent(tmp_path / "l.db", full=True, batch=batch)) == about(first)


def test_rerendered_aspects_keep_unredacted_secrets():
    chosen = Settings(redaction="off", datahub_version="1.7")
    ledger_case = LedgerCase(chosen)
    query = {"query": "copy x from 'postgres://u:hunter2@h/db'"}
    sent = ledger_case.process([event(outputs=[dataset("d.s.a")], job_facets={"sql": query})])
    (found,) = Rerenderer(ledger_case.catalog, Options(chosen, is_stateful=True), None).proposals(lambda _: True)
    logic = [one.value for one in found if one.aspect_name == "dataTransformLogic"]
    assert "hunter2" in str(logic)
    assert logic == [one.value for one in sent if one.aspect_name == "dataTransformLogic"]
