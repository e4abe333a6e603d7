"""One form for each namespace: what producers write in many ways is brought to the forms that ``mappings/naming`` has.

Source: the OpenLineage naming spec, and the spellings seen in producers' events.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Schemes of files: "@" parts container and account (bucket and tenancy), "file:/data/x" is a path, HDFS name services have a case.
FILE_SCHEMES = frozenset(
    {"file", "dbfs", "hdfs", "s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs", "oci"}
)
_PORTS = frozenset({"file", "hdfs"})
_CASED = frozenset({"snowflake"})  # the account is a name, not a host
_PLUS = frozenset({"mongodb+srv"})  # the only "+" that is no driver
_SPELLINGS = {"postgresql": "postgres", "ch": "clickhouse", "clickhousedb": "clickhouse"}
_NAMES = frozenset({"arn", "aws"})  # scheme:text:text, no URLs

_NO_PORT = re.compile(r":(?:None|null|NULL)?(?=,|$)")
_USER = re.compile(r"[^/?;,@:]*:(?!\d+(?:[/?;,]|$))")  # user:, not host:port
_SECRET = re.compile(
    r"[?;&](?=[^=;&?]*=)[^=;&?]*(?:passw|pwd|secret|token|sig|key|credential|odbc_connect)"
    r"|[,:/](?:passw|pwd|secret)\w*=",  # the first property of DB2's JDBC URLs, each one of Teradata's
    re.IGNORECASE,
)


class Canonical(NamedTuple):
    """A namespace in its one form; ``path`` is what a file scheme has after its root (``s3://bucket``), "" for none."""

    text: str
    scheme: str
    root: str
    path: str


def _without_user(body: str) -> str:
    """Return ``body`` (what follows ``//``) without ``user:password@``, whatever the password holds, or ``user@``.

    All up to the last ``@`` goes: a path with an ``@`` is rarer than a password with a slash. That of a property is none, where
    nobody logs in: ``principal=hive/_HOST@REALM``.
    """
    head = body.split("?", 1)[0]
    if not _USER.match(body):
        head = head.split(";", 1)[0]
    elif "@" not in head:
        return body.rpartition("@")[2]
    return body[head.rindex("@") + 1 :] if "@" in head else body


def _without_keys(scheme: str, body: str) -> str:
    """Return the ``body`` of a file scheme without access keys: no container has a colon before its ``@``."""
    said = body.split("/", 1)[0] if scheme in _PORTS else body
    return _without_user(body) if "@" in said and ":" in said.split("@", 1)[0] else body


def _opaque(text: str) -> str:
    """Return ``text`` without the ``user/password`` of Oracle's ``thin:user/password@host``."""
    user, at, host = text.rpartition("@")
    if not at or user.endswith(":") or not re.search(r"[:/]", user):
        return text
    kind, colon, _ = user.partition("/")[0].rpartition(":")
    return f"{kind}{colon}@{host}"


def _properties(body: str) -> str:
    """Return ``body`` with no ``;key=value`` but that of the database (SQL Server's JDBC URLs)."""
    head, *rest = body.split(";")
    for text in rest:
        key, _, value = text.partition("=")
        name = {"database": "database", "databasename": "databaseName"}.get(key.strip().lower())
        if name and value:
            return f"{head};{name}={value}"
    return head


def _database(scheme: str, rest: str) -> str:
    if rest.startswith("//"):
        body = rest[2:]
    elif rest.startswith("/"):
        body = rest[1:]
    else:
        return f"{scheme}:{_opaque(rest)}" if rest else scheme
    body = _without_user(body).split("?", 1)[0]
    if ";" in body:
        body = _properties(body)
    cut = min((at for at in (body.find("/"), body.find(";")) if at >= 0), default=len(body))
    authority = _NO_PORT.sub("", body[:cut])
    body = ((authority if scheme in _CASED else authority.lower()) + body[cut:]).rstrip("/")
    return f"{scheme}://{body}" if body else scheme


def _file(scheme: str, rest: str) -> Canonical:
    if not rest.startswith("//"):
        return Canonical(f"{scheme}:{rest}", scheme, scheme if rest.strip("/") else f"{scheme}:{rest}", rest.strip("/"))
    body = rest[2:]
    body = _without_keys(scheme, body)
    authority, _, path = body.partition("/")
    if authority.lower().endswith(".core.windows.net"):
        container, at, host = authority.rpartition("@")
        authority = f"{container}{at}{host.lower()}"
    root = f"{scheme}://{authority}"
    text = f"{root}/{path}" if path else root
    return Canonical(text, scheme, root if authority or not path else scheme, path.strip("/"))


def canonical(namespace: str) -> Canonical:
    """Return the one form of ``namespace``: scheme in lower case, without credentials, query and port ``None``."""
    text = namespace.strip()
    if text[:5].lower() == "jdbc:":
        text = text[5:]
    head, colon, rest = text.partition(":")
    scheme = head.lower()
    if not colon:
        return Canonical(scheme, scheme, scheme, "")
    if scheme in _NAMES:
        return Canonical(f"{scheme}:{rest}", scheme, "", "")
    if "+" in scheme and scheme not in _PLUS:
        scheme = scheme.split("+", 1)[0]
    scheme = _SPELLINGS.get(scheme, scheme)
    if scheme in FILE_SCHEMES:
        return _file(scheme, rest)
    return Canonical(_database(scheme, rest), scheme, "", "")


def safe(namespace: str) -> str:
    """Return ``namespace`` fit to be shown: as given, but without credentials, and without a query that holds some."""
    if "@" not in namespace and "=" not in namespace:
        return namespace
    head, slashes, body = namespace.partition("://")
    if slashes:
        scheme = head.rpartition(":")[2].lower()
        if scheme in FILE_SCHEMES:
            body = _without_keys(scheme, body)
        elif _USER.match(body):
            body = body.rpartition("@")[2]  # rather too much than the tail of a password
        else:
            body = _without_user(body)
        place, question, query = body.partition("?")
        body = place if "@" in query else place + question + query
    elif head.partition(":")[0].lower() not in FILE_SCHEMES:
        head, slashes, body = namespace.partition(":")
        body = _opaque(body)
    found = _SECRET.search(body)
    return head + slashes + (body[: found.start()] if found else body)


def hosts(text: str) -> list[str]:
    """Return the ``host:port`` texts of a list, in its order."""
    return [host for host in text.split(",") if host]


def host_and_port(text: str) -> tuple[str, str | None]:
    """Return the host and the port (None without one) of ``host:port``."""
    host, colon, port = text.rpartition(":")
    return (host, port) if colon and port.isdigit() else (text, None)


def variants(text: str, default_port: int | None) -> Iterator[str]:
    """Yield the forms of a canonical namespace that a user's rule may mean: each host of a list, with and without the default port."""
    yield text
    scheme, slashes, body = text.partition("://")
    if not slashes:
        return
    cut = min((at for at in (body.find("/"), body.find(";")) if at >= 0), default=len(body))
    several = hosts(body[:cut])
    for host in several:
        if len(several) > 1:
            yield f"{scheme}://{host}{body[cut:]}"
        name, port = host_and_port(host)
        if default_port is not None and port is None:
            yield f"{scheme}://{name}:{default_port}{body[cut:]}"
        elif port is not None and port == str(default_port):
            yield f"{scheme}://{name}{body[cut:]}"
