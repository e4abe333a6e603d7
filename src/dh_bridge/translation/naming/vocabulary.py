"""The words that the user's rules and table may use of the naming systems: variants, opt-in systems, parts, files.

A word that no system has would do nothing, in silence: it is refused at the start, and those that there are are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.translation.naming.patterns import parts_of, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dh_bridge.settings.naming import NamingSettings
    from dh_bridge.translation.naming.models import System
    from dh_bridge.translation.naming.preference import Preference


def check(settings: NamingSettings, systems: Collection[System], preference: Preference) -> None:
    """Raise a SettingsError for the first rule, or table, that names a variant, a system or a part that does not exist."""
    files = {system.id for system in systems}
    _refuse("mappings/tables/symlinks.yaml", "naming system", (preference.preferred | preference.over) - files, files)
    variants = {name for system in systems for name in system.variants}
    chosen = selects(systems)
    parts = _parts(systems) if any(rule.parts for rule in settings.rules) else set()
    for index, rule in enumerate(settings.rules):
        where = f"naming.rules[{index}]"
        _refuse(f"{where}.variants", "variant", rule.variants - variants, variants)
        _refuse(f"{where}.select", "opt-in system", {rule.select} - {None} - chosen, chosen)
        _refuse(f"{where}.parts", "part", rule.parts.keys() - parts, parts)


def selects(systems: Iterable[System]) -> set[str]:
    """Return the words by which systems are opted into, such as ``delta``."""
    return {system.select for system in systems if system.select is not None}


def _refuse(where: str, what: str, wrong: Collection[str | None], known: Collection[str]) -> None:
    if wrong:
        said = ", ".join(sorted(filter(None, wrong)))
        raise SettingsError(f"no such {what}: {said}", where=where, now=f"one of {', '.join(sorted(known))}")


def _parts(systems: Iterable[System]) -> set[str]:
    """Return the names of all parts that a namespace can give, or that a name, a container or an FQN asks for."""
    return {part.name for system in systems for text in _texts(system) for part in parts_of(tokens(text, system.id))}


def _texts(system: System) -> Iterator[str]:
    """Yield the patterns and templates of a system."""
    shelves = [*system.containers]
    for namespace in system.namespaces:
        yield namespace.pattern
    for name in system.names:
        yield name.pattern
        yield name.dataset or ""
    for variant in system.variants.values():
        yield variant.dataset or ""
        shelves += variant.containers or ()
    for shelf in shelves:
        yield from shelf.fields.values()
    yield from system.fqn.values() if isinstance(system.fqn, dict) else ()
    yield system.dataset or ""
    yield system.instance or ""
