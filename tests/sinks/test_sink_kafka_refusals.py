"""What DataHub refused later, read back from a real broker: messages as DataHub's own MCE consumer writes them."""

from __future__ import annotations

import json
import struct
from io import BytesIO
from pathlib import Path

import fastavro
import pytest
import requests
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from realparts.kafka import QUIET
from support import kafka_tokens
from support.kafka_proposals import read as proposals_of
from support.sink_contract import CAFE, DATASET

from dh_bridge.cli import commands
from dh_bridge.datahub import schemas
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.kafka import refusals
from dh_bridge.sinks.kafka.refusals import FailedProposalReader

pytestmark = pytest.mark.kafka

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events")

REFUSED = {
    "type": "record",
    "name": "FailedMetadataChangeProposal",
    "namespace": "com.linkedin.pegasus2avro.mxe",
    "fields": [
        {"name": "auditHeader", "type": "null", "default": None},
        {"name": "metadataChangeProposal", "type": schemas.load_schema(schemas.load_index("1.7").envelope)},
        {"name": "error", "type": "string"},
    ],
}


def record(urn, error, run="mine", pipeline="dh_bridge", value=b'{"removed": false}', change="UPSERT"):
    return {
        "auditHeader": None,
        "metadataChangeProposal": {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": change,
            "aspectName": "status",
            "aspect": {"value": value, "contentType": "application/json"},
            "systemMetadata": {"runId": run, "pipelineName": pipeline},
        },
        "error": error,
    }


@pytest.fixture
def refuse(kafka, registry):
    """Write refusals to a topic of this test's own, as DataHub does; bytes are written as they are."""
    topic = kafka.topic("failed", partitions=2)
    posted = requests.post(
        f"{registry.url}/subjects/{topic}-value/versions", json={"schema": json.dumps(REFUSED)}, timeout=30
    )
    number, schema = posted.json()["id"], fastavro.parse_schema(REFUSED)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **QUIET})

    def write(*found):
        for partition, one in enumerate(found):
            out = BytesIO(struct.pack(">bI", 0, number))
            if isinstance(one, dict):
                out.seek(5)
                fastavro.schemaless_writer(out, schema, one)
            producer.produce(topic, out.getvalue() if isinstance(one, dict) else one, partition=partition % 2)
        assert producer.flush(30) == 0

    write.topic = topic
    return write


@pytest.fixture
def area(refuse, registry):
    return {"failed_topic": refuse.topic, "registry": {"url": registry.url}}


def read(kafka, area, group=None):
    with FailedProposalReader(kafka.bootstrap, area, group=group) as refusals:
        return list(refusals.rows())


def test_refusal_has_the_error_the_run_and_the_proposal(kafka, refuse, area):
    refuse(record(CAFE, "ValidationException: no such field\n\tat com.linkedin"))
    assert read(kafka, area) == [
        {
            "place": f"{refuse.topic}/0/0",
            "reason": "ValidationException: no such field\n\tat com.linkedin",
            "runId": "mine",
            "pipelineName": "dh_bridge",
            "proposal": {
                "entityType": "dataset",
                "entityUrn": CAFE,
                "changeType": "UPSERT",
                "aspectName": "status",
                "aspect": {"json": {"removed": False}},
            },
        }
    ]


def test_all_partitions_are_read_every_time_without_a_group(kafka, refuse, area):
    refuse(*[record(f"{DATASET}{number}", "no") for number in range(5)])
    assert len(read(kafka, area)) == 5
    assert len(read(kafka, area)) == 5


def test_group_goes_on_where_it_stopped(kafka, refuse, area):
    refuse(record(DATASET, "one"), record(DATASET, "two"))
    assert {row["reason"] for row in read(kafka, area, "g")} == {"one", "two"}
    assert read(kafka, area, "g") == []
    refuse(record(DATASET, "three"))
    assert [row["reason"] for row in read(kafka, area, "g")] == ["three"]


def test_interrupted_reader_reads_the_rest_again(kafka, refuse, area):
    refuse(record(DATASET, "one"))
    with FailedProposalReader(kafka.bootstrap, area, group="g") as refusals:
        next(refusals.rows())
    assert [row["reason"] for row in read(kafka, area, "g")] == ["one"]


MOVING = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]


@pytest.fixture
def moving(monkeypatch):
    """Return the errors that a group's coordinator is still to answer with, the last one first, before the real one is asked."""
    left = []

    class Moving(Consumer):
        def committed(self, *arguments, **named):
            self.fail()
            return super().committed(*arguments, **named)

        def commit(self, *arguments, **named):
            self.fail()
            return super().commit(*arguments, **named)

        def fail(self):
            if left:
                raise KafkaException(KafkaError(getattr(KafkaError, left.pop())))

    monkeypatch.setattr(refusals, "Consumer", Moving)
    monkeypatch.setattr(refusals, "_PAUSE_SECONDS", 0.01)
    return left


@pytest.mark.parametrize("name", MOVING)
def test_coordinator_that_moves_is_asked_again(kafka, refuse, area, moving, name):
    refuse(record(DATASET, "one"))
    moving += [name, name]
    with FailedProposalReader(kafka.bootstrap, area, group="g") as one:
        rows = one.rows()
        assert next(rows)["reason"] == "one"
        assert moving == []
        moving += [name, name]  # now it sees how far the group is
        assert list(rows) == []
    assert moving == []
    assert read(kafka, area, "g") == []


@pytest.mark.parametrize(("name", "patience"), [("NOT_COORDINATOR", 2.0), ("GROUP_AUTHORIZATION_FAILED", 30.0)])
def test_coordinator_errors_are_reported(kafka, refuse, area, moving, name, patience):
    refuse(record(DATASET, "one"))
    moving += [name] * 10_000
    with pytest.raises(SinkError, match=name):
        read(kafka, {**area, "timeout": patience}, "g")
    assert (len(moving) == 9_999) is (name not in MOVING)


@pytest.mark.parametrize("broken", [b"", b"\1\0\0\0\1x", b"\0\0\0\0", b"\0\0\0\0\1", b"\0\x7f\0\0\0x", b"{}"], ids=repr)
def test_unreadable_message_is_reported_and_others_are_read(kafka, refuse, area, broken):
    refuse(broken, record(DATASET, "no"))
    first, second = read(kafka, area)
    assert first["reason"].startswith("cannot read the message: ")
    assert second["reason"] == "no"


def test_aspect_that_is_no_json_is_shown_as_it_is(kafka, refuse, area):
    refuse(record(DATASET, "no", value=b"{broken"))
    assert read(kafka, area)[0]["proposal"]["aspect"] == {"json": "{broken"}


def test_missing_topic_is_an_error(kafka, area):
    with pytest.raises(SinkError, match="no-such-topic") as caught:
        read(kafka, {**area, "failed_topic": "no-such-topic"})
    assert not caught.value.retryable


def test_unresponsive_brokers_are_a_retryable_error(area):
    with (
        pytest.raises(SinkError) as caught,
        FailedProposalReader("127.0.0.1:1", {**area, "timeout": 0.5}, group=None) as one,
    ):
        list(one.rows())
    assert caught.value.retryable


def test_setting_that_the_client_does_not_have_is_named(kafka, area):
    with pytest.raises(SettingsError, match=r"ssl\.no\.such"):
        read(kafka, {**area, "producer": {"ssl.no.such": "1", "linger.ms": "5"}})


def test_token_comes_from_a_function_of_the_user_s(kafka, area, monkeypatch):
    """As for the producer: the broker does not take tokens, and says so."""
    monkeypatch.setattr(kafka_tokens, "asked", [])
    producer = {"security.protocol": "SASL_SSL", "ssl.ca.location": kafka.authority}
    producer |= {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": "support.kafka_tokens:token"}
    with (
        pytest.raises(SinkError),
        FailedProposalReader(kafka.safe, {**area, "producer": producer, "timeout": 3.0}, group=None) as refusals,
    ):
        list(refusals.rows())
    assert kafka_tokens.asked


def test_command_writes_ours_and_counts_the_others(kafka, refuse, area, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    refuse(record(DATASET, "ours"), record(DATASET, "theirs", pipeline="other"), record(DATASET, "older", run="r0"))

    def ran(*arguments):
        settings = (
            "--set",
            f"kafka.failed_topic={refuse.topic}",
            "--set",
            f"kafka.registry.url={area['registry']['url']}",
        )
        result = CliRunner().invoke(commands, ["queue", "import", f"kafka:{kafka.bootstrap}", *settings, *arguments])
        return result.exit_code, [json.loads(line)["reason"] for line in result.stdout.splitlines()], result.stderr

    assert ran() == (1, ["ours", "older"], "2 refused, 1 of others left out\n")
    assert ran("--everyone")[1] == ["ours", "older", "theirs"]
    assert ran("--run-id", "r0")[1] == ["older"]
    assert ran("--run-id", "none")[:2] == (0, [])
    assert ran("--group", "g")[0] == 1
    assert ran("--group", "g") == (0, [], "0 refused\n")
    assert CliRunner().invoke(commands, ["queue", "import", "rest:"]).exit_code == 2


def test_proposal_failed_in_datahub_is_a_ledger_dead_letter(kafka, refuse, area, registry, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    topic = kafka.topic("proposals")

    def ran(*arguments):
        chosen = {"topic": topic, "failed_topic": refuse.topic, "registry.url": area["registry"]["url"]}
        settings = [word for name, text in chosen.items() for word in ("--set", f"kafka.{name}={text}")]
        ledger = ("--ledger", "ledger.db") if arguments[0] == "emit" else ("ledger.db",)
        return CliRunner().invoke(commands, [*arguments, *ledger, *settings])

    def emitted():
        result = ran("emit", EVENTS, "--to", f"kafka:{kafka.bootstrap}", "--datahub-version", "1.7", "--run-id", "mine")
        assert result.exit_code == 0, result.output
        return kafka.messages(topic)

    proposals = proposals_of(emitted(), registry.url)
    chosen = [next(one for one in proposals if one.changeType == change) for change in ("UPSERT", "PATCH")]
    tag = next(one for one in proposals if one.aspectName == "ownership")
    stale = {**written_back(chosen[0]), "aspect": {"value": b'{"of": "yesterday"}', "contentType": "application/json"}}
    for one in (*map(written_back, (*chosen, tag)), stale):
        refuse({"auditHeader": None, "metadataChangeProposal": one, "error": f"no {one['aspectName']} today"})
    dry = ran("queue", "import", f"kafka:{kafka.bootstrap}", "--dry-run")
    assert (dry.exit_code, "3 are dead letters" in dry.stderr) == (1, True)
    assert ran("queue", "import", f"kafka:{kafka.bootstrap}", "--dry-run", "--group", "g").exit_code == 2
    for expected in ("3 are dead letters of the ledger now, 1 are", "0 are dead letters of the ledger now, 4 are"):
        result = ran("queue", "import", f"kafka:{kafka.bootstrap}")
        assert (result.exit_code, expected in result.stderr) == (1, True), result.stderr
    listed = [json.loads(line) for line in ran("queue", "list", "--dead", "--json").stdout.splitlines()]
    assert {(one["entityUrn"], one["aspectName"], one["reason"]) for one in listed} == {
        (one.entityUrn, one.aspectName, f"no {one.aspectName} today") for one in (*chosen, tag)
    }
    assert "no ownership today" in ran("queue", "list", "--dead").stdout
    assert ran("queue", "retry", "--dead").stdout == "3 dead letters are queued again\n"
    again = proposals_of(emitted()[len(proposals) :], registry.url)
    assert {(one.entityUrn, one.aspectName, one.aspect.value) for one in (*chosen, tag)} <= {
        (one.entityUrn, one.aspectName, one.aspect.value) for one in again
    }
    assert ran("queue", "list").stdout == "0 proposals wait, 0 dead letters\n"


def written_back(proposal):
    """Return acryl-datahub's object as the record that DataHub's consumer writes back."""
    return {
        **{name: getattr(proposal, name) for name in ("entityType", "entityUrn", "changeType", "aspectName")},
        "aspect": {"value": proposal.aspect.value, "contentType": proposal.aspect.contentType},
        "systemMetadata": {"runId": "mine", "pipelineName": "dh_bridge"},
    }
