"""From a reading to a name: defaults and maps of the rule, case, URN, containers, FQN, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.naming.completion import complete
from dh_bridge.translation.naming.name import DROPPED, REFUSED, Name
from dh_bridge.translation.naming.normalize import case_of, fitted
from dh_bridge.translation.naming.reader import DATASET_LEVELS, Reader, Reading
from dh_bridge.translation.naming.rules import FIRST_TIER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dh_bridge.settings.naming import NamingRule, NamingSettings
    from dh_bridge.translation.naming.namespace_index import Match

_UNKNOWN = "unknown"
_MALFORMED = "malformed"


class Draft(NamedTuple):
    """What is known of a name before it is read: the pair, the rule that takes part and its text, the environment."""

    namespace: str
    name: str
    safe: str
    rule: NamingRule | None
    text: str
    env: str


class Said(NamedTuple):
    """What a name says of itself besides its URN."""

    text: str
    fqn: str | None = None
    notes: tuple[str, ...] = ()


class Writer:
    """Writes names by ``settings``; ``readers`` are the systems by id, for rules that name another platform."""

    def __init__(self, settings: NamingSettings, readers: Mapping[str, Reader]) -> None:
        self._settings = settings
        self._readers = readers

    def read(self, draft: Draft, match: Match, reading: Reading, target: str) -> Name:
        """Return the name for a reading."""
        reader, rule = reading.reader, draft.rule
        text = f"{reader.id}: {match.pattern} + {reading.pattern}{draft.text}"
        if reading.level == "skip":
            return self.skipped(draft, reader, text, "policy:query")
        if reader.platform is None:
            if self._settings.inmemory == "skip":
                return self.skipped(draft, reader, text, "policy:inmemory")
            return self._plain(draft, f"{draft.safe}/{target}", _UNKNOWN, reader, Said(text))
        reading = self._completed(reading, rule)
        said = Said(text, _fqn(match, reading), _notes(match, reading, rule))
        if rule is None or rule.platform is None or rule.platform == reader.platform:
            return self._written(draft, reading, reader.platform, said)
        return self._written(draft, self._elsewhere(rule, match, reading, target), rule.platform, said)

    def unread(self, draft: Draft, match: Match, target: str) -> Name:
        """Return the name of a known system in a form that none of its patterns has: the name as it is."""
        reader, rule = match.reader, draft.rule
        text = f"{reader.id}: {match.pattern} + ?{draft.text}"
        if not target.strip() or reader.platform is None:
            return self.skipped(draft, reader, text, _MALFORMED)
        platform = reader.platform if rule is None or rule.platform is None else rule.platform
        return self._plain(draft, target, platform, reader, Said(text, None, ("unread-name",)))

    def unknown(self, draft: Draft, target: str) -> Name:
        """Return the name in a namespace that no system knows; a platform is never minted for it."""
        rule, settings = draft.rule, self._settings
        text = f"unknown namespace{draft.text}"
        if not target.strip():
            return self.skipped(draft, None, text, _MALFORMED)
        if rule is not None and rule.platform is not None:
            reader = self._of_platform(rule.platform)
            read = reader.read(target, rule.parts, rule.catalogs) if reader is not None else None
            if read is None:
                return self._plain(draft, target, rule.platform, None, Said(text))
            return self._written(draft, self._completed(read, rule), rule.platform, Said(f"{text} + {read.pattern}"))
        if settings.unknown != "keep":
            return self.skipped(draft, None, text, DROPPED if settings.unknown == "drop" else REFUSED)
        name = f"{draft.safe}/{target}" if draft.safe else target
        return self._plain(draft, name, _UNKNOWN, None, Said(text, None, ("unknown-namespace",)))

    def skipped(self, draft: Draft, reader: Reader | None, text: str, reason: str) -> Name:
        """Return the name of what has no dataset, for ``reason``."""
        platform = (reader.platform if reader is not None else None) or _UNKNOWN
        system = reader.id if reader is not None else None
        return Name(
            draft.namespace, draft.name, draft.safe, None, "table", None, None, system, text, platform, "", draft.env,
            None, reason,
        )  # fmt: skip

    # -- the reading by other rules

    def _completed(self, reading: Reading, rule: NamingRule | None) -> Reading:
        """Return ``reading`` with defaults, mapped databases and project ids."""
        if rule is not None and (rule.default_database or rule.default_schema):
            reading = complete(reading, rule)
        values = reading.values
        if rule is not None and rule.database_map:
            known = rule.database_map
            values = {**values, **{tier: known[values[tier]] for tier in FIRST_TIER if values.get(tier) in known}}
        project = values.get("project")
        if project is not None and project in self._settings.project_numbers:
            values = {**values, "project": self._settings.project_numbers[project]}
        return reading if values is reading.values else reading._replace(values=values)

    def _elsewhere(self, rule: NamingRule, match: Match, reading: Reading, target: str) -> Reading:
        """Return the reading by the system of the platform that the rule names, where there is one that can."""
        other = self._of_platform(rule.platform or "")
        if other is None:
            return reading
        for given in ({**match.parts, **rule.parts}, rule.parts):
            read = other.read(target, given, rule.catalogs)
            if read is not None and read.level in DATASET_LEVELS:
                break
        return reading if read is None else self._completed(read, rule)

    def _of_platform(self, platform: str) -> Reader | None:
        several = [
            reader for reader in self._readers.values() if reader.platform == platform and reader.system.select is None
        ]
        return self._readers.get(platform, several[0]) if several else None

    # -- the name

    def _written(self, draft: Draft, reading: Reading, platform: str, said: Said) -> Name:
        rule, reader = draft.rule, reading.reader
        case = _case(reader, rule)
        values = reader.trimmed(reading, rule.path_depth if rule is not None else None)
        cased = values if case is None else {key: case(value) for key, value in values.items()}
        instance = _instance(reader, rule)
        if instance is None and reader.instance is not None:
            instance = reader.instance.exact(values)
        name = reader.dataset_name(reading, cased, case)
        if self._settings.urn_to_lower:
            name = name.lower()
        if not name.strip():
            return self.skipped(draft, reader, said.text, _MALFORMED)
        endpoint, cut = fitted(platform, name, draft.env, instance)
        notes = said.notes if cut == name else (*said.notes, "name-cut")
        above: tuple[str, ...] = ()
        own = None
        if reader.shelves and (instance is not None or reader.instance is None):
            above, own = reader.containers(reading, values, cased, (platform, instance, draft.env))
        ruled = rule.case if rule is not None else None
        return Name(
            draft.namespace, draft.name, draft.safe, own or endpoint, reading.level, endpoint, said.fqn, reader.id,
            said.text, platform, cut, draft.env, instance, None, reader.lower_columns and ruled != "keep",
            reader.system.needs_quotes if ruled is None else None, notes, above,
        )  # fmt: skip

    def _plain(self, draft: Draft, name: str, platform: str, reader: Reader | None, said: Said) -> Name:
        """Return a name that no pattern took apart."""
        rule = draft.rule
        case = (
            case_of(rule.case, None) if rule is not None and rule.case is not None else reader.case if reader else None
        )
        name = case(name) if case is not None else name
        if self._settings.urn_to_lower:
            name = name.lower()
        instance = _instance(reader, rule)
        urn, cut = fitted(platform, name, draft.env, instance)
        notes = said.notes if cut == name else (*said.notes, "name-cut")
        return Name(
            draft.namespace, draft.name, draft.safe, urn, "table", urn, None, reader.id if reader else None, said.text,
            platform, cut, draft.env, instance, None, reader is not None and reader.lower_columns, None, notes, (),
        )  # fmt: skip


def _fqn(match: Match, reading: Reading) -> str | None:
    template = reading.reader.fqns.get(reading.level)
    if template is None or match.fqn_parts is None or reading.missing:
        return None
    values = {**match.fqn_parts, **reading.values}
    if reading.whole is not None and reading.rest is not None:
        values[reading.rest] = reading.whole  # an object's key, untrimmed
    return template.fill(values)


def _instance(reader: Reader | None, rule: NamingRule | None) -> str | None:
    return None if rule is None or (reader is not None and reader.no_instance) else rule.platform_instance


def _case(reader: Reader, rule: NamingRule | None) -> Callable[[str], str] | None:
    return reader.case if rule is None or rule.case is None else case_of(rule.case, None)


def _notes(match: Match, reading: Reading, rule: NamingRule | None) -> tuple[str, ...]:
    reader, notes = reading.reader, []
    if reading.missing or (reading.level in DATASET_LEVELS and not reading.needs <= reading.values.keys()):
        notes.append("missing-part")
    if match.lint is not None:
        notes.append(match.lint)
    if reading.values.get("project", "").isdigit():
        notes.append("project-number")
    if reader.no_instance and rule is not None and rule.platform_instance is not None:
        notes.append("instance-ignored")
    return tuple(notes)
