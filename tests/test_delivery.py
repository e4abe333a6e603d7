"""From settings to an open sink: server, token, profile, run id."""

from __future__ import annotations

import json
import re
import socket
import time

import pytest
from support.gms import Gms

from dh_bridge import Bridge
from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import new_run_id, open_target, plain_values
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger import LedgerNotes
from dh_bridge.settings import Settings
from dh_bridge.sinks.abilities import can_read
from dh_bridge.sinks.base import Delivery
from dh_bridge.sinks.memory import MemorySink

DATASET = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
TOKEN = "a-token"  # noqa: S105 - none


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0.2", token=TOKEN) as server:
        yield server


def headers_of(gms):
    return {name.lower(): value for name, value in gms.requests[-1].headers.items()}


def opened(target, settings=None, environ=None, tmp_path="/nowhere", **more):
    destination = open_target(
        target, settings or Settings(), environ={"HOME": str(tmp_path), **(environ or {})}, **more
    )
    destination.sink.close()
    return destination


def test_profile_is_the_servers(gms):
    destination = opened(f"rest:{gms.url}")
    assert (destination.version, destination.settings.datahub_version) == ("1.4.0.2", "1.4.0.2")


def test_profile_that_somebody_chose_stays_and_nobody_is_asked(gms):
    destination = opened(f"rest:{gms.url}", Settings(datahub_version="1.0"))
    assert (destination.version, destination.settings.datahub_version) == (None, "1.0")
    assert gms.requests == []


def test_server_without_a_version_leaves_the_profile_open(gms):
    gms.version = None
    assert opened(f"rest:{gms.url}").settings.datahub_version is None


def test_server_older_than_every_profile_is_refused(gms):
    gms.version = "0.13.0"
    with pytest.raises(SettingsError, match=r"unknown DataHub version '0\.13\.0'"):
        opened(f"rest:{gms.url}")


def test_default_rest_target_uses_the_environment_and_its_token(gms):
    opened("rest:", environ={"DATAHUB_GMS_URL": gms.url, "DATAHUB_GMS_TOKEN": TOKEN})
    assert headers_of(gms)["authorization"] == f"Bearer {TOKEN}"


def test_default_rest_target_uses_the_datahubenv_file(gms, tmp_path):
    (tmp_path / ".datahubenv").write_text(f"gms: {{server: '{gms.url}', token: {TOKEN}}}")
    opened("rest:", tmp_path=tmp_path)
    assert headers_of(gms)["authorization"] == f"Bearer {TOKEN}"


def test_bare_rest_without_a_server_is_refused():
    with pytest.raises(SettingsError, match="no DataHub server is set"):
        opened("rest:")


def test_our_own_settings_win(gms):
    settings = Settings(rest={"server": gms.url, "token": "ours", "headers": {"X-Team": "data"}})
    opened("rest:", settings, {"DATAHUB_GMS_URL": "http://other", "DATAHUB_GMS_TOKEN": "theirs"})
    assert headers_of(gms)["authorization"] == "Bearer ours"
    assert headers_of(gms)["x-team"] == "data"


def test_token_for_another_server_is_not_shown(gms):
    opened(f"rest:{gms.url}", environ={"DATAHUB_GMS_URL": "http://other", "DATAHUB_GMS_TOKEN": TOKEN})
    assert "authorization" not in headers_of(gms)


OTHERS = "http://other.example.com:8080"
LOGINS = [
    {"token": TOKEN},
    {"token_file": "token"},
    {"headers": {"authorization": f"Bearer {TOKEN}"}},
]


@pytest.mark.parametrize("login", LOGINS, ids=lambda login: next(iter(login)))
def test_login_of_the_settings_is_for_the_server_that_they_name(gms, login):
    settings = Settings(rest={"server": OTHERS, **login})
    opened(f"rest:{gms.url}", settings)
    assert "authorization" not in headers_of(gms)
    assert gms.requests


def test_other_server_gets_no_headers_of_the_settings(gms):
    settings = Settings(rest={"server": OTHERS, "token": "ours", "headers": {"X-Team": "data"}})
    opened(f"rest:{gms.url}", settings, {"DATAHUB_GMS_URL": gms.url, "DATAHUB_GMS_TOKEN": TOKEN})
    assert headers_of(gms)["authorization"] == f"Bearer {TOKEN}"
    assert "x-team" not in headers_of(gms)  # a gateway's cookie or key would be a header, too


@pytest.mark.parametrize(
    ("named", "target", "shown"),
    [
        ("http://gms.example.com:80", "http://gms.example.com", True),
        ("https://gms.example.com/api/gms", "https://GMS.example.com:443", True),
        (None, "http://gms.example.com", True),
        ("http://gms.example.com", "https://gms.example.com", False),
        ("http://gms.example.com", "http://gms.example.com:8080", False),
        ("http://gms.example.com", "http://gms.example.com.example.net", False),
    ],
)
def test_servers_are_distinguished_by_scheme_host_and_port(named, target, shown):
    settings = Settings(
        datahub_version="1.4", rest={"server": named, "token": TOKEN, "headers": {"Authorization": "Basic x"}}
    )
    area = opened(f"rest:{target}", settings).options.rest
    assert area["token"] == (TOKEN if shown else None)
    assert area["headers"] == ({"Authorization": "Basic x"} if shown else {})


def test_netrc_does_not_replace_the_token(gms, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    opened(f"rest:{gms.url}", environ={"DATAHUB_GMS_TOKEN": TOKEN})
    assert headers_of(gms)["authorization"] == f"Bearer {TOKEN}"


def test_every_delivery_has_a_run_id_of_its_own():
    first, second = opened("memory:").options.run_id, new_run_id()
    assert first != second
    assert all(re.fullmatch(r"dh_bridge-\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d-[0-9a-f]{6}", one) for one in (first, second))
    assert opened("memory:", run_id="mine").options.run_id == "mine"


def test_pipeline_is_a_setting():
    assert opened("memory:").options.system_metadata()["pipelineName"] == "dh_bridge"
    assert opened("memory:", Settings(pipeline_name="p")).options.system_metadata()["pipelineName"] == "p"


@pytest.mark.parametrize("target", ["file:out.json", "file:out.ndjson", "catalog:out.db"])
def test_dry_run_opens_no_target(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(opened(target, dry_run=True).sink, MemorySink)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("file", "creates"), [("out.json", False), ("out.ndjson", True)])
def test_dry_run_reports_what_the_target_can_write(file, creates, dry_run, tmp_path):
    destination = opened(f"file:{tmp_path / file}", Settings(datahub_version="1.3"), dry_run=dry_run)
    with destination.sink:
        assert destination.can_create is creates


def test_dry_run_asks_the_server_for_its_version_alone(gms):
    assert opened(f"rest:{gms.url}", dry_run=True).settings.datahub_version == "1.4.0.2"
    assert [one.path for one in gms.requests] == ["/config"]


def test_unknown_target_is_refused_in_a_dry_run_too():
    with pytest.raises(SettingsError, match="unknown target"):
        opened("ftp:x", dry_run=True)


def test_server_that_is_no_metadata_service_is_an_error(gms):
    gms.token = None
    with pytest.raises(SinkError, match="not a DataHub metadata service") as caught:
        opened(f"rest:{gms.url}/openapi")
    assert not caught.value.retryable


def test_areas_are_plain_values():
    area = plain_values(Settings(rest={"token": "t", "headers": {"a": "b"}, "ca_bundle": "x.pem"}).rest)
    assert (area["token"], area["headers"], area["ca_bundle"]) == ("t", {"a": "b"}, "x.pem")


GUARDED = Settings(datahub_version="1.4", writes={"entities": ["dataset", "dataJob"], "aspects": ["sub*", "status"]})


def test_only_what_may_be_written_is(tmp_path):
    place = tmp_path / "out.ndjson"
    destination = open_target(f"file:{place}", GUARDED, environ={})
    batch = [
        upsert("dataset", DATASET, "subTypes", {"typeNames": ["Table"]}),
        upsert("dataset", DATASET, "ownership", {"owners": []}),
        upsert("tag", "urn:li:tag:x", "status", {"removed": False}),
        upsert("tag", "urn:li:tag:x", "status", {"removed": False}),
    ]
    with destination.sink as sink:
        assert sink.emit(batch) == Delivery(1, [])
        assert sink.name == "file"
        assert sink.dropped_counts == {"writes.aspects: ownership": 1, "writes.entities: tag": 2}
    assert [json.loads(line)["aspectName"] for line in place.read_text().splitlines()] == ["subTypes"]
    with pytest.raises(SinkError, match="is closed"):
        sink.emit(batch)


def test_filtered_sink_still_reports_the_server_version(gms):
    destination = opened(f"rest:{gms.url}", GUARDED.model_copy(update={"datahub_version": None}))
    assert destination.version == "1.4.0.2"
    assert can_read(destination.sink)


def test_sink_without_filters_is_not_wrapped():
    assert isinstance(opened("memory:").sink, MemorySink)


def test_server_that_does_not_answer_has_the_version_that_it_had(monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", [].append)
    nobody = Settings(rest={"server": "http://127.0.0.1:9", "retries": 1})
    destination = opened("rest:", nobody, target_notes=LedgerNotes(version="1.4.0.2"))
    assert (destination.version, destination.settings.datahub_version) == ("1.4.0.2", "1.4.0.2")
    assert "rest:http://127.0.0.1:9 (unreachable; last seen: DataHub 1.4.0.2): for DataHub 1.4" in destination.describe(
        "rest:"
    )
    with pytest.raises(SinkError, match="connection failed") as caught:
        opened("rest:", nobody)
    assert caught.value.retryable
    assert "check the address of DataHub" in str(caught.value)


def test_known_version_skips_the_retries_of_a_down_server():
    began = time.monotonic()
    destination = opened(
        "rest:", Settings(rest={"server": "http://127.0.0.1:9"}), target_notes=LedgerNotes(version="1.4.0.2")
    )
    assert time.monotonic() - began < 2
    assert destination.version == "1.4.0.2"
    assert destination.options.rest["retries"] == Settings().rest.retries


def test_known_version_limits_the_wait_for_a_hanging_server(monkeypatch):
    monkeypatch.setattr("dh_bridge.delivery._VERSION_TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        target = f"rest:http://127.0.0.1:{silent.getsockname()[1]}"
        assert opened(target, target_notes=LedgerNotes(version="1.4.0.2")).version == "1.4.0.2"
        assert time.monotonic() - began < 2


def test_responding_server_updates_the_known_version(gms):
    assert opened(f"rest:{gms.url}", target_notes=LedgerNotes(version="1.0.0")).version == "1.4.0.2"


def test_unauthorised_server_is_an_error_despite_known_version(gms):
    gms.token = None
    with pytest.raises(SinkError, match="not a DataHub metadata service"):
        opened(f"rest:{gms.url}/openapi", target_notes=LedgerNotes(version="1.4.0.2"))


def test_pipeline_writes_for_the_version_of_the_server(gms, monkeypatch):
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", TOKEN)
    bridge = Bridge(sink="rest:")
    with bridge.run(("nightly", "shop.load"), ["s3://lake/orders"]):
        pass
    bridge.close()
    assert bridge.pipeline.options.profile.name == "1.4"
    assert {"dataProcessInstanceRunEvent", "dataJobInfo"} <= {found.aspect_name for found in gms.proposals}
    assert {one["pipelineName"] for one in gms.metadata.values()} == {"dh_bridge"}


@pytest.mark.parametrize(
    ("release", "environment", "note"),
    [
        ("2.3.5", "cloud", ""),
        ("2.4.0", "cloud", " (the newest that dh-bridge knows)"),
        ("1.7.0.14", "core", ""),
        ("1.8.0", "core", " (the newest that dh-bridge knows)"),
    ],
)
def test_server_newer_than_those_that_are_known_is_noted(tmp_path, release, environment, note):
    with Gms(tmp_path / "gms.db", version=release) as gms:
        gms.environment = environment
        destination = open_target(f"rest:{gms.url}", Settings())
        with destination.sink:
            assert f": for DataHub 1.7{note}, run " in destination.describe(f"rest:{gms.url}")
