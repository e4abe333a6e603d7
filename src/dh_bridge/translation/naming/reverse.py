"""Reverse look-up: the OpenLineage pairs that a dataset URN or an FQN can stand for, by what the text itself says.

A URN is turned round only where it keeps what the system's namespace says (bucket, project, region …). Each
candidate was named forward again and gave the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import decode, is_urn, parse
from dh_bridge.translation.naming.namespaces import host_and_port
from dh_bridge.translation.naming.patterns import NOT_IN_NAMESPACE, Group, Part, Template, Token, expression, parts_of
from dh_bridge.translation.naming.reader import DATASET_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dh_bridge.translation.naming.name import Name
    from dh_bridge.translation.naming.reader import Reader


class _Way(NamedTuple):
    """The way back to one system: expressions over dataset names and the levels that they are of, templates of namespaces and of names by level."""

    reader: Reader
    names: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    namespaces: tuple[Template, ...]
    forms: tuple[tuple[str, Template], ...]


def _open(row: Iterable[Token], rests: frozenset[str]) -> tuple[Token, ...]:
    """Return the tokens of a template as those of a pattern: no defaults, and ``{*rest}`` where the name pattern has it."""
    return tuple(
        Group(_open(token.tokens, rests))
        if isinstance(token, Group)
        else Part(token.name, token.name in rests)
        if isinstance(token, Part)
        else token
        for token in row
    )


def _way(reader: Reader) -> _Way:
    where = f"mappings/naming/{reader.id}.yaml"
    rows = sorted(reader.system.namespaces, key=lambda row: row.form != "spec")
    namespaces = [Template(row.pattern, where) for row in rows]
    rests = frozenset(entry.rest for entry in reader.entries if entry.rest is not None)
    names: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = ()
    if set(namespaces[0].names) <= set(reader.template.names) and reader.template.row and reader.system.select is None:
        shapes = [(reader.template.row, DATASET_LEVELS), *_short(reader, frozenset(namespaces[0].names))]
        if reader.instance is not None:
            shapes.insert(0, ((*reader.instance.row, ".", *reader.template.row), DATASET_LEVELS))
        names = tuple(
            (re.compile(expression(_open(row, rests), NOT_IN_NAMESPACE), re.DOTALL), levels) for row, levels in shapes
        )
    said = sorted(reader.system.names, key=lambda row: row.form != "spec")
    forms = [(row.level, Template(row.pattern, where)) for row in said if "{_}" not in row.pattern]
    return _Way(reader, names, tuple(namespaces), tuple(forms))


def _short(reader: Reader, given: frozenset[str]) -> Iterator[tuple[tuple[Token, ...], frozenset[str]]]:
    """Yield what stands for names that stop short of a table: the template up to the last part that they have."""
    row = reader.template.row
    for entry in reader.entries:
        said = given | entry.names
        ends = [at for at, token in enumerate(row, 1) if any(part.name in said for part in parts_of([token]))]
        if entry.level not in {*DATASET_LEVELS, "skip"} and ends:
            yield row[: ends[-1]], frozenset({entry.level})


class Reverse:
    """The ways back of all ``readers``; ``naming`` is asked whether a candidate leads forward again."""

    def __init__(
        self, readers: Iterable[Reader], naming: Callable[[str, str], Name], instances: Iterable[str] = ()
    ) -> None:
        self._readers = tuple(readers)
        self._naming = naming
        self._instances = tuple(instances)
        self._ways: tuple[_Way, ...] | None = None

    def __call__(self, text: str) -> list[tuple[str, str]]:
        """Return the candidates for a dataset URN or an FQN, at most one of each system."""
        if self._ways is None:
            self._ways = tuple(_way(reader) for reader in self._readers)
        if not text.startswith("urn:li:"):
            return [pair for way in self._ways for pair in self._of_fqn(way, text)]
        if not text.startswith("urn:li:dataset:") or not is_urn(text):
            return []
        platform, name, _ = parse(text)[1]
        name = decode(name)
        spellings = [
            *(name[len(instance) + 1 :] for instance in self._instances if name.startswith(f"{instance}.")),
            name,
        ]
        found = []
        for way in self._ways:
            if f"urn:li:dataPlatform:{way.reader.platform}" == platform:
                found += self._of_name(way, spellings, text)
        return found

    def _of_name(self, way: _Way, spellings: list[str], urn: str) -> list[tuple[str, str]]:
        for spelling in spellings:
            for pattern, levels in way.names:
                said = pattern.fullmatch(spelling)
                if said is not None:
                    values = {name: value for name, value in said.groupdict().items() if value is not None}
                    for pair in _pairs(way, levels, values):
                        named = self._naming(*pair)
                        if named.endpoint == urn and named.system == way.reader.id:
                            return [pair]
        return []

    def _of_fqn(self, way: _Way, text: str) -> list[tuple[str, str]]:
        for level, template in way.reader.fqns.items():
            values = template.parts(text)
            if values is None:
                continue
            if "hostport" in values:
                host, port = host_and_port(values["hostport"])
                values |= {"host": host} | ({"port": port} if port is not None else {})
            for pair in _pairs(way, frozenset({level}), values):
                named = self._naming(*pair)
                if named.fqn == text and named.system == way.reader.id:
                    return [pair]
        return []


def _pairs(way: _Way, levels: frozenset[str], values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    quoted = {
        name: '"' + value.replace('"', '""') + '"' if re.search(r'[."`\[]', value) else value
        for name, value in values.items()
    }
    for namespace in way.namespaces:
        filled = namespace.exact(values)
        if filled is None:
            continue
        for level, form in way.forms:
            if level in levels:
                for parts in (values, quoted):
                    name = form.exact(parts)
                    if name is not None:
                        yield filled, name
