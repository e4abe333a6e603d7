"""Reverse look-up: the possible OpenLineage pairs of a dataset URN or an FQN, from the text itself.

A URN can be reversed only if it contains all parts of the system's namespace (bucket, project, region …). Each candidate is
named forward again and must give the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import decode_part, is_urn, parse_urn
from dh_bridge.naming.namespaces import split_host_port
from dh_bridge.naming.patterns import (
    NOT_IN_NAMESPACE,
    NameTemplate,
    OptionalGroup,
    PatternPart,
    Token,
    parts_of,
    regex_source,
)
from dh_bridge.naming.reader import DATASET_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dh_bridge.naming.name import Name
    from dh_bridge.naming.reader import NameReader


class _ReverseLookup(NamedTuple):
    """The way back to one system: expressions over dataset names and the levels that they are of, templates of namespaces and of names by level."""

    reader: NameReader
    names: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    namespaces: tuple[NameTemplate, ...]
    name_templates: tuple[tuple[str, NameTemplate], ...]


def _pattern_tokens(row: Iterable[Token], rests: frozenset[str]) -> tuple[Token, ...]:
    """Return the tokens of a template as those of a pattern: no defaults, and ``{*rest}`` where the name pattern has it."""
    return tuple(
        OptionalGroup(_pattern_tokens(token.tokens, rests))
        if isinstance(token, OptionalGroup)
        else PatternPart(token.name, token.name in rests)
        if isinstance(token, PatternPart)
        else token
        for token in row
    )


def _compile_lookup(reader: NameReader) -> _ReverseLookup:
    location = f"mappings/naming/{reader.id}.yaml"
    rows = sorted(reader.system.namespaces, key=lambda row: row.form != "spec")
    namespaces = [NameTemplate(row.pattern, location) for row in rows]
    rests = frozenset(name_row.rest_part for name_row in reader.name_rows if name_row.rest_part is not None)
    names: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = ()
    if set(namespaces[0].names) <= set(reader.template.names) and reader.template.row and reader.system.select is None:
        shapes = [(reader.template.row, DATASET_LEVELS), *_short_name_shapes(reader, frozenset(namespaces[0].names))]
        if reader.instance is not None:
            shapes.insert(0, ((*reader.instance.row, ".", *reader.template.row), DATASET_LEVELS))
        names = tuple(
            (re.compile(regex_source(_pattern_tokens(row, rests), NOT_IN_NAMESPACE), re.DOTALL), levels)
            for row, levels in shapes
        )
    name_rows = sorted(reader.system.names, key=lambda row: row.form != "spec")
    forms = [(row.level, NameTemplate(row.pattern, location)) for row in name_rows if "{_}" not in row.pattern]
    return _ReverseLookup(reader, names, tuple(namespaces), tuple(forms))


def _short_name_shapes(
    reader: NameReader, namespace_parts: frozenset[str]
) -> Iterator[tuple[tuple[Token, ...], frozenset[str]]]:
    """Yield templates for names that are shorter than that of a table: the template up to the last part that they have."""
    row = reader.template.row
    for name_row in reader.name_rows:
        available_parts = namespace_parts | name_row.names
        ends = [
            position
            for position, token in enumerate(row, 1)
            if any(part.name in available_parts for part in parts_of([token]))
        ]
        if name_row.level not in {*DATASET_LEVELS, "skip"} and ends:
            yield row[: ends[-1]], frozenset({name_row.level})


class ReverseNaming:
    """The reverse of all ``readers``; ``naming`` checks whether a candidate leads to the same URN."""

    def __init__(
        self, readers: Iterable[NameReader], naming: Callable[[str, str], Name], instances: Iterable[str] = ()
    ) -> None:
        self._readers = tuple(readers)
        self._naming = naming
        self._instances = tuple(instances)
        self._lookups: tuple[_ReverseLookup, ...] | None = None

    def __call__(self, text: str) -> list[tuple[str, str]]:
        """Return the candidates for a dataset URN or an FQN, at most one of each system."""
        if self._lookups is None:
            self._lookups = tuple(_compile_lookup(reader) for reader in self._readers)
        if not text.startswith("urn:li:"):
            return [pair for lookup in self._lookups for pair in self._pairs_of_fqn(lookup, text)]
        if not text.startswith("urn:li:dataset:") or not is_urn(text):
            return []
        platform, name, _ = parse_urn(text)[1]
        name = decode_part(name)
        spellings = [
            *(name[len(instance) + 1 :] for instance in self._instances if name.startswith(f"{instance}.")),
            name,
        ]
        pairs = []
        for lookup in self._lookups:
            if f"urn:li:dataPlatform:{lookup.reader.platform}" == platform:
                pairs += self._pairs_of_name(lookup, spellings, text)
        return pairs

    def _pairs_of_name(self, lookup: _ReverseLookup, spellings: list[str], urn: str) -> list[tuple[str, str]]:
        for spelling in spellings:
            for pattern, levels in lookup.names:
                match = pattern.fullmatch(spelling)
                if match is not None:
                    values = {name: value for name, value in match.groupdict().items() if value is not None}
                    for pair in _pairs(lookup, levels, values):
                        resolved_name = self._naming(*pair)
                        if resolved_name.endpoint == urn and resolved_name.system == lookup.reader.id:
                            return [pair]
        return []

    def _pairs_of_fqn(self, lookup: _ReverseLookup, text: str) -> list[tuple[str, str]]:
        for level, template in lookup.reader.fqns.items():
            values = template.parts(text)
            if values is None:
                continue
            if "hostport" in values:
                host, port = split_host_port(values["hostport"])
                values |= {"host": host} | ({"port": port} if port is not None else {})
            for pair in _pairs(lookup, frozenset({level}), values):
                resolved_name = self._naming(*pair)
                if resolved_name.fqn == text and resolved_name.system == lookup.reader.id:
                    return [pair]
        return []


def _pairs(lookup: _ReverseLookup, levels: frozenset[str], values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    quoted = {
        name: '"' + value.replace('"', '""') + '"' if re.search(r'[."`\[]', value) else value
        for name, value in values.items()
    }
    for namespace in lookup.namespaces:
        namespace_text = namespace.fill_exactly(values)
        if namespace_text is None:
            continue
        for level, name_template in lookup.name_templates:
            if level in levels:
                for parts in (values, quoted):
                    name = name_template.fill_exactly(parts)
                    if name is not None:
                        yield namespace_text, name
