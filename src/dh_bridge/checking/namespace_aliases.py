"""Namespaces that look like one server: by name and by address, with and without port."""

from __future__ import annotations

import ipaddress
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.checking.finding import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCHEME_ALIASES = {"https": "http"}
_LOCAL = "localhost"


class HostAddress(NamedTuple):
    """A host as a namespace writes it; ``port`` is "" for none."""

    host: str
    port: str

    @property
    def is_numeric(self) -> bool:
        """Whether it is an IP address, or the machine itself, and so does not identify a machine."""
        if self.host == _LOCAL:
            return True
        try:
            ipaddress.ip_address(self.host.strip("[]"))
        except ValueError:
            return False
        return True


class NamespaceUrl(NamedTuple):
    """A namespace with hosts: ``kafka://a:9092,b:9092``."""

    scheme: str
    addresses: tuple[HostAddress, ...]
    path: str


def parse_namespace_url(namespace: str) -> NamespaceUrl | None:
    """Return the parts of a namespace, None if it has no host."""
    scheme, separator, address = namespace.partition("://")
    hosts, slash, path = address.partition("/")
    if not separator or not hosts or hosts.startswith("/"):
        return None
    scheme = scheme.lower()
    path_suffix = f"/{path}".rstrip("/") if slash else ""
    return NamespaceUrl(_SCHEME_ALIASES.get(scheme, scheme), tuple(map(_parse_address, hosts.split(","))), path_suffix)


def alias_reason(namespace: str, other_namespace: str) -> str | None:
    """Return why two namespaces look like one server, None if they do not."""
    namespace_url, other_url = parse_namespace_url(namespace), parse_namespace_url(other_namespace)
    if (
        namespace_url is None
        or other_url is None
        or (namespace_url.scheme, namespace_url.path) != (other_url.scheme, other_url.path)
    ):
        return None
    reasons = (
        _address_alias_reason(address, other_address)
        for address in namespace_url.addresses
        for other_address in other_url.addresses
    )
    return next((reason for reason in reasons if reason is not None), None)


def best_spelling(namespaces: Iterable[str], counts: dict[str, int]) -> str:
    """Return the spelling to keep: names before addresses, long before short, with a port, then the most seen."""
    return min(namespaces, key=lambda namespace: _rank(namespace, counts))


def connected_groups(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the connected sets of the pairs, each sorted."""
    group: dict[str, set[str]] = {}
    for pair in pairs:
        merged_group = set().union(*(group.get(member, {member}) for member in pair))
        for member in merged_group:
            group[member] = merged_group
    return [list(members) for members in sorted({tuple(sorted(members)) for members in group.values()})]


def unlike_pair_text(group: Iterable[str]) -> str:
    """Return two namespaces of a group that do not look like one server, "" if all do: an address may belong to either."""
    pairs = (
        f", but {one_line(first)} and {one_line(second)} do not look alike"
        for first, second in combinations(group, 2)
        if alias_reason(first, second) is None
    )
    return next(pairs, "")


def _parse_address(text: str) -> HostAddress:
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.endswith("]")):
        return HostAddress(host.lower(), port)
    return HostAddress(text.lower(), "")


def _address_alias_reason(address: HostAddress, other_address: HostAddress) -> str | None:
    if address.port and other_address.port and address.port != other_address.port:
        return None
    with_port = "" if address.port == other_address.port else ", with and without its port"
    if address.host == other_address.host:
        return f"the same host{with_port}"
    if address.is_numeric and other_address.is_numeric:
        return None
    if address.is_numeric or other_address.is_numeric:
        return f"a host name and an IP address{with_port}"
    short_host, long_host = sorted((address.host, other_address.host), key=len)
    return f"a short and a full host name{with_port}" if long_host.startswith(f"{short_host}.") else None


def _rank(namespace: str, counts: dict[str, int]) -> tuple[bool, int, bool, int, str]:
    namespace_url = parse_namespace_url(namespace)
    first_address = namespace_url.addresses[0] if namespace_url is not None else HostAddress(namespace, "")
    return (
        first_address.is_numeric,
        -first_address.host.count("."),
        not first_address.port,
        -counts.get(namespace, 0),
        namespace,
    )
