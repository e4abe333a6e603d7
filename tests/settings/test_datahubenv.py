"""Servers and tokens where DataHub's own tools look for them; acryl-datahub's own reader is the oracle."""

from __future__ import annotations

import os

import pytest
from datahub.cli import config_utils
from datahub.ingestion.auth.env import build_auth_config_from_env
from datahub.ingestion.auth.k8s_projected import DEFAULT_K8S_TOKEN_FILE

from dh_bridge.errors import SettingsError
from dh_bridge.settings.datahubenv import Account, read_accounts

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
def test_first_account_equals_the_choice_of_datahub(environ, tmp_path, monkeypatch):
    (tmp_path / ".datahubenv").write_text(FILE)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(config_utils, "DATAHUB_CONFIG_PATH", str(tmp_path / ".datahubenv"))
    theirs = config_utils.load_client_config()
    ours = read_accounts(environ, tmp_path)[0]
    assert (ours.server, ours.token) == (theirs.server, theirs.token)


def test_environment_comes_before_the_file(tmp_path):
    (tmp_path / ".datahubenv").write_text(FILE)
    assert read_accounts({"DATAHUB_GMS_TOKEN": "t"}, tmp_path) == [
        Account(None, "t", "env DATAHUB_GMS_TOKEN"),
        Account("http://file:8080", "from-file", "~/.datahubenv"),
    ]


@pytest.mark.parametrize("skip", ["1", "true", "True"])
def test_file_can_be_left_out(tmp_path, skip):
    (tmp_path / ".datahubenv").write_text(FILE)
    assert read_accounts({"DATAHUB_SKIP_CONFIG": skip}, tmp_path) == []


@pytest.mark.parametrize("text", ["", "[]", "gms: 1", "gms: {server: 1, token: [x]}", "other: {}"])
def test_datahubenv_file_without_accounts_is_ignored(tmp_path, text):
    (tmp_path / ".datahubenv").write_text(text)
    assert read_accounts({}, tmp_path) == []


def test_broken_file_is_named_and_its_text_is_not(tmp_path):
    (tmp_path / ".datahubenv").write_text("gms: {token: geheim")
    with pytest.raises(SettingsError, match="it is not YAML") as caught:
        read_accounts({}, tmp_path)
    assert "geheim" not in str(caught.value)
    (tmp_path / ".datahubenv").unlink()
    (tmp_path / ".datahubenv").mkdir()
    with pytest.raises(SettingsError, match="Is a directory"):
        read_accounts({}, tmp_path)


def test_system_credentials_are_used_without_a_token(tmp_path):
    environ = {"DATAHUB_SYSTEM_CLIENT_ID": "sys", "DATAHUB_SYSTEM_CLIENT_SECRET": "s"}
    assert [one.token for one in read_accounts(environ, tmp_path)] == ["Basic sys:s"]
    assert [one.token for one in read_accounts({**environ, "DATAHUB_GMS_TOKEN": "t"}, tmp_path)] == ["t"]


@pytest.mark.parametrize(
    ("stated_for", "server", "given"),
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
def test_token_is_shown_to_its_own_server_alone(stated_for, server, given):
    assert Account(stated_for, "t", "").login_for(server) == ({"token": "t"} if given else {})


CLIENT = {"client_id": "bridge", "client_secret": "s"}
ENDPOINT = "https://idp.example.com/token"


@pytest.mark.parametrize(
    ("stated", "login"),
    [
        (
            {
                "TYPE": "oidc_client_credentials",
                "TOKEN_ENDPOINT": ENDPOINT,
                "CLIENT_ID": "bridge",
                "CLIENT_SECRET": "s",
            },
            {"oauth": {"token_endpoint": ENDPOINT, **CLIENT, "scope": None, "audience": None}},
        ),
        (
            {
                "TYPE": "oidc_client_credentials",
                "TOKEN_ENDPOINT": ENDPOINT,
                "CLIENT_ID": "bridge",
                "CLIENT_SECRET": "s",
                "SCOPE": "a b",
                "AUDIENCE": "datahub",
            },
            {"oauth": {"token_endpoint": ENDPOINT, **CLIENT, "scope": "a b", "audience": "datahub"}},
        ),
        ({"TYPE": "k8s_oidc", "TOKEN_FILE": "/run/token"}, {"token_file": "/run/token"}),
        ({"TYPE": "k8s_oidc"}, {"token_file": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"}),
        ({"TYPE": "pat", "TOKEN_FILE": "/run/token"}, {"token_file": "/run/token"}),
        ({"TYPE": "pat"}, {"token": "static"}),
    ],
    ids=lambda one: " ".join(one) if "TYPE" in one else "",
)
def test_oauth_variables_are_read_as_datahub_reads_them(stated, login, tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("DATAHUB_"):
            monkeypatch.delenv(name)
    environ = {f"DATAHUB_AUTH_{name}": value for name, value in stated.items()}
    environ |= {"DATAHUB_GMS_TOKEN": "static", "DATAHUB_GMS_URL": "http://url:8080"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    (found,) = read_accounts({**environ, "DATAHUB_SKIP_CONFIG": "1"}, tmp_path)
    assert (found.server, found.token, found.login_for("http://url:8080")) == ("http://url:8080", None, login)
    assert found.login_for("http://other:8080") == {}
    theirs = build_auth_config_from_env()
    (ours,) = login.values() if "oauth" in login else (login,)
    given = {
        name: getattr(value, "get_secret_value", lambda value=value: value)() for name, value in theirs.config.items()
    }
    if stated == {"TYPE": "k8s_oidc"}:
        given["token_file"] = DEFAULT_K8S_TOKEN_FILE
    assert {name: value for name, value in ours.items() if value is not None} == given


def test_entra_s_client_secret_asks_entra(tmp_path):
    stated = {
        "TYPE": "azure_entra",
        "AZURE_TENANT_ID": "t",
        "AZURE_CLIENT_ID": "bridge",
        "AZURE_SCOPE": "api://x/.default",
    }
    environ = {f"DATAHUB_AUTH_{name}": value for name, value in stated.items()}
    (found,) = read_accounts({**environ, "DATAHUB_AUTH_AZURE_CLIENT_SECRET": "s"}, tmp_path)
    endpoint = "https://login.microsoftonline.com/t/oauth2/v2.0/token"
    assert found.login == {"oauth": {"token_endpoint": endpoint, **CLIENT, "scope": "api://x/.default"}}
    with pytest.raises(SettingsError, match="DATAHUB_AUTH_AZURE_CLIENT_SECRET"):
        read_accounts(environ, tmp_path)


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"TYPE": "kerberos"}, "'kerberos' is not known"),
        ({"TYPE": "oidc_client_credentials", "CLIENT_ID": "x"}, "DATAHUB_AUTH_CLIENT_SECRET"),
        ({"TYPE": "pat"}, "DATAHUB_AUTH_TOKEN_FILE"),
    ],
)
def test_incomplete_login_names_the_missing_variable(stated, named, tmp_path):
    with pytest.raises(SettingsError, match=named):
        read_accounts({f"DATAHUB_AUTH_{name}": value for name, value in stated.items()}, tmp_path)
