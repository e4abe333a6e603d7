"""The words of the naming systems that the user's rules and table may use: variants, opt-in systems, parts, files.

An unknown word would have no effect without an error, so it is rejected at the start with the list of known words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.naming.patterns import parts_of, tokenize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dh_bridge.naming.models import SymlinkPreference, System
    from dh_bridge.settings.naming import NamingSettings


def check_vocabulary(settings: NamingSettings, systems: Collection[System], preference: SymlinkPreference) -> None:
    """Raise a SettingsError for the first rule, or table, that names a variant, a system or a part that does not exist."""
    files = {system.id for system in systems}
    _reject_unknown(
        "mappings/tables/symlinks.yaml", "naming system", (preference.preferred | preference.over) - files, files
    )
    variants = {name for system in systems for name in system.variants}
    opt_in_systems = opt_in_names(systems)
    parts = _part_names(systems) if any(rule.parts for rule in settings.rules) else set()
    for index, rule in enumerate(settings.rules):
        location = f"naming.rules[{index}]"
        _reject_unknown(f"{location}.variants", "variant", rule.variants - variants, variants)
        _reject_unknown(f"{location}.select", "opt-in system", {rule.select} - {None} - opt_in_systems, opt_in_systems)
        _reject_unknown(f"{location}.parts", "part", rule.parts.keys() - parts, parts)


def opt_in_names(systems: Iterable[System]) -> set[str]:
    """Return the words by which systems are opted into, such as ``delta``."""
    return {system.select for system in systems if system.select is not None}


def _reject_unknown(
    location: str, subject: str, unknown_words: Collection[str | None], known_words: Collection[str]
) -> None:
    if unknown_words:
        listed_words = ", ".join(sorted(filter(None, unknown_words)))
        raise SettingsError(
            f"unknown {subject}: {listed_words}",
            location=location,
            remedy=f"use one of {', '.join(sorted(known_words))}",
        )


def _part_names(systems: Iterable[System]) -> set[str]:
    """Return the names of all parts that a namespace can have, or that a name, a container or an FQN uses."""
    return {
        part.name
        for system in systems
        for text in _pattern_texts(system)
        for part in parts_of(tokenize(text, system.id))
    }


def _pattern_texts(system: System) -> Iterator[str]:
    """Yield the patterns and templates of a system."""
    container_rows = [*system.containers]
    for namespace in system.namespaces:
        yield namespace.pattern
    for name in system.names:
        yield name.pattern
        yield name.dataset or ""
    for variant in system.variants.values():
        yield variant.dataset or ""
        container_rows += variant.containers or ()
    for container_row in container_rows:
        yield from container_row.fields.values()
    yield from system.fqn.values() if isinstance(system.fqn, dict) else ()
    yield system.dataset or ""
    yield system.instance or ""
