"""The naming of datasets, compiled once: ``naming(namespace, name)``.

The order of systems.md 2: canonicalise the namespace, match it, read the name, case and trims, templates; the user's
rules last. Reverse look-up stands in ``reverse``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import EventError, MappingError, SettingsError
from dh_bridge.translation.naming.completion import complete
from dh_bridge.translation.naming.directory import Directory, Match
from dh_bridge.translation.naming.name import Name
from dh_bridge.translation.naming.namespaces import canonical, safe, variants
from dh_bridge.translation.naming.reader import DATASET_LEVELS, Reader, Reading
from dh_bridge.translation.naming.reverse import Reverse
from dh_bridge.translation.naming.rules import FIRST_TIER, Locations, Rule, rules
from dh_bridge.translation.naming.sheets import System, systems
from dh_bridge.translation.naming.trims import case_of, fitted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dh_bridge.settings.naming import NamingRule, NamingSettings

_NAMES = 65_536
_PLACES = 8_192
_UNKNOWN = "unknown"
_MALFORMED = "malformed"


class Place(NamedTuple):
    """A namespace, read: its shown form, the rows that it matches, the rules about it, the path under its root."""

    safe: str
    matches: list[Match]
    rules: list[tuple[Rule, dict[str, str]]]
    root: str
    path: str


class Draft(NamedTuple):
    """The first fields of a :class:`Name`, and the rule that takes part."""

    namespace: str
    name: str
    safe: str
    rule: NamingRule | None
    text: str
    env: str


class Naming:
    """Names of datasets by ``settings`` and the naming systems, the user's ``overlay`` folder shadowing ours.

    A MappingError or SettingsError at construction names the file or key at fault. Answers are remembered
    (two generations of 65,536).
    """

    def __init__(self, settings: NamingSettings, overlay: Path | None = None) -> None:
        self._settings = settings
        self._systems = systems(overlay)
        switches = frozenset({f"azure-{settings.azure}", f"local-files-{settings.local_files}"})
        self._switches = switches
        self._readers = {system.id: Reader(system, switches) for system in self._systems}
        self._directory = Directory(self._readers.values())
        self._rules = rules(settings.rules)
        self._locations = Locations(settings.locations)
        self._variants: dict[tuple[str, frozenset[str]], Reader] = {}
        self._places: dict[tuple[str, str | None], Place] = {}
        self._young: dict[tuple[str, str] | tuple[str, str, str], Name] = {}
        self._old: dict[tuple[str, str] | tuple[str, str, str], Name] = {}
        instances = {rule.platform_instance for rule in settings.rules if rule.platform_instance is not None}
        self._reverse = Reverse(self._readers.values(), self, sorted(instances))
        known = {name for system in self._systems for name in system.variants}
        for index, rule in enumerate(settings.rules):
            if not rule.variants <= known:
                wrong = ", ".join(sorted(rule.variants - known))
                raise SettingsError(f"no such variant: {wrong}", where=f"naming.rules[{index}].variants", now=f"one of {', '.join(sorted(known))}")

    def __call__(self, namespace: str, name: str, *, select: str | None = None) -> Name:
        """Return what ``name`` in ``namespace`` is called; ``select`` opts into a system such as ``iceberg`` or ``delta``.

        An EventError for an unknown namespace where the settings say ``unknown: fail``.
        """
        key = (namespace, name) if select is None else (namespace, name, select)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key) or self._name(namespace, name, select)
            if len(self._young) >= _NAMES:
                self._old, self._young = self._young, {}
            self._young[key] = found
        return found

    def reverse(self, text: str) -> list[tuple[str, str]]:
        """Return the (namespace, name) pairs that a dataset URN or an FQN can stand for (ruling 21).

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
            if len(self._places) >= _PLACES:
                self._places.clear()
            place = self._places[key] = self._read_namespace(namespace, select)
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
        if authority in self._settings.dbfs_workspaces:  # ruling 22: the old spec wrote DBFS so
            found = canonical(f"dbfs://{authority}")
            matches = self._directory.matches(found.text, found.scheme, select)
        about = [(rule, parts) for rule in self._rules if (parts := rule.namespace_parts(forms)) is not None]
        return Place(safe(namespace.strip()), matches, about, found.root, found.path)

    # -- a name

    def _name(self, namespace: str, name: str, select: str | None) -> Name:
        place = self._place(namespace, select)
        said, text, parts = None, "", None
        for rule, from_namespace in place.rules:
            from_name = rule.name_parts(name)
            if from_name is not None:
                said, text, parts = rule, f"; {rule.text}", {**from_namespace, **from_name}
                break
        chosen = said.said if said is not None else None
        if chosen is not None and chosen.select is not None and chosen.select != select:
            place = self._place(namespace, chosen.select)
        draft = Draft(namespace, name, place.safe, chosen, text, (chosen.env if chosen else None) or self._settings.env)
        if chosen is not None and said is not None and chosen.drop:
            system = place.matches[0].reader if place.matches else None
            return _skipped(draft, system, f"drop{text}", f"filtered: {said.text}")
        target = said.rename.fill(parts or {}) if said is not None and said.rename is not None else name
        return self._named(draft, place, target)

    def _named(self, draft: Draft, place: Place, target: str) -> Name:
        given = draft.rule.parts if draft.rule is not None else {}
        for match in place.matches:
            reader = self._reader(match.reader, draft.rule)
            read = reader.read(target, {**match.parts, **given}, draft.rule.catalogs if draft.rule else ())
            if read is not None and not (place.path and "/" in target):
                return self._built(draft, match, self._completed(read, draft.rule), target)
        if place.path and target.strip():  # the name belongs under the namespace's path (systems.md 5)
            base = self._place(place.root, None)
            inner = target.strip("/")
            under = inner if inner.startswith(f"{place.path}/") else f"{place.path}/{inner}"
            return self._named(draft, base._replace(path=""), under if inner else place.path)
        if place.matches:
            return self._unread(draft, place.matches[0], target)
        return self._unknown(draft, target)

    def _reader(self, reader: Reader, rule: NamingRule | None) -> Reader:
        if rule is None or not rule.variants:
            return reader
        key = (reader.id, rule.variants)
        if key not in self._variants:
            self._variants[key] = Reader(reader.system, self._switches | rule.variants)
        return self._variants[key]

    def _completed(self, reading: Reading, rule: NamingRule | None) -> Reading:
        if rule is not None and (rule.default_database or rule.default_schema):
            reading = complete(reading, rule)
        values = reading.values
        if rule is not None and rule.database_map:
            swapped = {tier: rule.database_map[values[tier]] for tier in FIRST_TIER if values.get(tier) in rule.database_map}
            values = {**values, **swapped}
        project = values.get("project")
        if project is not None and project in self._settings.project_numbers:
            values = {**values, "project": self._settings.project_numbers[project]}
        return reading if values is reading.values else reading._replace(values=values)

    def _built(self, draft: Draft, match: Match, reading: Reading, target: str) -> Name:
        reader, rule = reading.reader, draft.rule
        system = reader.system
        text = f"{system.id}: {match.pattern} + {reading.pattern}{draft.text}"
        if reading.level == "skip":
            return _skipped(draft, reader, text, "policy:query")
        if reader.platform is None:
            if self._settings.inmemory == "skip":
                return _skipped(draft, reader, text, "policy:inmemory")
            return self._plain(draft, f"{draft.safe}/{target}", _UNKNOWN, text, (), reader)
        notes = _notes(match, reading, rule, reader)
        fqn = self._fqn(match, reading)
        platform = reader.platform
        if rule is not None and rule.platform is not None and rule.platform != platform:
            reading = self._elsewhere(rule, target, reading)
            reader, platform = reading.reader, rule.platform
        return self._written(draft, reading, platform, (text, fqn, notes))

    def _elsewhere(self, rule: NamingRule, target: str, reading: Reading) -> Reading:
        """Return the reading of the name by the system of the platform that a rule names, where there is one that can."""
        other = self._of_platform(rule.platform or "")
        read = other.read(target, {**reading.values, **rule.parts}, rule.catalogs) if other is not None else None
        if other is not None and (read is None or read.level not in DATASET_LEVELS):
            read = other.read(target, rule.parts, rule.catalogs)
        return reading if read is None else self._completed(read, rule)

    def _of_platform(self, platform: str) -> Reader | None:
        several = [reader for reader in self._readers.values() if reader.platform == platform and reader.system.select is None]
        return self._readers.get(platform, several[0]) if several else None

    def _written(self, draft: Draft, reading: Reading, platform: str, said: tuple[str, str | None, tuple[str, ...]]) -> Name:
        text, fqn, notes = said
        rule, reader = draft.rule, reading.reader
        system = reader.system
        case = _case(reader, rule)
        values = reader.trimmed(reading, rule.path_depth if rule is not None else None)
        cased = values if case is None else {key: case(value) for key, value in values.items()}
        instance = None if rule is None or reader.no_instance else rule.platform_instance
        if instance is None and reader.instance is not None:
            instance = reader.instance.exact(values)
        name = reader.dataset_name(reading, cased, case)
        if self._settings.urn_to_lower:
            name = name.lower()
        if not name.strip():
            return _skipped(draft, reader, text, _MALFORMED)
        endpoint, cut = fitted(platform, name, draft.env, instance)
        if cut != name:
            notes = (*notes, "name-cut")
        above, own = (), None
        if reader.shelves and (instance is not None or reader.instance is None):
            above, own = reader.containers(reading, values, cased, (platform, instance, draft.env))
        kept = rule is not None and rule.case is not None
        return Name(
            draft.namespace, draft.name, draft.safe, own or endpoint, reading.level, endpoint, fqn, system.id, text, platform, cut,
            draft.env, instance, None,
            system.columns == "lower" and not (kept and rule is not None and rule.case == "keep"),
            system.needs_quotes if not kept else None,
            notes, above,
        )  # fmt: skip

    def _fqn(self, match: Match, reading: Reading) -> str | None:
        template = reading.reader.fqns.get(reading.level)
        if template is None or match.fqn_parts is None:
            return None
        values = {**match.fqn_parts, **reading.values}
        if reading.whole is not None and reading.rest is not None:
            values[reading.rest] = reading.whole
        return None if reading.missing else template.fill(values)

    # -- what no row reads

    def _unread(self, draft: Draft, match: Match, target: str) -> Name:
        """Return the name of a known system in a form that none of its patterns has: the name as it is."""
        text = f"{match.reader.id}: {match.pattern} + ?{draft.text}"
        if not target.strip() or match.reader.platform is None:
            return _skipped(draft, match.reader, text, _MALFORMED)
        case = _case(match.reader, draft.rule)
        platform = (draft.rule.platform if draft.rule is not None else None) or match.reader.platform
        return self._plain(draft, case(target) if case else target, platform, text, ("unread-name",), match.reader)

    def _unknown(self, draft: Draft, target: str) -> Name:
        rule = draft.rule
        text = f"unknown namespace{draft.text}"
        if not target.strip():
            return _skipped(draft, None, text, _MALFORMED)
        if rule is not None and rule.platform is not None:
            reader = self._of_platform(rule.platform)
            read = reader.read(target, rule.parts, rule.catalogs) if reader is not None else None
            if read is None:
                return self._plain(draft, target, rule.platform, text, (), None)
            return self._written(draft, self._completed(read, rule), rule.platform, (f"{text} + {read.pattern}", None, ()))
        if self._settings.unknown == "fail":
            raise EventError("no naming system knows this namespace", where=draft.safe, now="add a rule, or set naming.unknown to keep or drop")
        if self._settings.unknown == "drop":
            return _skipped(draft, None, text, "filtered: naming.unknown")
        name = f"{draft.safe}/{target}" if draft.safe else target
        return self._plain(draft, name, _UNKNOWN, text, ("unknown-namespace",), None)

    def _plain(self, draft: Draft, name: str, platform: str, text: str, notes: tuple[str, ...], reader: Reader | None) -> Name:
        instance = draft.rule.platform_instance if draft.rule is not None and not (reader and reader.no_instance) else None
        low = self._settings.urn_to_lower or (draft.rule is not None and draft.rule.case == "lower")
        name = name.lower() if low else name
        urn, cut = fitted(platform, name, draft.env, instance)
        if cut != name:
            notes = (*notes, "name-cut")
        return Name(
            draft.namespace, draft.name, draft.safe, urn, "table", urn, None, reader.id if reader else None, text, platform,
            cut, draft.env, instance, None, bool(reader) and reader.system.columns == "lower", None, notes, (),
        )  # fmt: skip


def _port(matches: list[Match]) -> int | None:
    return matches[0].reader.system.default_port if matches else None


def _case(reader: Reader, rule: NamingRule | None) -> Callable[[str], str] | None:
    return reader.case if rule is None or rule.case is None else case_of(rule.case, None)


def _notes(match: Match, reading: Reading, rule: NamingRule | None, reader: Reader) -> tuple[str, ...]:
    notes = []
    if reading.missing:
        notes.append("missing-part")
    if match.lint is not None:
        notes.append(match.lint)
    if reading.values.get("project", "").isdigit():
        notes.append("project-number")
    if rule is not None and rule.platform_instance is not None and reader.no_instance:
        notes.append("instance-ignored")
    return tuple(notes)


def _skipped(draft: Draft, reader: Reader | None, text: str, reason: str) -> Name:
    platform = (reader.platform if reader is not None else None) or _UNKNOWN
    system = reader.id if reader is not None else None
    return Name(
        draft.namespace, draft.name, draft.safe, None, "table", None, None, system, text, platform, "", draft.env, None, reason,
    )  # fmt: skip
