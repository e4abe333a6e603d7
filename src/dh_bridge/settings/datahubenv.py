"""Server and token from the configuration of DataHub's own tools: ``DATAHUB_GMS_*``, ``DATAHUB_AUTH_*`` and ``~/.datahubenv``.

As acryl-datahub's ``config_utils``: the environment is used first; ``DATAHUB_GMS_HOST`` and ``_PORT`` override the URL if there
is a port; ``DATAHUB_AUTH_TYPE`` overrides a token; with ``DATAHUB_SKIP_CONFIG`` the file is not read.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FILE = ".datahubenv"
_DEFAULT_TOKEN_FILE = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"  # noqa: S105 - no secret
_ENTRA_TOKEN_URL = "https://login.microsoftonline.com/{}/oauth2/v2.0/token"  # noqa: S105 - no secret
_PORTS = {"http": 80, "https": 443}


class Account(NamedTuple):
    """A server, its token, and the source of both; None if they are not configured."""

    server: str | None
    token: str | None
    origin: str
    login: Mapping[str, Any] = MappingProxyType({})
    """The source of a token, instead of a token: fields of the settings ``rest``, as plain values."""

    def login_for(self, url: str) -> Mapping[str, Any]:
        """Return the credentials for ``url`` as fields of ``rest``; credentials of another server are not returned."""
        if self.server is not None and server_address(url) != server_address(self.server):
            return {}
        return self.login or ({"token": self.token} if self.token else {})


def read_accounts(environ: Mapping[str, str], home: Path) -> list[Account]:
    """Return the accounts of the environment and of the file, in this order; raise a SettingsError if the file is invalid."""
    account_list = [_from_environment(environ)]
    if environ.get("DATAHUB_SKIP_CONFIG", "").lower() not in ("1", "true"):
        account_list.append(_from_file(home / _FILE))
    login = _read_login(environ)
    if login:  # it beats the token of the file, too
        account_list = [
            account._replace(token=None, login=login)
            for account in account_list
            if account.server or account is account_list[0]
        ]
    return [account for account in account_list if account.server or account.token or account.login]


def _from_environment(environ: Mapping[str, str]) -> Account:
    host, port = environ.get("DATAHUB_GMS_HOST"), environ.get("DATAHUB_GMS_PORT")
    server = environ.get("DATAHUB_GMS_URL") or host
    origin = "env DATAHUB_GMS_URL" if environ.get("DATAHUB_GMS_URL") else "env DATAHUB_GMS_HOST"
    if host and port:
        server, origin = f"{environ.get('DATAHUB_GMS_PROTOCOL') or 'http'}://{host}:{port}", "env DATAHUB_GMS_HOST"
    token = environ.get("DATAHUB_GMS_TOKEN")
    name, secret = environ.get("DATAHUB_SYSTEM_CLIENT_ID"), environ.get("DATAHUB_SYSTEM_CLIENT_SECRET")
    if not token and name and secret:
        token = f"Basic {name}:{secret}"  # not in base64, because DataHub's own services send it so
    return Account(server or None, token or None, origin if server else "env DATAHUB_GMS_TOKEN")


def _read_login(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the login that ``DATAHUB_AUTH_TYPE`` configures, as fields of ``rest``; empty if it is not set."""
    kind = environ.get("DATAHUB_AUTH_TYPE")
    if not kind:
        return {}

    def required(name: str) -> str:
        value = environ.get(f"DATAHUB_AUTH_{name}")
        if not value:
            raise SettingsError(
                f"DATAHUB_AUTH_TYPE={kind} needs it", location=f"env DATAHUB_AUTH_{name}", remedy="set it"
            )
        return value

    optional = {name: environ.get(f"DATAHUB_AUTH_{name.upper()}") or None for name in ("scope", "audience")}
    if kind == "oidc_client_credentials":
        client = {"client_id": required("CLIENT_ID"), "client_secret": required("CLIENT_SECRET")}
        return {"oauth": {"token_endpoint": required("TOKEN_ENDPOINT"), **client, **optional}}
    if kind == "azure_entra":
        client = {"client_id": required("AZURE_CLIENT_ID"), "client_secret": required("AZURE_CLIENT_SECRET")}
        endpoint = _ENTRA_TOKEN_URL.format(required("AZURE_TENANT_ID"))
        return {"oauth": {"token_endpoint": endpoint, **client, "scope": required("AZURE_SCOPE")}}
    if kind == "k8s_oidc":
        return {"token_file": environ.get("DATAHUB_AUTH_TOKEN_FILE") or _DEFAULT_TOKEN_FILE}
    if kind == "pat":
        file, token = environ.get("DATAHUB_AUTH_TOKEN_FILE"), environ.get("DATAHUB_GMS_TOKEN")
        return {"token": token} if token and not file else {"token_file": required("TOKEN_FILE")}
    raise SettingsError(
        f"{kind!r} is not known",
        location="env DATAHUB_AUTH_TYPE",
        remedy="use oidc_client_credentials, azure_entra, k8s_oidc or pat",
    )


def _from_file(path: Path) -> Account:
    origin = f"~/{path.name}"
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Account(None, None, origin)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not YAML"
        raise SettingsError(
            f"cannot be read: {reason}", location=origin, remedy="run datahub init again, or correct the file"
        ) from error
    gms = document.get("gms") if isinstance(document, dict) else None
    section = gms if isinstance(gms, dict) else {}
    server, token = section.get("server"), section.get("token")
    return Account(server if isinstance(server, str) else None, token if isinstance(token, str) else None, origin)


def server_address(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address: two that have the same lead to one server."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", url, None
