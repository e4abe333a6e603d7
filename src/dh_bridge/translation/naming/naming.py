"""The naming of datasets, compiled once: ``naming(namespace, name)``.

In this order: canonicalise the namespace, match it, read the name, case and trims, templates; the user's
rules last. Reverse look-up stands in ``reverse``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.bundled import table
from dh_bridge.translation.naming.models import System, systems
from dh_bridge.translation.naming.namespace_index import Directory, Match
from dh_bridge.translation.naming.namespaces import canonical, safe, variants
from dh_bridge.translation.naming.preference import preference
from dh_bridge.translation.naming.reader import Reader
from dh_bridge.translation.naming.reverse import Reverse
from dh_bridge.translation.naming.rules import Locations, Rule, rules
from dh_bridge.translation.naming.vocabulary import check
from dh_bridge.translation.naming.writing import Draft, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dh_bridge.settings.naming import NamingRule, NamingSettings
    from dh_bridge.translation.naming.name import Name

_NAMES = 65_536
_PLACES = 8_192
_LONG = 1_000  # characters of namespace and name; no URN has more than 512


class Place(NamedTuple):
    """A namespace, read: its shown form, the rows that it matches, the rules about it, the path under its root."""

    safe: str
    select: str | None
    matches: list[Match]
    rules: list[tuple[Rule, dict[str, str]]]
    root: str
    path: str


class Naming:
    """Names of datasets by ``settings`` and the naming systems, the user's ``overlay`` folder shadowing ours.

    A MappingError or SettingsError at construction names the file or key at fault. Answers are remembered
    (two generations of 65,536), but for those about hostile, long texts.
    """

    def __init__(self, settings: NamingSettings, overlay: Path | None = None) -> None:
        self._settings = settings
        self.preference = table("symlinks", preference, overlay)
        self._systems = systems(overlay)
        self._switches = frozenset({f"azure-{settings.azure}", f"local-files-{settings.local_files}"})
        self._readers = {system.id: Reader(system, self._switches) for system in self._systems}
        self._directory = Directory(self._readers.values())
        self._writer = Writer(settings, self._readers)
        self._rules = rules(settings.rules)
        self._locations = Locations(settings.locations)
        self._variants: dict[tuple[str, frozenset[str]], Reader] = {}
        self._places: dict[tuple[str, str | None], Place] = {}
        self._young: dict[tuple[str, ...], Name] = {}
        self._old: dict[tuple[str, ...], Name] = {}
        instances = {rule.platform_instance for rule in settings.rules if rule.platform_instance is not None}
        self._separators = {mark for system in self._systems for mark in system.separator or ()}
        self._reverse = Reverse(self._readers.values(), self, sorted(instances))
        check(settings, self._systems, self.preference)

    def __call__(self, namespace: str, name: str, *, select: str | None = None) -> Name:
        """Return what ``name`` in ``namespace`` is called; ``select`` opts into a system such as ``iceberg`` or ``delta``."""
        key = (namespace, name) if select is None else (namespace, name, select)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key) or self._name(namespace, name, select)
            if len(namespace) + len(name) < _LONG:
                if len(self._young) >= _NAMES:
                    self._old, self._young = self._young, {}
                self._young[key] = found
        return found

    def listed(self, namespace: str, name: str) -> Sequence[str]:
        """Return the names that ``name`` lists, itself but where its system has signs, ``separator``, between several."""
        for mark in self._separators:  # a generator would take longer than all of it: nearly no name holds one
            if mark in name:
                return self._split(namespace, name)
        return (name,)

    def _split(self, namespace: str, name: str) -> Sequence[str]:
        for match in self._place(namespace, None).matches:
            marks = match.reader.system.separator
            if marks and (names := [part.strip() for part in re.split(f"[{re.escape(marks)}]", name) if part.strip()]):
                return names
        return (name,)

    def reverse(self, text: str) -> list[tuple[str, str]]:
        """Return the (namespace, name) pairs that a dataset URN or an FQN can stand for.

        Only what the text itself says: none where it dropped the server. The catalogue's raw pairs are the caller's to ask.
        """
        return self._reverse(text)

    def systems(self) -> list[System]:
        """Return the naming systems, by the names of their files."""
        return self._systems

    # -- a namespace

    def _place(self, namespace: str, select: str | None) -> Place:
        key = (namespace, select)
        place = self._places.get(key)
        if place is None:
            place = self._read_namespace(namespace, select)
            if len(namespace) < _LONG:
                if len(self._places) >= _PLACES:
                    self._places.clear()
                self._places[key] = place
        return place

    def _read_namespace(self, namespace: str, select: str | None) -> Place:
        found = canonical(namespace)
        matches = self._directory.matches(found.text, found.scheme, select)
        forms = [namespace, namespace.strip(), *variants(found.text, _port(matches))]
        location = self._locations.canonical(forms)
        if location is not None:
            found = canonical(location)
            matches = self._directory.matches(found.text, found.scheme, select)
            forms += [location, *variants(found.text, _port(matches))]
        authority = found.text.removeprefix("hdfs://")
        if authority in self._settings.dbfs_workspaces:  # the old spec wrote DBFS so
            found = canonical(f"dbfs://{authority}")
            matches = self._directory.matches(found.text, found.scheme, select)
        about = [(rule, parts) for rule in self._rules if (parts := rule.namespace_parts(forms)) is not None]
        return Place(safe(namespace.strip()), select, matches, about, found.root, found.path)

    # -- a name

    def _name(self, namespace: str, name: str, select: str | None) -> Name:
        place = self._place(namespace, select)
        rule, parts = _rule(place, name) if place.rules else (None, {})
        if rule is None:
            return self._named(Draft(namespace, name, place.safe, None, "", self._settings.env), place, name)
        said = rule.said
        if said.select is not None and said.select != select:
            place = self._place(namespace, said.select)
        draft = Draft(namespace, name, place.safe, said, f"; {rule.text}", said.env or self._settings.env)
        if said.drop:
            reader = place.matches[0].reader if place.matches else None
            return self._writer.skipped(draft, reader, f"drop{draft.text}", f"filtered: {rule.text}")
        return self._named(draft, place, name if rule.rename is None else rule.rename.fill(parts))

    def _named(self, draft: Draft, place: Place, target: str) -> Name:
        rule = draft.rule
        if not (place.path and "/" in target):
            for match in place.matches:
                reader = match.reader if rule is None or not rule.variants else self._variant(match.reader, rule)
                given = match.parts if rule is None or not rule.parts else {**match.parts, **rule.parts}
                read = reader.read(target, given, rule.catalogs if rule is not None else ())
                if read is not None:
                    return self._writer.read(draft, match, read, target)
        if place.path and target.strip():  # the name belongs under the namespace's path
            inner = target.strip("/")
            under = inner if inner.startswith(f"{place.path}/") else f"{place.path}/{inner}"
            base = self._place(place.root, place.select)._replace(path="")
            if base.matches or (rule is not None and rule.platform is not None):
                return self._named(draft, base, under if inner else place.path)
        if place.matches:
            return self._writer.unread(draft, place.matches[0], target)
        return self._writer.unknown(draft, target)

    def _variant(self, reader: Reader, rule: NamingRule) -> Reader:
        key = (reader.id, rule.variants)
        if key not in self._variants:
            self._variants[key] = Reader(reader.system, self._switches | rule.variants)
        return self._variants[key]


def _rule(place: Place, name: str) -> tuple[Rule | None, dict[str, str]]:
    """Return the rule that the name falls under, the one with the most literal text, and the parts of its patterns."""
    for rule, parts in place.rules:
        more = rule.name_parts(name)
        if more is not None:
            return rule, {**parts, **more}
    return None, {}


def _port(matches: list[Match]) -> int | None:
    return matches[0].reader.system.default_port if matches else None
