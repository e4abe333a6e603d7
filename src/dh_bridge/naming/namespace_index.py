"""Which system a namespace belongs to: the pattern with the most literal text wins, then the order of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.naming.namespaces import canonical_namespace, split_host_port, split_hosts
from dh_bridge.naming.patterns import NamingPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.naming.reader import NameReader


class CompiledNamespaceRow(NamedTuple):
    """A namespace pattern of a system."""

    pattern: NamingPattern
    reader: NameReader
    select: str | None
    lint: str | None


class NamespaceMatch(NamedTuple):
    """A namespace read by a row: its parts, and those that FQNs know besides (``hostport``, the default port)."""

    reader: NameReader
    pattern: str
    parts: dict[str, str]
    fqn_parts: dict[str, str] | None
    lint: str | None


def _scheme(pattern: str) -> str:
    return pattern.split("{", 1)[0].partition(":")[0]


class NamespaceIndex:
    """All namespace patterns, by scheme."""

    def __init__(self, readers: Iterable[NameReader]) -> None:
        self._rows: dict[str, list[CompiledNamespaceRow]] = {}
        for reader in readers:
            location = f"mappings/naming/{reader.id}.yaml"
            for row in reader.system.namespaces:
                text = row.pattern if "{" in row.pattern else canonical_namespace(row.pattern).text
                compiled_row = CompiledNamespaceRow(
                    NamingPattern(text, location, namespace=True), reader, reader.system.select, row.lint
                )
                self._rows.setdefault(_scheme(text), []).append(compiled_row)
        for rows in self._rows.values():
            rows.sort(key=lambda row: -row.pattern.literal_length)

    def matches(self, text: str, scheme: str, select: str | None) -> list[NamespaceMatch]:
        """Return the rows that read the canonical namespace ``text``, several only where their patterns weigh the same.

        Systems with ``select:`` answer only when it is theirs, and then before all others.
        """
        rows = self._rows.get(scheme, ())
        if select is not None:
            selected_matches = _best_matches(text, [row for row in rows if row.select == select])
            if selected_matches:
                return selected_matches
        return _best_matches(text, [row for row in rows if row.select is None])


def _best_matches(text: str, rows: list[CompiledNamespaceRow]) -> list[NamespaceMatch]:
    matches: list[NamespaceMatch] = []
    best_literal = -1
    for row in rows:
        if row.pattern.literal_length < best_literal:
            break
        parts = row.pattern.match(text)
        if parts is not None and all(match.reader is not row.reader for match in matches):
            best_literal = row.pattern.literal_length
            matches.append(_build_match(row, parts, text))
    return matches


def _build_match(row: CompiledNamespaceRow, parts: dict[str, str], text: str) -> NamespaceMatch:
    system = row.reader.system
    if system.variants and "//" in text:
        parts["authority"] = text.split("/", 3)[2]
    if "hosts" in parts:  # the first host names the cluster
        host_list = split_hosts(parts.pop("hosts"))
        host, port = split_host_port(host_list[0] if host_list else "")
        parts |= {"host": host} | ({"port": port} if port else {})
    fqn_parts = dict(parts)
    port = parts.get("port") or (str(system.default_port) if system.default_port else None)
    if port:
        fqn_parts["port"] = port
    if "host" in parts:
        fqn_parts["hostport"] = f"{parts['host']}:{port}" if port else parts["host"]
    has_no_fqn = any(name in parts for name in system.fqn_not_with)
    return NamespaceMatch(row.reader, row.pattern.text, parts, None if has_no_fqn else fqn_parts, row.lint)
