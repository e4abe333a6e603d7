"""``emit --to rest:URL --ledger FILE`` beside a server that fails in every way: nothing is lost, nothing doubled, nothing crashes."""

from __future__ import annotations

import os
import random
import time
from zlib import crc32

import pytest
from support.gms import Fault

from dh_bridge.ledger import outbox_relay

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("TESTS_SEEDS", "1")))
_GMS_500 = {"exceptionClass": "com.linkedin.restli.server.RestLiServiceException", "message": "no disk", "status": 500}


def poisonous(found):
    """Choose about one proposal in 200, always the same ones."""
    return crc32(f"{found.entity_urn} {found.aspect_name}".encode()) % 200 == 7


def test_nothing_happens(trial):
    stated = trial.emit()
    assert stated.code == 0
    trial.ends_well(stated)
    assert len(trial.server.dump()) > 100
    assert trial.emit().code == 0
    trial.ends_well(stated)


def test_down_from_the_start_and_back(trial):
    trial.server.stop()
    first = trial.emit("--datahub-version", "1.4", "--set", "rest.retries=0")
    assert "connection failed" in first.stderr
    waiting = trial.waits(first, "proposals wait in the ledger, the oldest since", 500)
    trial.server.start()
    trial.sends_what_waits(first, waiting)


@pytest.mark.parametrize("seed", SEEDS)
def test_down_in_the_middle_and_back(trial, later, long, seed):
    at = random.Random(seed).randrange(1, 30)  # noqa: S311 - reproducible, not secret

    def down():
        trial.server.stop()
        time.sleep(60 if long else 0.4)
        trial.server.start()

    with later(lambda: len(trial.server.writes) >= at, down):
        stated = trial.emit()
    if stated.code:  # it came to its end before the server was back
        stated = trial.emit()
    assert stated.code == 0
    trial.ends_well(stated)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("500 of a proxy", Fault(500, body=b"<html>Internal Server Error</html>")),
        ("500 of GMS", Fault(500, body=_GMS_500)),
        ("503", Fault(503)),
        ("429 with Retry-After", Fault(429, {"Retry-After": "1"})),
        ("reset in the middle of the body", Fault(reset="mid-body")),
        ("reset before it was applied", Fault(reset="before")),
        ("reset after it was applied", Fault(reset="after")),
        ("reset in the middle of the answer", Fault(reset="mid-answer")),
        ("answer is no JSON", Fault(502, body=b"\x00\xff")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_third_request_meets(trial, name, fault, seed, monkeypatch):
    monkeypatch.setattr(outbox_relay, "FIRST_PAUSE_SECONDS", 0)  # every batch is to meet it
    chance = random.Random(f"{name} {seed}")  # noqa: S311 - reproducible, not secret
    plan = [fault if chance.random() < 1 / 3 else Fault() for _ in range(400)]
    trial.server.faults = list(plan)
    stated = trial.emit()
    met = plan[: len(plan) - len(trial.server.faults)].count(fault)
    assert met > 5
    trial.ends_well(finished(trial, stated), met=met, **{"first exit code": stated.code})


def finished(trial, before):
    """Let the server be well, and send what waits and what it refused by mistake, where there is any."""
    trial.server.faults = []
    if before.code == 0:
        return before
    trial.retry()
    stated = trial.emit()
    assert stated.code == 0, stated.stderr
    return stated


def test_answers_later_than_the_timeout(trial, long):
    slow, timeout = (3.0, "2") if long else (0.5, "0.3")
    fault = Fault(linger=slow)
    plan = [fault if number % 10 == 3 else Fault() for number in range(400)]
    trial.server.faults = list(plan)
    stated = trial.emit("--set", f"rest.timeout={timeout}")
    met = plan[: len(plan) - len(trial.server.faults)].count(fault)
    assert met > 3
    trial.ends_well(finished(trial, stated), met=met, **{"first exit code": stated.code})


def test_retry_after_that_is_longer_than_we_wait(trial):
    trial.server.faults = [Fault(), Fault(), *[Fault(429, {"Retry-After": "3600"})] * 400]
    stated = trial.emit()
    waiting = trial.waits(stated, "the server asks to wait for 3,600 seconds", 100)
    trial.ends_well(finished(trial, stated), waited=waiting, **{"first exit code": stated.code})


def test_poison_proposals_are_dead_letters_and_others_are_sent(trial):
    trial.server.poison = lambda found: "I do not like it" if poisonous(found) else None
    stated = trial.emit()
    assert stated.code == 3
    assert "HTTP 422: I do not like it" in stated.stderr
    trial.ends_well(stated, without=poisonous)
    assert trial.queue()[1] > 0
    trial.server.poison = lambda _found: None
    trial.ends_well(finished(trial, stated))


def test_token_expires_and_is_renewed(trial, monkeypatch, later):
    trial.server.token = "old"  # noqa: S105 - none
    monkeypatch.setenv("DATAHUB_GMS_URL", trial.server.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "old")

    def expire():
        trial.server.token = "new"  # noqa: S105 - none

    with later(lambda: len(trial.server.writes) >= 15, expire):
        stated = trial.emit()
    assert "HTTP 401" in stated.stderr
    waiting = trial.waits(stated, "set DATAHUB_GMS_TOKEN or rest.token", 0)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "new")
    trial.ends_well(finished(trial, stated), waited=waiting, **{"first exit code": stated.code})
