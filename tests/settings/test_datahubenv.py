"""Servers and tokens where DataHub's own tools look for them; acryl-datahub's own reader is the oracle."""

from __future__ import annotations

import pytest
from datahub.cli import config_utils

from dh_bridge.errors import SettingsError
from dh_bridge.settings.datahubenv import Account, accounts

VARIABLES = (
    "DATAHUB_GMS_URL",
    "DATAHUB_GMS_HOST",
    "DATAHUB_GMS_PORT",
    "DATAHUB_GMS_PROTOCOL",
    "DATAHUB_GMS_TOKEN",
    "DATAHUB_SYSTEM_CLIENT_ID",
    "DATAHUB_SYSTEM_CLIENT_SECRET",
    "DATAHUB_SKIP_CONFIG",
)
FILE = "gms:\n  server: http://file:8080\n  token: from-file\n"


@pytest.mark.parametrize(
    "environ",
    [
        {"DATAHUB_GMS_URL": "http://url:8080", "DATAHUB_GMS_TOKEN": "t"},
        {"DATAHUB_GMS_URL": "http://url:8080"},
        {"DATAHUB_GMS_HOST": "host", "DATAHUB_GMS_PORT": "81", "DATAHUB_GMS_TOKEN": "t"},
        {"DATAHUB_GMS_HOST": "host", "DATAHUB_GMS_PORT": "81", "DATAHUB_GMS_PROTOCOL": "https"},
        {"DATAHUB_GMS_HOST": "http://host:82"},
        {"DATAHUB_GMS_HOST": "host", "DATAHUB_GMS_PORT": "81", "DATAHUB_GMS_URL": "http://url:8080"},
        {},
    ],
    ids=lambda environ: " ".join(environ) or "file",
)
def test_the_first_account_is_the_one_that_datahub_takes(environ, tmp_path, monkeypatch):
    (tmp_path / ".datahubenv").write_text(FILE)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(config_utils, "DATAHUB_CONFIG_PATH", str(tmp_path / ".datahubenv"))
    theirs = config_utils.load_client_config()
    ours = accounts(environ, tmp_path)[0]
    assert (ours.server, ours.token) == (theirs.server, theirs.token)


def test_the_environment_comes_before_the_file(tmp_path):
    (tmp_path / ".datahubenv").write_text(FILE)
    assert accounts({"DATAHUB_GMS_TOKEN": "t"}, tmp_path) == [
        Account(None, "t", "env DATAHUB_GMS_TOKEN"),
        Account("http://file:8080", "from-file", "~/.datahubenv"),
    ]


@pytest.mark.parametrize("skip", ["1", "true", "True"])
def test_the_file_can_be_left_out(tmp_path, skip):
    (tmp_path / ".datahubenv").write_text(FILE)
    assert accounts({"DATAHUB_SKIP_CONFIG": skip}, tmp_path) == []


@pytest.mark.parametrize("text", ["", "[]", "gms: 1", "gms: {server: 1, token: [x]}", "other: {}"])
def test_a_file_that_says_nothing_is_none(tmp_path, text):
    (tmp_path / ".datahubenv").write_text(text)
    assert accounts({}, tmp_path) == []


def test_a_broken_file_is_named_and_its_text_is_not(tmp_path):
    (tmp_path / ".datahubenv").write_text("gms: {token: geheim")
    with pytest.raises(SettingsError, match="it is not YAML") as caught:
        accounts({}, tmp_path)
    assert "geheim" not in str(caught.value)
    (tmp_path / ".datahubenv").unlink()
    (tmp_path / ".datahubenv").mkdir()
    with pytest.raises(SettingsError, match="Is a directory"):
        accounts({}, tmp_path)


def test_credentials_of_datahubs_own_services_serve_where_there_is_no_token(tmp_path):
    environ = {"DATAHUB_SYSTEM_CLIENT_ID": "sys", "DATAHUB_SYSTEM_CLIENT_SECRET": "s"}
    assert [one.token for one in accounts(environ, tmp_path)] == ["Basic sys:s"]
    assert [one.token for one in accounts({**environ, "DATAHUB_GMS_TOKEN": "t"}, tmp_path)] == ["t"]


@pytest.mark.parametrize(
    ("said_for", "server", "given"),
    [
        (None, "http://anywhere", True),
        ("http://gms:8080", "http://gms:8080/", True),
        ("https://gms/api/gms", "https://gms:443", True),
        ("http://gms:8080", "https://gms:8080", False),
        ("http://gms:8080", "http://gms:8081", False),
        ("http://gms:8080", "http://other:8080", False),
        ("http://gms:x", "http://gms:8080", False),
    ],
)
def test_a_token_is_shown_to_its_own_server_alone(said_for, server, given):
    assert Account(said_for, "t", "").token_for(server) == ("t" if given else None)
