"""One form for each namespace: what producers write in many ways is brought to the forms that ``mappings/naming`` has.

Source: the OpenLineage naming spec, and the spellings seen in producers' events.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.naming.schemes import bundled_schemes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.naming.schemes import SchemeTable

_SCHEMES_WITH_PORT = frozenset({"file", "hdfs", "ftp", "ftps", "sftp", "nfs", "smb"})  # "@" parts a user from a host
_CASE_SENSITIVE_SCHEMES = frozenset({"snowflake"})  # the account is a name, not a host
_PLUS_SCHEMES = frozenset({"mongodb+srv"})  # the only "+" that is no driver
_DRIVER_MANAGER = re.compile(r"\Ajdbc:(?:jtds:)?", re.IGNORECASE)
OPAQUE_SCHEMES = frozenset({"arn", "aws"})  # scheme:text:text, no URLs

_NO_PORT = re.compile(r":(?:None|null|NULL)?(?=,|$)")
_USER = re.compile(r"[^/?;,@:]*:(?!\d+(?:[/?;,]|$))")  # user:, not host:port
_SECRET = re.compile(
    r"[?;&](?=[^=;&?]{0,200}=)[^=;&?]{0,200}(?:passw|pwd|secret|token|sig|key|credential|odbc_connect)"
    r"|[,:/](?:passw|pwd|secret)\w*=",  # the first property of DB2's JDBC URLs, each one of Teradata's
    re.IGNORECASE,
)


class CanonicalNamespace(NamedTuple):
    """A namespace in its one form; ``path`` is what a file scheme has after its root (``s3://bucket``), "" for none.

    ``properties`` are the upper levels that properties of a connection URL name: ``first`` (database), ``second`` (schema).
    """

    text: str
    scheme: str
    root: str
    path: str
    properties: Mapping[str, str] = MappingProxyType({})


#: What may part the properties of a connection URL, and a value that can be the name of a database.
_PROPERTY = re.compile(r"[?;&,/]([A-Za-z][A-Za-z ]*)=([^?;&,/=]+)")


def _strip_user(address: str) -> str:
    """Return ``address`` (the part after ``//``) without ``user:password@`` or ``user@``.

    Whatever characters the password has.

    Everything up to the last ``@`` is removed: a path with an ``@`` is rarer than a password with a slash. The ``@`` of a
    property is no login: ``principal=hive/_HOST@REALM``.
    """
    head = address.split("?", 1)[0]
    if not _USER.match(address):
        head = head.split(";", 1)[0]
    elif "@" not in head:
        return address.rpartition("@")[2]
    return address[head.rindex("@") + 1 :] if "@" in head else address


def _strip_access_keys(scheme: str, address: str) -> str:
    """Return the ``address`` of a file scheme without access keys: no container has a colon before its ``@``."""
    authority = address.split("/", 1)[0] if scheme in _SCHEMES_WITH_PORT else address
    return _strip_user(address) if "@" in authority and ":" in authority.split("@", 1)[0] else address


def _strip_oracle_login(text: str) -> str:
    """Return ``text`` without the ``user/password`` of Oracle's ``thin:user/password@host``."""
    user, separator, host = text.rpartition("@")
    if not separator or user.endswith(":") or not re.search(r"[:/]", user):
        return text
    kind, colon, _ = user.partition("/")[0].rpartition(":")
    return f"{kind}{colon}@{host}"


def _keep_database_property(address: str) -> str:
    """Return ``address`` with no ``;key=value`` but that of the database (SQL Server's JDBC URLs)."""
    head, *properties = address.split(";")
    for text in properties:
        key, _, value = text.partition("=")
        name = {"database": "database", "databasename": "databaseName"}.get(key.strip().lower())
        if name and value:
            return f"{head};{name}={value}"
    return head


def _canonical_database(scheme: str, remainder: str) -> str:
    if remainder.startswith("//"):
        address = remainder[2:]
    elif remainder.startswith("/"):
        address = remainder[1:]
    else:
        return f"{scheme}:{_strip_oracle_login(remainder)}" if remainder else scheme
    address = _strip_user(address).split("?", 1)[0]
    if ";" in address:
        address = _keep_database_property(address)
    cut = min((position for position in (address.find("/"), address.find(";")) if position >= 0), default=len(address))
    authority = _NO_PORT.sub("", address[:cut])
    address = ((authority if scheme in _CASE_SENSITIVE_SCHEMES else authority.lower()) + address[cut:]).rstrip("/")
    return f"{scheme}://{address}" if address else scheme


def _canonical_file(scheme: str, remainder: str) -> CanonicalNamespace:
    if not remainder.startswith("//"):
        return CanonicalNamespace(
            f"{scheme}:{remainder}",
            scheme,
            scheme if remainder.strip("/") else f"{scheme}:{remainder}",
            remainder.strip("/"),
        )
    address = remainder[2:]
    address = _strip_access_keys(scheme, address)
    authority, _, path = address.partition("/")
    if authority.lower().endswith(".core.windows.net"):
        container, separator, host = authority.rpartition("@")
        authority = f"{container}{separator}{host.lower()}"
    root = f"{scheme}://{authority}"
    text = f"{root}/{path}" if path else root
    return CanonicalNamespace(text, scheme, root if authority or not path else scheme, path.strip("/"))


def canonical_namespace(namespace: str, schemes: SchemeTable | None = None) -> CanonicalNamespace:
    """Return the one form of ``namespace``: scheme in lower case, without credentials, query and port ``None``.

    Args:
        namespace: The namespace of a dataset, as sent.
        schemes: How schemes are spelled; by default the table that travels with the package.
    """
    schemes = schemes or bundled_schemes()
    text = _DRIVER_MANAGER.sub("", namespace.strip())
    head, colon, remainder = text.partition(":")
    scheme = head.lower()
    if not colon:
        scheme = schemes.aliases.get(scheme, scheme)
        return CanonicalNamespace(scheme, scheme, scheme, "")
    if scheme in OPAQUE_SCHEMES:
        return CanonicalNamespace(f"{scheme}:{remainder.rstrip('/')}", scheme, "", "")
    if "+" in scheme and scheme not in _PLUS_SCHEMES:
        scheme = scheme.split("+", 1)[0]
    scheme = schemes.aliases.get(scheme) or schemes.scheme_aliases.get(scheme, scheme)
    if scheme in schemes.files:
        return _canonical_file(scheme, remainder)
    properties = _upper_levels(remainder, schemes) if "=" in remainder else {}
    return CanonicalNamespace(_canonical_database(scheme, remainder), scheme, "", "", properties)


def _upper_levels(remainder: str, schemes: SchemeTable) -> dict[str, str]:
    """Return the levels that properties name, of several for one level the first."""
    levels: dict[str, str] = {}
    for key, value in _PROPERTY.findall(remainder):
        level = schemes.url_properties.get(key.strip().lower())
        if level is not None and value.strip():
            levels.setdefault(level, value.strip())
    return levels


def safe_namespace(namespace: str) -> str:
    """Return ``namespace`` fit to be shown: as given, but without credentials, and without a query that holds some."""
    if "@" not in namespace and "=" not in namespace:
        return namespace
    head, slashes, address = namespace.partition("://")
    if slashes:
        scheme = head.rpartition(":")[2].lower()
        if scheme in bundled_schemes().files:
            address = _strip_access_keys(scheme, address)
        elif _USER.match(address):
            address = address.rpartition("@")[2]  # rather too much than the tail of a password
        else:
            address = _strip_user(address)
        location, question, query = address.partition("?")
        address = location if "@" in query else location + question + query
    elif head.partition(":")[0].lower() not in bundled_schemes().files:
        head, slashes, address = namespace.partition(":")
        address = _strip_oracle_login(address)
    match = _SECRET.search(address)
    return head + slashes + (address[: match.start()] if match else address)


def split_hosts(text: str) -> list[str]:
    """Return the ``host:port`` texts of a list, in its order."""
    return [host for host in text.split(",") if host]


def split_host_port(text: str) -> tuple[str, str | None]:
    """Return the host and the port (None without one) of ``host:port``."""
    host, colon, port = text.rpartition(":")
    return (host, port) if colon and port.isdigit() else (text, None)


def namespace_variants(text: str, default_port: int | None) -> Iterator[str]:
    """Yield the forms of a canonical namespace that a user's rule may mean: each host of a list, with and without the default port."""
    yield text
    scheme, slashes, address = text.partition("://")
    if not slashes:
        return
    cut = min((position for position in (address.find("/"), address.find(";")) if position >= 0), default=len(address))
    host_list = split_hosts(address[:cut])
    for host in host_list:
        if len(host_list) > 1:
            yield f"{scheme}://{host}{address[cut:]}"
        name, port = split_host_port(host)
        if default_port is not None and port is None:
            yield f"{scheme}://{name}:{default_port}{address[cut:]}"
        elif port is not None and port == str(default_port):
            yield f"{scheme}://{name}{address[cut:]}"
