"""``queue``, and what ``emit`` says and does when something waits in its ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.gms import Fault, Gms

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.sent import SentFingerprints
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.memory import MemorySink

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events")
OUT = ("--to", "file:out.ndjson", "--ledger", "ledger.db")


class Server(MemorySink):
    """A server that is down, that takes no datasets for now, or that refuses them for good."""

    name = "file"
    mood = "down"

    def emit(self, proposals):
        if self.mood == "down":
            raise SinkError("does not answer", location="server", retryable=True)
        failed = [
            Failure(one, "datasets? never", retryable=self.mood == "busy")
            for one in proposals
            if one.entity_type == "dataset" and self.mood != "well"
        ]
        refused = {id(one.proposal) for one in failed}
        arrived = [one for one in proposals if id(one) not in refused]
        self.proposals += arrived
        return Delivery(len(arrived), failed)

    def close(self):
        """Stay open: it outlives a command."""


@pytest.fixture
def server(monkeypatch):
    found = Server()
    monkeypatch.setattr("dh_bridge.delivery.open_sink", lambda *_: found)
    return found


@pytest.fixture
def undisturbed(run):
    """Return what arrives at a server that is always well, in its order."""
    assert run("emit", EVENTS, "--to", "file:well.ndjson", "--ledger", "well.db").exit_code == 0
    return [json.loads(line) for line in Path("well.ndjson").read_text().splitlines()]


def keys(proposals):
    return [(one.entity_urn, one.aspect_name) for one in proposals]


def test_server_that_is_down_gets_everything_later_and_in_order(run, undisturbed, server):
    result = run("emit", EVENTS, *OUT, "--set", "ledger.batch=30")
    assert result.exit_code == 3
    assert "proposals wait in the ledger, the oldest since " in result.stderr
    assert "server: does not answer" in result.stderr
    assert "dh-bridge queue list" in result.stderr
    assert "delivered" not in result.stderr
    assert server.proposals == []
    listed = run("queue", "list", "ledger.db").stdout
    assert "server: does not answer" in listed
    assert listed.splitlines()[0].endswith(" wait, 0 dead letters")
    server.mood = "well"
    assert run("emit", EVENTS, *OUT).exit_code == 0
    assert set(keys(server.proposals)) == {(one["entityUrn"], one["aspectName"]) for one in undisturbed}
    assert run("queue", "list", "ledger.db").stdout == "0 proposals wait, 0 dead letters\n"


def test_queue_list_shows_retryable_and_dead_proposals(run, server):
    server.mood = "busy"
    assert run("emit", EVENTS, *OUT).exit_code == 3
    rows = [json.loads(line) for line in run("queue", "list", "ledger.db", "--json").stdout.splitlines()]
    assert {row["reason"] for row in rows} == {"datasets? never"}
    assert {row["dead"] for row in rows} == {False}
    assert {row["entityUrn"].split(":")[2] for row in rows} == {"dataset"}
    server.mood = "strict"
    result = run("emit", EVENTS, *OUT)
    assert result.exit_code == 3
    assert "not delivered: urn:li:dataset:" in result.stderr
    assert "proposals wait" not in result.stderr
    shown = run("queue", "list", "ledger.db").stdout.splitlines()
    number = int(shown[0].removeprefix("0 proposals wait, ").removesuffix(" dead letters").replace(",", ""))
    assert number >= len(rows)  # what had been refused for good is said again
    assert shown[1].split() == ["dead", "letter", "aspect", "since", "reason"]
    assert shown[2].endswith("datasets? never")
    assert shown[-1] == f"… and {number - 100:,} more (--json)"


def test_dead_letters_are_retried_or_dropped(run, server):
    server.mood = "strict"
    run("emit", EVENTS, *OUT)
    before = len(server.proposals)
    number = run("queue", "list", "ledger.db").stdout.split(", ")[1].split()[0]
    assert run("queue", "retry", "ledger.db").stdout == f"{number} dead letters are queued again\n"
    run("emit", EVENTS, *OUT)
    assert len(server.proposals) == before
    assert run("queue", "drop", "ledger.db").stdout == "0 proposals deleted\n"
    dropped = run("queue", "drop", "--dead", "ledger.db").stdout
    assert int(dropped.split()[0].replace(",", "")) >= int(number.replace(",", ""))
    server.mood = "well"
    assert run("emit", EVENTS, *OUT).exit_code == 0
    assert len({one.entity_urn for one in server.proposals[before:] if one.entity_type == "dataset"}) > 10


def test_retried_proposals_are_recorded_as_sent(run, server):
    server.mood = "well"
    run("emit", EVENTS, *OUT)
    with Catalog("ledger.db", readonly=True) as file:
        before = dict(SentFingerprints(file.connection).sent_between(0, 2**60))
    server.mood = "strict"
    run("emit", EVENTS, *OUT, "--full")
    assert "queued again" in run("queue", "retry", "ledger.db").stdout
    server.mood = "well"
    taken = len(server.proposals)
    assert run("emit", EVENTS, *OUT).exit_code == 0
    assert len(server.proposals) > taken
    with Catalog("ledger.db", readonly=True) as file:
        assert dict(SentFingerprints(file.connection).sent_between(0, 2**60)) == before


def test_dropped_dead_letters_are_sent_with_the_next_event(run, server):
    run("emit", EVENTS, *OUT)
    assert not run("queue", "drop", "ledger.db").stdout.startswith("0 ")
    server.mood = "well"
    assert run("emit", EVENTS, *OUT).exit_code == 0
    assert len(server.proposals) > 100


def test_queue_pause_stops_deliveries_and_resume_continues(run, undisturbed, server):
    server.mood = "well"
    run("emit", EVENTS + "/dbt.ndjson", *OUT)
    before = len(server.proposals)
    assert run("queue", "pause", "ledger.db").stdout == "Deliveries are paused. 0 proposals wait.\n"
    result = run("emit", EVENTS, *OUT)
    assert result.exit_code == 3
    assert (
        "deliveries are paused until `dh-bridge queue resume`. The next emit with this ledger after that"
        in result.stderr
    )
    assert len(server.proposals) == before > 0
    assert ", deliveries are paused" in run("queue", "list", "ledger.db").stdout
    assert run("queue", "resume", "ledger.db").stdout.startswith("Deliveries are resumed. ")
    assert run("emit", EVENTS, *OUT).exit_code == 0
    assert set(keys(server.proposals)) == {(one["entityUrn"], one["aspectName"]) for one in undisturbed}


@pytest.mark.parametrize("command", ["retry", "drop", "pause", "resume"])
def test_queue_dry_run_shows_the_result_and_changes_nothing(run, command):
    with Catalog("ledger.db") as file, file.transaction():
        outbox = Outbox(file.connection)
        outbox.add([upsert("tag", "urn:li:tag:a", "tagProperties", {"name": "a"})], 1)
        outbox.add_dead_letter(upsert("tag", "urn:li:tag:b", "tagProperties", {"name": "b"}), "no", 1)
        outbox.set_paused(is_paused=command == "resume")
    before = run("queue", "list", "ledger.db").stdout
    dry = run("queue", command, "ledger.db", "--dry-run")
    assert dry.stderr == "Dry run: nothing was changed.\n"
    assert run("queue", "list", "ledger.db").stdout == before
    assert run("queue", command, "ledger.db").stdout == dry.stdout
    assert run("queue", "list", "ledger.db").stdout != before


def test_full_outbox_stops_reading_events(run, server):
    result = run("emit", EVENTS, *OUT, "--set", "ledger.batch=30", "--set", "ledger.outbox_limit=100")
    assert result.exit_code == 3
    assert "the outbox is full: " in result.stderr
    assert "proposals wait in the ledger" in result.stderr
    counted = dict(line.rsplit(maxsplit=1) for line in result.stderr.splitlines()[-8:])
    assert counted["events"] == "30"
    assert counted["proposals"] == counted["waiting"] != "0"
    server.mood = "well"
    assert run("emit", EVENTS, *OUT, "--set", "ledger.outbox_limit=100").exit_code == 0


def test_queue_makes_no_ledger_and_wants_to_know_which(run):
    assert run("queue", "drop", "none.db").exit_code == 3
    assert not Path("none.db").exists()
    result = run("queue", "list")
    assert result.exit_code == 2
    assert "no ledger is named" in result.stderr


def test_server_outage_loses_no_proposals(run, tmp_path, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", [].append)
    output = ("--ledger", "ledger.db", "--set", "rest.retries=1")
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        to = ("--to", f"rest:{gms.url}")
        assert run("emit", EVENTS + "/dbt.ndjson", *to, *output).exit_code == 0
        gms.faults = [Fault(503)] * 1_000
        result = run("emit", EVENTS, *to, *output)
        assert result.exit_code == 3
        assert "proposals wait in the ledger" in result.stderr
        gms.faults = []
        assert run("emit", EVENTS, *to, *output).exit_code == 0
        assert run("emit", EVENTS, "--to", "catalog:own.db", "--datahub-version", "1.4").exit_code == 0
        assert run("get", "own.db", "--all").stdout.encode() == b"".join(gms.dump())


def test_stored_server_version_is_used_during_an_outage(run, tmp_path, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", [].append)
    output = ("--ledger", "ledger.db", "--set", "rest.retries=1")
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        to = ("--to", f"rest:{gms.url}")
        assert run("emit", EVENTS + "/dbt.ndjson", *to, *output).exit_code == 0
    result = run("emit", EVENTS, *to, *output)
    assert result.exit_code == 3
    assert "(unreachable; last seen: DataHub 1.4.0): for DataHub 1.4," in result.stderr
    assert "proposals wait in the ledger" in result.stderr
    assert "cannot be reached" in result.stderr or "connect" in result.stderr.lower()


def test_new_ledger_queues_events_until_the_server_answers(run, tmp_path):
    """Events are translated for the version that the server reports then."""
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        command = ("--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--set", "rest.retries=0")
        gms.stop()
        Path("bad.ndjson").write_text('{"eventTime": "x"}\n')
        result = run("emit", EVENTS + "/dbt.ndjson", "bad.ndjson", *command)
        assert result.exit_code == 3
        assert "connection failed" in result.stderr
        assert "The version of DataHub is not known, so events are queued and not translated." in result.stderr
        count = len(Path(EVENTS, "dbt.ndjson").read_text().splitlines())
        assert f"{count} events wait in the event log, the oldest since 20" in result.stderr
        assert (
            "The next emit with this ledger sends them when DataHub answers; `dh-bridge queue list ledger.db`"
            in result.stderr
        )
        assert re.search(r"^dead letters +1$", result.stderr, re.MULTILINE)
        assert re.search(rf"^events waiting +{count}$", result.stderr, re.MULTILINE)
        shown = run("queue", "list", "ledger.db").stdout
        assert f"{count} events wait in the event log" in shown
        assert run("emit", EVENTS + "/dbt.ndjson", *command).exit_code == 3
        gms.start()
        result = run("emit", "/dev/null", *command)
        assert (result.exit_code, "events waiting" in result.stderr) == (0, False)
        assert "0 proposals wait" in run("queue", "list", "ledger.db").stdout
        assert run("emit", EVENTS + "/dbt.ndjson", "--to", "catalog:own.db", "--datahub-version", "1.4").exit_code == 0
        assert run("get", "own.db", "--all").stdout.encode() == b"".join(gms.dump())


def test_new_ledger_accepts_nothing_for_an_address_that_can_never_work(run, gms):
    result = run("emit", EVENTS + "/dbt.ndjson", "--to", f"rest:{gms.url}/nowhere", "--ledger", "ledger.db")
    assert (result.exit_code, "events wait" in result.stderr) == (3, False)
    assert not Path("ledger.db.log").exists()
