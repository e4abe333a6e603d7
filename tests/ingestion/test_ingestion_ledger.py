"""The source with a ledger: what is known from one run of a recipe to the next."""

from __future__ import annotations

import json

import pytest
from datahub.ingestion.run.pipeline import PipelineInitError
from support.gms import Gms
from support.recipes import about, event, pipeline, ran, to_file, to_gms, written

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.ledger import Outbox
from dh_bridge.ledger import ledger as ledgers
from dh_bridge.ledger.delivery_lock import try_delivery_lock

START, END = event("START", 1), event("COMPLETE", 7)


# acryl-datahub's own, on Python 3.12 and later
pytestmark = pytest.mark.filterwarnings("ignore:There is no current event loop")


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "shop.ledger"


def run_events(path):
    found = [one["aspect"]["json"] for one in json.loads(path.read_text()) if one["aspectName"].endswith("RunEvent")]
    return [(one["status"], one.get("durationMillis")) for one in found]


def warnings(found):
    return [(entry.message, *entry.context) for entry in found.source.get_report().warnings]


def paused(ledger, *, hold):
    with Catalog(ledger) as file, file.transaction():
        Outbox(file.connection).set_paused(is_paused=hold)


def test_run_end_knows_its_start_from_an_earlier_recipe_run(tmp_path, ledger):
    ran(written(tmp_path / "1.ndjson", START), to_file(tmp_path / "1.json"), ledger=str(ledger))
    ran(written(tmp_path / "2.ndjson", END), to_file(tmp_path / "2.json"), ledger=str(ledger))
    assert run_events(tmp_path / "1.json") == [("STARTED", None)]
    assert ("COMPLETE", 360_000) in run_events(tmp_path / "2.json")


def test_recipe_run_after_an_error_loses_nothing(tmp_path, gms, ledger):
    place = written(tmp_path / "e.ndjson", START, END)
    ran(place, to_gms(gms))
    state = gms.dump()
    gms.forget()
    gms.poison = lambda one: "not today" if one.aspect_name == "dataJobInfo" else None
    ran(place, to_gms(gms), ledger=str(ledger))
    assert gms.dump() != state
    gms.poison = lambda _: None
    ran(place, to_gms(gms), ledger=str(ledger))
    assert gms.dump() == state


@pytest.mark.parametrize("how", ["dry_run", "preview"])
def test_rehearsal_changes_no_ledger(tmp_path, ledger, how):
    ran(written(tmp_path / "1.ndjson", START), to_file(tmp_path / "1.json"), ledger=str(ledger))
    before = ledger.read_bytes()
    tried = ran(
        written(tmp_path / "2.ndjson", END), to_file(tmp_path / "tried.json"), ledger=str(ledger), **{how: True}
    )
    assert tried.source.get_report().events_produced
    assert ledger.read_bytes() == before


def test_locked_ledger_hands_no_proposals_to_the_pipeline(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(ledgers, "END_TIMEOUT_SECONDS", 0)
    place = written(tmp_path / "e.ndjson", START)
    with try_delivery_lock(str(ledger)) as ours:
        assert ours
        found = ran(place, to_file(tmp_path / "1.json"), ledger=str(ledger))
    assert about(tmp_path / "1.json") == []
    [(message, why)] = warnings(found)
    assert message == "Proposals wait in the ledger for a later run"
    assert "another process is delivering from this ledger" in why
    later = ran(written(tmp_path / "none.ndjson"), to_file(tmp_path / "2.json"), ledger=str(ledger))
    assert warnings(later) == []
    assert ("STARTED", None) in run_events(tmp_path / "2.json")


def test_while_the_queue_is_paused_nothing_is_handed_over(tmp_path, ledger):
    paused(ledger, hold=True)
    place = written(tmp_path / "e.ndjson", START)
    found = ran(place, to_file(tmp_path / "1.json"), ledger=str(ledger))
    assert about(tmp_path / "1.json") == []
    assert "queue pause" in warnings(found)[0][1]
    paused(ledger, hold=False)
    ran(written(tmp_path / "none.ndjson"), to_file(tmp_path / "2.json"), ledger=str(ledger))
    assert run_events(tmp_path / "2.json") == [("STARTED", None)]


def test_catalogue_is_no_ledger_of_a_recipe(tmp_path, ledger):
    with Catalog(ledger) as file, file.transaction():
        file.apply([upsert("tag", "urn:li:tag:a", "tagKey", {"name": "a"})])
    with pytest.raises(PipelineInitError, match="is a catalogue"):
        pipeline(written(tmp_path / "e.ndjson", START), to_file(tmp_path / "2.json"), ledger=str(ledger))


def test_ledger_of_another_destination_is_refused(tmp_path, ledger):
    with Catalog(ledger) as file, file.transaction():
        Outbox(file.connection).write_note("target", "rest:http://gms:8080")
    with pytest.raises(PipelineInitError, match="this ledger belongs to the target rest:http://gms:8080"):
        pipeline(written(tmp_path / "e.ndjson", START), to_file(tmp_path / "2.json"), ledger=str(ledger))
