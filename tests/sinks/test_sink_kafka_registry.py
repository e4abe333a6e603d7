from __future__ import annotations

import base64
import json

import pytest
import requests
import responses
from responses import matchers

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.kafka.options import RegistryOptions, kafka_options
from dh_bridge.sinks.kafka.registry import SchemaRegistry

URL = "http://registry:8081"
VERSIONS = f"{URL}/subjects/MCP-value/versions"
LATEST = f"{VERSIONS}/latest"
THEIRS = {"type": "record", "name": "Theirs", "fields": []}
OURS = {"type": "record", "name": "Ours", "fields": []}


@pytest.fixture
def answers():
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mocked:
        yield mocked


def asked(**config):
    """Ask a registry whose configuration has these options, with underscores for dots."""
    names = {name.replace("_", "."): value for name, value in config.items()}
    registry = SchemaRegistry(RegistryOptions(url=URL, config=names))
    try:
        return registry.envelope_schema("MCP-value", OURS)
    finally:
        registry.close()


def refused(**config):
    with pytest.raises(SinkError) as caught:
        asked(**config)
    return caught.value


def calls(answers):
    return [(call.request.method, call.request.url.removeprefix(URL)) for call in answers.calls]


def has_latest(answers, **more):
    answers.get(LATEST, json={"id": 9, "version": 2, "schema": json.dumps(THEIRS)}, **more)


def test_registry_s_own_envelope_is_used_and_nothing_is_written(answers):
    has_latest(answers)
    assert asked() == (9, THEIRS)
    assert calls(answers) == [("GET", "/subjects/MCP-value/versions/latest")]


@pytest.mark.parametrize("status", [404, 405, 501])
def test_own_schema_is_registered_and_the_returned_id_resolved(answers, status):
    """GMS answers 501 to the first call, and with the id of its own envelope to the second, whatever was posted."""
    answers.get(LATEST, status=status, json={"error_code": 40401, "message": "Subject 'MCP-value' not found."})
    answers.post(VERSIONS, json={"id": 16}, match=[matchers.json_params_matcher({"schema": json.dumps(OURS)})])
    answers.get(f"{URL}/schemas/ids/16", json={"schemaType": "AVRO", "schema": json.dumps(THEIRS), "maxId": 16})
    assert asked() == (16, THEIRS)
    assert answers.calls[1].request.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"


def test_id_of_zero_is_an_id(answers):
    """Older servers give their first schema the id 0."""
    answers.get(LATEST, status=501)
    answers.post(VERSIONS, json={"id": 0})
    answers.get(f"{URL}/schemas/ids/0", json={"schema": json.dumps(THEIRS)})
    assert asked() == (0, THEIRS)


def test_read_only_registry_client_registers_nothing(answers):
    answers.get(LATEST, status=404)
    error = refused(auto_register_schemas="false")
    assert not error.retryable
    assert "auto.register.schemas" in str(error)
    assert len(answers.calls) == 1


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({"basic_auth_user_info": "ann:pw"}, "Basic " + base64.b64encode(b"ann:pw").decode()),
        ({"basic_auth_user_info": "key"}, "Basic " + base64.b64encode(b"key:").decode()),
        ({"bearer_auth_token": "t0k3n"}, "Bearer t0k3n"),
    ],
)
def test_registry_request_has_the_configured_login(answers, options, header):
    has_latest(answers)
    asked(**options)
    assert answers.calls[0].request.headers.get("Authorization") == header


def test_netrc_is_ignored(answers, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine registry login other password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    has_latest(answers)
    asked(bearer_auth_token="t0k3n")  # noqa: S106 - of nobody
    asked()
    assert [call.request.headers.get("Authorization") for call in answers.calls] == ["Bearer t0k3n", None]


@pytest.mark.parametrize(
    ("status", "retryable", "hint"),
    [
        (401, False, "basic.auth.user.info"),
        (403, False, "auto.register.schemas"),
        (422, False, ""),
        (429, True, ""),
        (500, True, ""),
        (503, True, ""),
        (302, False, ""),
    ],
)
def test_registry_read_error_includes_the_server_message(answers, status, retryable, hint, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    answers.get(LATEST, status=status, json={"error_code": status, "message": "words of its own"})
    error = refused()
    assert error.retryable is retryable
    assert f"HTTP {status}: words of its own" in str(error)
    assert hint in str(error)


def test_busy_registry_is_asked_again(answers, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    answers.get(LATEST, status=503)
    answers.get(LATEST, status=429)
    has_latest(answers)
    assert asked() == (9, THEIRS)


@pytest.mark.parametrize(
    ("status", "hint"), [(409, "auto.register.schemas"), (403, "permission"), (404, "with its path")]
)
def test_registry_write_error_includes_a_hint(answers, status, hint):
    answers.get(LATEST, status=404)
    answers.post(VERSIONS, status=status, json={"message": "no"})
    error = refused()
    assert not error.retryable
    assert hint in str(error)


@pytest.mark.parametrize(
    ("failure", "retryable", "reason"),
    [
        (requests.exceptions.ConnectionError("refused"), True, "connection failed"),
        (requests.exceptions.ReadTimeout("late"), True, "no response within 30 s"),
        (requests.exceptions.ConnectTimeout("late"), True, "no response within 30 s"),
        (requests.exceptions.ChunkedEncodingError("cut"), True, "connection failed"),
        (OSError("gone"), True, "connection failed"),
        (requests.exceptions.SSLError("unknown authority"), False, "ssl.ca.location in kafka.registry.config"),
        (requests.exceptions.InvalidHeader("bad"), False, "check kafka.registry"),
    ],
)
def test_unreachable_registry_errors_are_classified(answers, failure, retryable, reason):
    answers.get(LATEST, body=failure)
    error = refused()
    assert error.retryable is retryable
    assert reason in str(error)
    assert URL in str(error)


@pytest.mark.parametrize(
    "options",
    [{"basic.auth.user.info": "ann:пароль"}, {"bearer.auth.token": "пароль"}, {"bearer.auth.token": "a\nb"}],
)
def test_login_invalid_in_a_header_is_an_error_without_it(options):
    with pytest.raises(SinkError, match=r"cannot send the request: \w+ \(check kafka.registry\)$") as caught:
        SchemaRegistry(RegistryOptions(url="http://127.0.0.1:1", config=options)).envelope_schema("x", {})
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "body",
    [
        "<html>login</html>",
        "[]",
        "{}",
        '{"id": "nine", "schema": "{}"}',
        '{"id": 9}',
        '{"id": 9, "schema": "no json"}',
        '{"id": 9, "schema": 5}',
    ],
)
def test_response_that_is_no_registry_is_an_error(answers, body):
    answers.get(LATEST, body=body)
    error = refused()
    assert not error.retryable
    assert "kafka.registry.url" in str(error)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("registry:8081", "not the address"),
        ("ftp://registry", "not the address"),
        ("http://", "not the address"),
        ("http://registry:99999", "not the address"),
        ("http://registry/?x=1", "not the address"),
        ("http://ann:pw@registry:8081", "which messages would show"),
    ],
)
def test_address_that_cannot_be_used_is_a_setting(url, reason):
    with pytest.raises(SettingsError, match=reason) as caught:
        SchemaRegistry(RegistryOptions(url=url))
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("key", ["ssl.ca.location", "ssl.certificate.location", "ssl.key.location"])
def test_file_that_is_not_there_is_a_setting(key, tmp_path):
    with pytest.raises(SettingsError, match=f"kafka.registry.config, {key}"):
        SchemaRegistry(RegistryOptions(url=URL, config={key: str(tmp_path / "none.pem")}))


@pytest.mark.parametrize(("verify", "bundle"), [("true", True), ("False", False)])
def test_certificate_settings_override_the_environment(answers, verify, bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "other.pem"))
    own = tmp_path / "own.pem"
    own.write_text("")
    seen = []
    has_latest(answers)
    send = requests.Session.request

    def spy(self, *arguments, **named):
        seen.append((named["verify"], self.cert))
        return send(self, *arguments, **named)

    monkeypatch.setattr(requests.Session, "request", spy)
    asked(
        enable_ssl_certificate_verification=verify,
        ssl_ca_location=str(own),
        ssl_certificate_location=str(own),
        ssl_key_location=str(own),
    )
    assert seen == [(str(own) if bundle else False, (str(own), str(own)))]


def test_default_registry_is_that_of_a_local_datahub():
    registry = SchemaRegistry(RegistryOptions())
    assert registry.location == "schema registry http://localhost:8080/schema-registry/api"
    registry.close()


@pytest.mark.parametrize(("timeout", "registry"), [(60.0, 30.0), (2.0, 2.0)])
def test_registry_has_no_more_time_than_a_message(timeout, registry):
    options = kafka_options("b:9092", {"timeout": timeout})
    assert options.registry.timeout == registry
