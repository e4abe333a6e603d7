"""Which system a namespace belongs to: the pattern with the most literal text wins, then the order of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.naming.namespaces import canonical, host_and_port, hosts
from dh_bridge.translation.naming.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.translation.naming.reader import Reader


class Row(NamedTuple):
    """A namespace pattern of a system."""

    pattern: Pattern
    reader: Reader
    select: str | None
    lint: str | None


class Match(NamedTuple):
    """A namespace read by a row: its parts, and those that FQNs know besides (``hostport``, the default port)."""

    reader: Reader
    pattern: str
    parts: dict[str, str]
    fqn_parts: dict[str, str] | None
    lint: str | None


def _scheme(pattern: str) -> str:
    return pattern.split("{", 1)[0].partition(":")[0]


class Directory:
    """All namespace patterns, by scheme."""

    def __init__(self, readers: Iterable[Reader]) -> None:
        self._rows: dict[str, list[Row]] = {}
        for reader in readers:
            where = f"mappings/naming/{reader.id}.yaml"
            for row in reader.system.namespaces:
                text = row.pattern if "{" in row.pattern else canonical(row.pattern).text
                made = Row(Pattern(text, where, namespace=True), reader, reader.system.select, row.lint)
                self._rows.setdefault(_scheme(text), []).append(made)
        for rows in self._rows.values():
            rows.sort(key=lambda row: -row.pattern.literal)

    def matches(self, text: str, scheme: str, select: str | None) -> list[Match]:
        """Return the rows that read the canonical namespace ``text``, several only where their patterns weigh the same.

        Systems with ``select:`` answer only when it is theirs, and then before all others.
        """
        rows = self._rows.get(scheme, ())
        if select is not None:
            chosen = _best(text, [row for row in rows if row.select == select])
            if chosen:
                return chosen
        return _best(text, [row for row in rows if row.select is None])


def _best(text: str, rows: list[Row]) -> list[Match]:
    found: list[Match] = []
    most = -1
    for row in rows:
        if row.pattern.literal < most:
            break
        parts = row.pattern.match(text)
        if parts is not None and all(match.reader is not row.reader for match in found):
            most = row.pattern.literal
            found.append(_match(row, parts, text))
    return found


def _match(row: Row, parts: dict[str, str], text: str) -> Match:
    system = row.reader.system
    if system.variants and "//" in text:
        parts["authority"] = text.split("/", 3)[2]
    if "hosts" in parts:  # the first host names the cluster
        several = hosts(parts.pop("hosts"))
        host, port = host_and_port(several[0] if several else "")
        parts |= {"host": host} | ({"port": port} if port else {})
    extra = dict(parts)
    port = parts.get("port") or (str(system.default_port) if system.default_port else None)
    if port:
        extra["port"] = port
    if "host" in parts:
        extra["hostport"] = f"{parts['host']}:{port}" if port else parts["host"]
    refused = any(name in parts for name in system.fqn_not_with)
    return Match(row.reader, row.pattern.text, parts, None if refused else extra, row.lint)
