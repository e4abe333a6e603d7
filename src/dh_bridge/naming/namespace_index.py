"""Finds the system of a namespace: the pattern with the most literal text wins, then the order of the files."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.naming.namespaces import OPAQUE_SCHEMES, canonical_namespace, split_host_port, split_hosts
from dh_bridge.naming.patterns import NamingPattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.naming.namespaces import CanonicalNamespace
    from dh_bridge.naming.reader import NameReader
    from dh_bridge.naming.schemes import SchemeTable

_IS_PROPERTY = re.compile(r"[^=]*=").match


class CompiledNamespaceRow(NamedTuple):
    """A namespace pattern of a system."""

    pattern: NamingPattern
    reader: NameReader
    select: str | None
    lint: str | None


class NamespaceMatch(NamedTuple):
    """A namespace parsed by a row: its parts, and further parts for FQNs (``hostport``, the default port)."""

    reader: NameReader
    pattern: str
    parts: dict[str, str]
    fqn_parts: dict[str, str] | None
    lint: str | None


def _scheme(pattern: str) -> str:
    return pattern.split("{", 1)[0].partition(":")[0]


@lru_cache(maxsize=1_024)  # the bundled files have 300; all namings share what they compile
def _namespace_pattern(text: str, location: str) -> NamingPattern:
    return NamingPattern(text, location, namespace=True)


class NamespaceIndex:
    """All namespace patterns, by scheme."""

    def __init__(self, readers: Iterable[NameReader], schemes: SchemeTable) -> None:
        self._schemes = schemes
        self._rows: dict[str, list[CompiledNamespaceRow]] = {}
        #: systems for a namespace that is only a scheme, or that no pattern matches further
        self._readers: dict[str, NameReader] = {}
        platform_readers: dict[str, NameReader] = {}
        for reader in readers:
            location = f"mappings/naming/{reader.id}.yaml"
            for index, row in enumerate(reader.system.namespaces):
                text = row.pattern if "{" in row.pattern else canonical_namespace(row.pattern, schemes).text
                pattern = _namespace_pattern(text, location)
                compiled_row = CompiledNamespaceRow(pattern, reader, reader.system.select, row.lint)
                self._rows.setdefault(_scheme(text), []).append(compiled_row)
                if index == 0 and reader.system.select is None and _scheme(text) not in OPAQUE_SCHEMES:
                    self._readers.setdefault(_scheme(text), reader)
            platform = (reader.platform or "").lower()
            if (
                platform
                and reader.system.select is None
                and (platform not in platform_readers or reader.id == platform)
            ):
                platform_readers[platform] = reader
        self._readers = {**platform_readers, **self._readers}
        for rows in self._rows.values():
            rows.sort(key=lambda row: -row.pattern.literal_length)

    def matches(self, namespace: CanonicalNamespace, select: str | None) -> list[NamespaceMatch]:
        """Return the rows that match a namespace; several only if their patterns are equally specific.

        Systems with ``select:`` apply only on request, and then before all others. A known scheme belongs to its system
        whatever follows: path, authority and properties give the upper levels of the name, if the system's file declares them.
        """
        text, scheme = namespace.text, namespace.scheme
        rows = self._rows.get(scheme, ())
        if select is not None:
            selected_matches = _best_matches(text, [row for row in rows if row.select == select])
            if selected_matches:
                return selected_matches
        rows = [row for row in rows if row.select is None]
        if scheme in self._schemes.files:
            return _best_matches(text, rows) or (self._match_scheme(scheme) if text == scheme else [])
        base, path = _split_path(text)
        matches = _best_matches(text, rows)
        if matches:
            path = ""  # a pattern has read all of it
        elif path:
            matches = _best_matches(base, rows)
        matches = matches or self._match_scheme(scheme)
        return [self._add_levels(match, base, path, namespace.properties) for match in matches]

    def is_complete(self, namespace: CanonicalNamespace) -> bool:
        """Return whether a pattern reads the whole namespace: it names a server, and no dataset behind one."""
        rows = [row for row in self._rows.get(namespace.scheme, ()) if row.select is None]
        return bool(_best_matches(namespace.text, rows))

    def _match_scheme(self, scheme: str) -> list[NamespaceMatch]:
        reader = self._readers.get(scheme)
        if reader is None:
            return []
        return [NamespaceMatch(reader, scheme, {}, {}, None)]

    def _add_levels(self, match: NamespaceMatch, base: str, path: str, properties: Mapping[str, str]) -> NamespaceMatch:
        """Return ``match`` with the parts of the name that authority, path and properties of the namespace give."""
        levels = match.reader.system.levels
        parts: dict[str, str] = {}
        for tier, value in properties.items():
            parts.update(dict.fromkeys(match.reader.tier_names(tier), value))
        authority = base.partition("://")[2] or base.partition(":")[2]
        if levels.authority and authority and re.fullmatch(levels.form or ".+", authority):
            parts[levels.authority] = authority
        segments = path.split("/") if path else []
        if segments and len(segments) <= len(levels.path) and not self._schemes.is_api_path(path):
            parts.update(
                (name, segment)
                for name, segment in zip(levels.path, segments, strict=False)
                if segment and not _IS_PROPERTY(segment) and segment not in levels.ignored
            )
        if not parts:
            return match
        return match._replace(parts={**parts, **match.parts})


def _split_path(text: str) -> tuple[str, str]:
    """Return a canonical namespace without the path after its authority, and that path."""
    head, slashes, address = text.partition("//")
    cut = min((position for position in map(address.find, "/;") if position >= 0), default=len(address))
    if not slashes or cut == len(address):
        return text, ""
    return f"{head}//{address[:cut]}", address[cut:].partition(";")[0].strip("/")


def _best_matches(text: str, rows: Iterable[CompiledNamespaceRow]) -> list[NamespaceMatch]:
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
