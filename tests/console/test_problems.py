"""Problems: what waits, dead letters and what is done with them, unknown platforms, findings in events."""

from __future__ import annotations

import json

import msgspec
import pytest
from support import catalog_sample
from support.catalog_sample import ORDERS, RAW

from dh_bridge.catalog.store import Catalog
from dh_bridge.console import ConsoleSource
from dh_bridge.console.parameters import RequestParameters
from dh_bridge.console.routes import ROUTES
from dh_bridge.datahub.proposal import upsert
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.settings import Settings

NOON = 1_796_000_000_000
STATUS = {"removed": False}
ACME = "urn:li:dataset:(urn:li:dataPlatform:acmedb,shop.orders,PROD)"


@pytest.fixture
def source(tmp_path):
    """A catalogue with a waiting proposal, and three dead letters."""
    file = tmp_path / "shop.db"
    with Catalog(file) as catalog:
        catalog.apply([*catalog_sample.shop(), upsert("dataset", ACME, "status", STATUS)])
        with catalog.transaction():
            outbox = Outbox(catalog.connection)
            outbox.add([upsert("dataset", RAW, "status", STATUS)], NOON)
            for number, name in enumerate(("status", "datasetProperties", "subTypes")):
                outbox.add_dead_letter(upsert("dataset", ORDERS, name, {}), f"HTTP 400: {name}", NOON + number)
    return ConsoleSource(str(file), Settings())


def ask(source, path, body=None, **query):
    parameters = RequestParameters(query, b"" if body is None else json.dumps(body).encode())
    return msgspec.to_builtins(ROUTES[path].answer(source, parameters))


def test_problems_count_what_waits_and_what_failed(source):
    problems = ask(source, "problems")
    assert problems["waiting"] == [{"entity_type": "dataset", "reason": "not sent yet", "count": 1, "oldest": NOON}]
    assert problems["dead_letters"] == 3
    assert problems["unknown_platforms"] == [{"platform": "acmedb", "datasets": 1, "example": ACME}]
    assert ask(source, "failures")["failed_runs"] == len(ask(source, "runs", failed="1")["runs"])


def test_dead_letters_have_the_words_of_the_server_and_are_paged(source):
    first = ask(source, "dead-letters", limit="2")
    assert [letter["reason"] for letter in first["letters"]] == ["HTTP 400: status", "HTTP 400: datasetProperties"]
    rest = ask(source, "dead-letters", limit="2", after=str(first["next"]))
    assert [letter["aspect"] for letter in rest["letters"]] == ["subTypes"]
    assert rest["next"] is None


def test_dead_letter_is_retried_alone(source):
    chosen = ask(source, "dead-letters")["letters"][1]
    edit = {"action": "retry", "numbers": [chosen["number"]]}
    assert ask(source, "edit-dead-letters", edit) == {"count": 1}
    assert ask(source, "problems")["dead_letters"] == 2
    assert ask(source, "overview")["outbox"]["waiting"] == 2


def test_waiting_proposal_is_never_dropped_as_a_dead_letter(source):
    with source.read_ledger() as ledger:
        waiting = Outbox(ledger.connection).list_queued()[0].number
    assert ask(source, "edit-dead-letters", {"action": "drop", "numbers": [waiting]}) == {"count": 0}
    assert ask(source, "edit-dead-letters", {"action": "drop"}) == {"count": 3}
    assert ask(source, "overview")["outbox"] | {"oldest": 0} == {
        "waiting": 1,
        "dead": 0,
        "oldest": 0,
        "is_paused": False,
    }


@pytest.mark.parametrize(
    "edit", [{}, {"action": "burn"}, {"action": "drop", "numbers": ["1"]}, {"action": "drop", "all": True}, [1]]
)
def test_wrong_edit_changes_nothing(source, edit):
    with pytest.raises(ValueError, match=r"body|action"):
        ask(source, "edit-dead-letters", edit)
    assert ask(source, "problems")["dead_letters"] == 3


def test_check_of_events_gives_findings_and_settings(source):
    events = [
        {
            "eventType": "COMPLETE", "eventTime": f"2026-11-0{day}T10:00:00Z", "producer": "https://example.com/tool",
            "run": {"runId": f"01941b29-7e3a-7c5e-9f43-0d6f3a1c2b1{day}"}, "job": {"namespace": "prod", "name": "load"},
            "outputs": [{"namespace": "acmedb://db.example.com:7000", "name": "shop.orders"}],
        }
        for day in range(1, 6)
    ]  # fmt: skip
    found = ask(source, "check-events", events)
    assert found["events"] == 5
    assert any("acmedb" in json.dumps(finding) for finding in found["findings"])
    with pytest.raises(ValueError, match="paste the JSON"):
        ask(source, "check-events")
