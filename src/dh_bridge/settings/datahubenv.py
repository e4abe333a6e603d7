"""Where DataHub's own tools find the server and the token: ``DATAHUB_GMS_*`` and ``~/.datahubenv``.

As acryl-datahub's ``config_utils``: the environment is asked first; ``DATAHUB_GMS_HOST`` and ``_PORT`` beat the URL when there
is a port; ``DATAHUB_SKIP_CONFIG`` leaves the file out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FILE = ".datahubenv"
_PORTS = {"http": 80, "https": 443}


class Account(NamedTuple):
    """A server, the token for it, and who said so; None for what nobody said."""

    server: str | None
    token: str | None
    origin: str

    def token_for(self, server: str) -> str | None:
        """Return the token if it may be shown to ``server``: one that was said for another server may not."""
        return self.token if self.server is None or _place(server) == _place(self.server) else None


def accounts(environ: Mapping[str, str], home: Path) -> list[Account]:
    """Return what the environment says and what the file says, in this order; a SettingsError when the file is broken."""
    found = [_from_environment(environ)]
    if environ.get("DATAHUB_SKIP_CONFIG", "").lower() not in ("1", "true"):
        found.append(_from_file(home / _FILE))
    return [one for one in found if one.server or one.token]


def _from_environment(environ: Mapping[str, str]) -> Account:
    host, port = environ.get("DATAHUB_GMS_HOST"), environ.get("DATAHUB_GMS_PORT")
    server = environ.get("DATAHUB_GMS_URL") or host
    origin = "env DATAHUB_GMS_URL" if environ.get("DATAHUB_GMS_URL") else "env DATAHUB_GMS_HOST"
    if host and port:
        server, origin = f"{environ.get('DATAHUB_GMS_PROTOCOL') or 'http'}://{host}:{port}", "env DATAHUB_GMS_HOST"
    token = environ.get("DATAHUB_GMS_TOKEN")
    name, secret = environ.get("DATAHUB_SYSTEM_CLIENT_ID"), environ.get("DATAHUB_SYSTEM_CLIENT_SECRET")
    if not token and name and secret:
        token = f"Basic {name}:{secret}"  # as it stands, not in base64: so DataHub's own services send it
    return Account(server or None, token or None, origin if server else "env DATAHUB_GMS_TOKEN")


def _from_file(path: Path) -> Account:
    origin = f"~/{path.name}"
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Account(None, None, origin)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not YAML"
        raise SettingsError(
            f"cannot be read: {what}", where=origin, now="run datahub init again, or mend it"
        ) from error
    gms = document.get("gms") if isinstance(document, dict) else None
    said = gms if isinstance(gms, dict) else {}
    server, token = said.get("server"), said.get("token")
    return Account(server if isinstance(server, str) else None, token if isinstance(token, str) else None, origin)


def _place(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", url, None
