"""From a reading to a name: defaults and maps of the rule, case, URN, containers, FQN, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.naming.completion import complete_name
from dh_bridge.naming.name import (
    DROPPED_BY_SETTING,
    FIRST_TIER,
    LACKS,
    PART,
    REFUSED_BY_SETTING,
    TEMPORARY_NAME,
    UNKNOWN_NAMESPACE,
    Name,
)
from dh_bridge.naming.names import split_name
from dh_bridge.naming.normalize import case_function, fit_dataset_urn
from dh_bridge.naming.reader import DATASET_LEVELS, NameReader, ParsedName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dh_bridge.naming.namespace_index import NamespaceMatch
    from dh_bridge.naming.temporary import TemporaryNames
    from dh_bridge.settings.naming import NamingRule, NamingSettings

UNKNOWN = "unknown"
_MALFORMED = "malformed"


class NamingRequest(NamedTuple):
    """The input of a name's parser: the pair, the matching rule and its text, the environment.

    ``part`` is the part of the dataset that the rule removes from the name.
    """

    namespace: str
    name: str
    safe_namespace: str
    rule: NamingRule | None
    text: str
    env: str
    part: str = ""


class NameDetails(NamedTuple):
    """Attributes of a name beside its URN."""

    text: str
    fqn: str | None = None
    notes: tuple[str, ...] = ()


class NameWriter:
    """Writes names by ``settings``; ``readers`` are the systems by id, for rules that name another platform."""

    def __init__(
        self,
        settings: NamingSettings,
        readers: Mapping[str, NameReader],
        temporary_names: TemporaryNames,
        *,
        keep_in_memory: bool,
    ) -> None:
        self._settings = settings
        self._readers = readers
        self._temporary_names = temporary_names
        self._keep_in_memory = keep_in_memory

    def write_parsed(self, request: NamingRequest, match: NamespaceMatch, parsed_name: ParsedName, target: str) -> Name:
        """Return the name for a reading."""
        reader, rule = parsed_name.reader, request.rule
        text = f"{reader.id}: {match.pattern} + {parsed_name.pattern}{request.text}"
        if parsed_name.level == "skip":
            return self.write_skipped(request, reader, text, "policy:query")
        if reader.platform is None:
            if not self._keep_in_memory:
                return self.write_skipped(request, reader, text, "policy:inmemory")
            return self._build_plain_name(
                request, f"{request.safe_namespace}/{target}", UNKNOWN, reader, NameDetails(text)
            )
        parsed_name = self._complete(parsed_name, rule)
        details = NameDetails(text, _fqn(match, parsed_name), _notes(match, parsed_name, rule))
        if rule is None or rule.platform is None or rule.platform == reader.platform:
            return self._build_name(request, parsed_name, reader.platform, details)
        return self._build_name(
            request, self._parse_for_platform(rule, match, parsed_name, target), rule.platform, details
        )

    def write_unparsed(self, request: NamingRequest, match: NamespaceMatch, target: str) -> Name:
        """Return the name of a known system in a form that none of its patterns has: the name as it is."""
        reader, rule = match.reader, request.rule
        text = f"{reader.id}: {match.pattern} + ?{request.text}"
        if not target.strip() or reader.platform is None:
            return self.write_skipped(request, reader, text, _MALFORMED)
        platform = reader.platform if rule is None or rule.platform is None else rule.platform
        return self._build_plain_name(
            request, target, platform, reader, NameDetails(text, None, ("unread-name", *_gap_notes(reader, target)))
        )

    def write_unknown(self, request: NamingRequest, target: str, platform: str | None) -> Name:
        """Return the name in a namespace of an unknown system; no platform is invented for it.

        ``platform`` is a platform of DataHub that the namespace names, None without one.
        """
        rule, settings = request.rule, self._settings
        text = f"unknown namespace{request.text}"
        if not target.strip():
            return self.write_skipped(request, None, text, _MALFORMED)
        if rule is not None and rule.platform is not None:
            reader = self._reader_of_platform(rule.platform)
            parsed_name = reader.read(target, rule.parts) if reader is not None else None
            if parsed_name is None:
                return self._build_plain_name(request, target, rule.platform, None, NameDetails(text))
            return self._build_name(
                request,
                self._complete(parsed_name, rule),
                rule.platform,
                NameDetails(f"{text} + {parsed_name.pattern}"),
            )
        if platform is not None:
            return self._build_plain_name(
                request, target, platform, None, NameDetails(f"platform of DataHub: {platform}{request.text}")
            )
        if settings.unknown != "keep":
            return self.write_skipped(
                request, None, text, DROPPED_BY_SETTING if settings.unknown == "drop" else REFUSED_BY_SETTING
            )
        name = f"{request.safe_namespace}/{target}" if request.safe_namespace else target
        return self._build_plain_name(request, name, UNKNOWN, None, NameDetails(text, None, (UNKNOWN_NAMESPACE,)))

    def write_skipped(self, request: NamingRequest, reader: NameReader | None, text: str, reason: str) -> Name:
        """Return the name of what has no dataset, for ``reason``."""
        platform = (reader.platform if reader is not None else None) or UNKNOWN
        system = reader.id if reader is not None else None
        return Name(
            request.namespace, request.name, request.safe_namespace, None, "table", None, None, system, text, platform, "", request.env,
            None, reason,
        )  # fmt: skip

    # -- the reading by other rules

    def _complete(self, parsed_name: ParsedName, rule: NamingRule | None) -> ParsedName:
        """Return ``parsed_name`` with defaults, mapped databases and project ids."""
        if rule is not None and (rule.default_database or rule.default_schema):
            parsed_name = complete_name(parsed_name, rule)
        values = parsed_name.values
        if rule is not None and rule.database_map:
            database_map = rule.database_map
            values = {
                **values,
                **{tier: database_map[values[tier]] for tier in FIRST_TIER if values.get(tier) in database_map},
            }
        project = values.get("project")
        if project is not None and project in self._settings.project_numbers:
            values = {**values, "project": self._settings.project_numbers[project]}
        return parsed_name if values is parsed_name.values else parsed_name._replace(values=values)

    def _parse_for_platform(
        self, rule: NamingRule, match: NamespaceMatch, parsed_name: ParsedName, target: str
    ) -> ParsedName:
        """Return the name parsed by the system of the platform that the rule names, if one of its systems can parse it."""
        platform_reader = self._reader_of_platform(rule.platform or "")
        if platform_reader is None:
            return parsed_name
        for namespace_parts in ({**match.parts, **rule.parts}, rule.parts):
            platform_name = platform_reader.read(target, namespace_parts)
            if platform_name is not None and platform_name.level in DATASET_LEVELS:
                break
        return parsed_name if platform_name is None else self._complete(platform_name, rule)

    def _reader_of_platform(self, platform: str) -> NameReader | None:
        readers = [
            reader for reader in self._readers.values() if reader.platform == platform and reader.system.select is None
        ]
        return self._readers.get(platform, readers[0]) if readers else None

    # -- the name

    def _build_name(self, request: NamingRequest, parsed_name: ParsedName, platform: str, details: NameDetails) -> Name:
        rule, reader = request.rule, parsed_name.reader
        case = _case(reader, rule)
        values = reader.trim_values(parsed_name, rule.path_depth if rule is not None else None)
        cased = values if case is None else {key: case(value) for key, value in values.items()}
        instance = _instance(reader, rule)
        if instance is None and reader.instance is not None:
            instance = reader.instance.fill_exactly(values)
        name = reader.dataset_name(parsed_name, cased, case)
        if self._settings.urn_to_lower:
            name = name.lower()
        if not name.strip():
            return self.write_skipped(request, reader, details.text, _MALFORMED)
        endpoint, fitted_name = fit_dataset_urn(platform, name, request.env, instance)
        notes = self._with_notes(details.notes, name, fitted_name, platform, reader)
        if parsed_name.level in DATASET_LEVELS and (
            part := "/".join(filter(None, (request.part, reader.cut_part(parsed_name, values))))
        ):
            notes = (*notes, PART + part)
        containers: tuple[str, ...] = ()
        container_urn = None
        if reader.container_levels and (instance is not None or reader.instance is None):
            containers, container_urn = reader.containers(parsed_name, values, cased, (platform, instance, request.env))
        rule_case = rule.case if rule is not None else None
        return Name(
            request.namespace, request.name, request.safe_namespace, container_urn or endpoint, parsed_name.level, endpoint, details.fqn, reader.id,
            details.text, platform, fitted_name, request.env, instance, None, reader.lower_columns and rule_case != "keep",
            reader.system.needs_quotes if rule_case is None else None, notes, containers,
        )  # fmt: skip

    def _with_notes(
        self, notes: tuple[str, ...], name: str, fitted_name: str, platform: str, reader: NameReader | None
    ) -> tuple[str, ...]:
        if fitted_name != name:
            notes = (*notes, "name-cut")
        return (*notes, TEMPORARY_NAME) if self._temporary_names.match(platform, name, reader) else notes

    def _build_plain_name(
        self, request: NamingRequest, name: str, platform: str, reader: NameReader | None, details: NameDetails
    ) -> Name:
        """Return a name that no pattern took apart."""
        rule = request.rule
        case = (
            case_function(rule.case, None)
            if rule is not None and rule.case is not None
            else reader.case
            if reader
            else None
        )
        name = case(name) if case is not None else name
        if self._settings.urn_to_lower:
            name = name.lower()
        instance = _instance(reader, rule)
        urn, fitted_name = fit_dataset_urn(platform, name, request.env, instance)
        notes = self._with_notes(details.notes, name, fitted_name, platform, reader)
        return Name(
            request.namespace, request.name, request.safe_namespace, urn, "table", urn, None, reader.id if reader else None, details.text,
            platform, fitted_name, request.env, instance, None, reader is not None and reader.lower_columns, None, notes, (),
        )  # fmt: skip


def _fqn(match: NamespaceMatch, parsed_name: ParsedName) -> str | None:
    template = parsed_name.reader.fqns.get(parsed_name.level)
    if template is None or match.fqn_parts is None or parsed_name.missing:
        return None
    if match.parts.keys() & parsed_name.reader.part_names and not match.parts.items() <= parsed_name.values.items():
        return None  # the path after the host is no level of this name: an instance, for example
    values = {**match.fqn_parts, **parsed_name.values}
    if parsed_name.untrimmed_path is not None and parsed_name.rest_part is not None:
        values[parsed_name.rest_part] = parsed_name.untrimmed_path  # an object's key, untrimmed
    return template.fill(values)


def _instance(reader: NameReader | None, rule: NamingRule | None) -> str | None:
    return None if rule is None or (reader is not None and reader.has_no_instance) else rule.platform_instance


def _case(reader: NameReader, rule: NamingRule | None) -> Callable[[str], str] | None:
    return reader.case if rule is None or rule.case is None else case_function(rule.case, None)


def _gap_notes(reader: NameReader, target: str) -> list[str]:
    """Return the notes about the levels that a name of too few parts lacks."""
    parts = [part for part in split_name(target) if part is not None]
    tiers = [tier.name for tier in reader.template.tiers if tier.value is None]
    return [LACKS + tier for tier in tiers[: len(tiers) - len(parts)]] if reader.is_sql and parts else []


def _notes(match: NamespaceMatch, parsed_name: ParsedName, rule: NamingRule | None) -> tuple[str, ...]:
    reader, notes = parsed_name.reader, []
    if parsed_name.missing or (
        parsed_name.level in DATASET_LEVELS and not parsed_name.needs <= parsed_name.values.keys()
    ):
        notes.append("missing-part")
    if notes or parsed_name.level not in DATASET_LEVELS:
        notes += [LACKS + level for level in parsed_name.missing_levels]
    if match.lint is not None:
        notes.append(match.lint)
    if parsed_name.values.get("project", "").isdigit():
        notes.append("project-number")
    if reader.has_no_instance and rule is not None and rule.platform_instance is not None:
        notes.append("instance-ignored")
    return tuple(notes)
