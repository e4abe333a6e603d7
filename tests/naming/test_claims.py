"""No name is claimed by two systems: not by the examples, not by any namespace and name that the patterns generate."""

from __future__ import annotations

from itertools import product

import pytest

from dh_bridge.naming import Naming
from dh_bridge.naming.patterns import OptionalGroup, PatternPart, tokenize
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())
SYSTEMS = {system.id: system for system in NAMING.systems()}
VALUES = {
    "port": "1234",
    "host": "h.example.com",
    "region": "us-west-2",
    "hosts": "h1:1234,h2:1234",
    "account": "123456789012",
}


def claimants(namespace: str, name: str, select: str | None) -> set[str]:
    """Return the systems whose namespace and name patterns both fit, at the weight that decides."""
    place = NAMING._parse_namespace(namespace, select)
    return {match.reader.id for match in place.matches if match.reader.read(name, match.parts) is not None}


def texts(pattern: str) -> list[str]:
    """Return a text for each way to leave out the optional groups of ``pattern``."""

    def made(row) -> list[str]:
        choices = []
        for token in row:
            if isinstance(token, OptionalGroup):
                choices.append(["", *made(token.tokens)])
            elif isinstance(token, PatternPart):
                choices.append([token.value or VALUES.get(token.name, f"x{token.name.strip('_')}")])
            else:
                choices.append([token])
        return ["".join(choice) for choice in product(*choices)]

    return made(tokenize(pattern, pattern))


PAIRS = [
    (system.id, namespace, name, system.select)
    for system in SYSTEMS.values()
    for row in system.namespaces
    for namespace in texts(row.pattern)
    for entry in system.names
    for name in texts(entry.pattern)
]


def test_patterns_make_hundreds_of_pairs():
    assert len(PAIRS) > 500
    assert {pair[0] for pair in PAIRS} == set(SYSTEMS)


@pytest.mark.parametrize("stem", SYSTEMS)
def test_generated_names_match_only_their_own_system(stem):
    for _, namespace, name, select in [pair for pair in PAIRS if pair[0] == stem]:
        assert claimants(namespace, name, select) <= {stem}, (namespace, name)
        assert NAMING(namespace, name, select=select).system == stem, (namespace, name)


@pytest.mark.parametrize("stem", SYSTEMS)
def test_each_namespace_pattern_is_read_by_its_own_system(stem):
    for row in SYSTEMS[stem].namespaces:
        for namespace in texts(row.pattern):
            matches = NAMING._parse_namespace(namespace, SYSTEMS[stem].select).matches
            assert stem in {match.reader.id for match in matches}, namespace


def test_select_system_never_answers_unasked():
    for stem, namespace, name, select in PAIRS:
        if select is not None:
            assert NAMING(namespace, name).system != stem
