"""Namespaces that look like one place: one server under its name and its address, with and without its port."""

from __future__ import annotations

import ipaddress
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.learning.finding import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIKE_SCHEMES = {"https": "http"}
_LOCAL = "localhost"


class Address(NamedTuple):
    """A host as a namespace writes it; ``port`` is "" for none."""

    host: str
    port: str

    @property
    def is_number(self) -> bool:
        """Whether it is an IP address, or the machine itself: no name that tells one machine from another."""
        if self.host == _LOCAL:
            return True
        try:
            ipaddress.ip_address(self.host.strip("[]"))
        except ValueError:
            return False
        return True


class Url(NamedTuple):
    """A namespace with hosts: ``kafka://a:9092,b:9092``."""

    scheme: str
    addresses: tuple[Address, ...]
    rest: str


def url(namespace: str) -> Url | None:
    """Return the parts of a namespace, None when it names no host."""
    scheme, mark, body = namespace.partition("://")
    hosts, slash, path = body.partition("/")
    if not mark or not hosts or hosts.startswith("/"):
        return None
    scheme = scheme.lower()
    rest = f"/{path}".rstrip("/") if slash else ""
    return Url(_ALIKE_SCHEMES.get(scheme, scheme), tuple(map(_address, hosts.split(","))), rest)


def alike(one: str, other: str) -> str | None:
    """Return why two namespaces look like one place, None when they do not."""
    first, second = url(one), url(other)
    if first is None or second is None or (first.scheme, first.rest) != (second.scheme, second.rest):
        return None
    reasons = (_same(here, there) for here in first.addresses for there in second.addresses)
    return next((reason for reason in reasons if reason is not None), None)


def best(namespaces: Iterable[str], counts: dict[str, int]) -> str:
    """Return the spelling to keep: names before addresses, long before short, with a port, then the most seen."""
    return min(namespaces, key=lambda namespace: _rank(namespace, counts))


def groups(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the sets of what the pairs connect, each sorted."""
    group: dict[str, set[str]] = {}
    for pair in pairs:
        joined = set().union(*(group.get(member, {member}) for member in pair))
        for member in joined:
            group[member] = joined
    return [list(members) for members in sorted({tuple(sorted(members)) for members in group.values()})]


def unlike(group: Iterable[str]) -> str:
    """Return which two of a group do not look like one place themselves, "" where all do: an address may be either's."""
    pairs = (
        f", but {shown(one)} and {shown(other)} are not alike"
        for one, other in combinations(group, 2)
        if alike(one, other) is None
    )
    return next(pairs, "")


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.endswith("]")):
        return Address(host.lower(), port)
    return Address(text.lower(), "")


def _same(here: Address, there: Address) -> str | None:
    if here.port and there.port and here.port != there.port:
        return None
    with_port = "" if here.port == there.port else ", with and without its port"
    if here.host == there.host:
        return f"one host{with_port}"
    if here.is_number and there.is_number:
        return None
    if here.is_number or there.is_number:
        return f"a name and an address{with_port}"
    short, long = sorted((here.host, there.host), key=len)
    return f"a short and a full name{with_port}" if long.startswith(f"{short}.") else None


def _rank(namespace: str, counts: dict[str, int]) -> tuple[bool, int, bool, int, str]:
    found = url(namespace)
    first = found.addresses[0] if found is not None else Address(namespace, "")
    return first.is_number, -first.host.count("."), not first.port, -counts.get(namespace, 0), namespace
