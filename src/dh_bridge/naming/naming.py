"""The naming of datasets, compiled once: ``naming(namespace, name)``.

The order: canonicalise the namespace, match it, read the name, apply case and trims, fill in templates; the user's rules last.
The reverse look-up is in ``reverse``.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.bundled import load_table
from dh_bridge.naming.models import System, parse_preference
from dh_bridge.naming.name import QUOTES_BY_SYSTEM
from dh_bridge.naming.namespace_index import NamespaceIndex, NamespaceMatch
from dh_bridge.naming.namespaces import canonical_namespace, namespace_variants, safe_namespace
from dh_bridge.naming.reader import DATASET_LEVELS, NameReader, load_readers
from dh_bridge.naming.reverse import ReverseNaming
from dh_bridge.naming.rules import CompiledNamingRule, Locations, compile_naming_rules
from dh_bridge.naming.schemes import parse_file_extensions, parse_platforms, parse_queries, parse_schemes
from dh_bridge.naming.temporary import parse_temporary_names
from dh_bridge.naming.vocabulary import check_vocabulary
from dh_bridge.naming.writing import UNKNOWN, NameWriter, NamingRequest
from dh_bridge.settings.naming import NamingRule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dh_bridge.naming.name import Name
    from dh_bridge.naming.namespaces import CanonicalNamespace
    from dh_bridge.settings.naming import NamingSettings

_OTHER_FORMS = ("arn:", "aws:", "jdbc:", "file:", "dbfs:", "hdfs:", "oracle:")
_NAME_SEPARATOR = re.compile("[/:]")
_MAX_CACHED_NAMES = 65_536
_MAX_CACHED_NAMESPACES = 8_192
_MAX_CACHED_LENGTH = 1_000  # characters of namespace and name; no URN has more than 512


class ParsedNamespace(NamedTuple):
    """A namespace, read: its shown form, the rows that it matches, the rules about it, the path under its root.

    ``platform`` is the platform of DataHub that a namespace of no naming system names.
    """

    safe_namespace: str
    select: str | None
    matches: list[NamespaceMatch]
    rules: list[tuple[CompiledNamingRule, dict[str, str]]]
    root: str
    path: str
    platform: str | None


class Naming:
    """Names of datasets by ``settings`` and the naming systems.

    Files of the user's ``overlay`` folder replace bundled ones. ``keep_in_memory``: datasets in memory have names, too.

    At construction, a MappingError or SettingsError names the invalid file or key. Results are cached (two generations of
    65,536), except those of very long texts.
    """

    def __init__(self, settings: NamingSettings, overlay: Path | None = None, *, keep_in_memory: bool = False) -> None:
        self._settings = settings
        self.preference = load_table("symlinks", parse_preference, overlay)
        self._schemes = load_table("schemes", parse_schemes, overlay)
        self._platforms = load_table("platforms", parse_platforms, overlay)
        self._queries = load_table("queries", parse_queries, overlay)
        self._extensions = load_table("file_extensions", parse_file_extensions, overlay)
        self._readers = {reader.id: reader for reader in load_readers(overlay)}
        self._systems = [reader.system for reader in self._readers.values()]
        QUOTES_BY_SYSTEM.update((system.id, system.quotes) for system in self._systems)
        self._namespace_index = NamespaceIndex(self._readers.values(), self._schemes)
        self._temporary_names = load_table("temporary", parse_temporary_names, overlay)
        self._writer = NameWriter(settings, self._readers, self._temporary_names, keep_in_memory=keep_in_memory)
        self._rules = compile_naming_rules(settings.rules, self._schemes)
        self._locations = Locations(settings.locations, self._schemes)
        self._variants: dict[tuple[str, frozenset[str]], NameReader] = {}
        self._parsed_namespaces: dict[tuple[str, str | None], ParsedNamespace] = {}
        #: of the datasets of a job, where its rule gives some (see `with_defaults`)
        self._default_env: str | None = None
        self._default_instance: str | None = None
        self._young: dict[tuple[str, ...], Name] = {}
        self._old: dict[tuple[str, ...], Name] = {}
        instances = {rule.platform_instance for rule in settings.rules if rule.platform_instance is not None}
        self._separators = {separator for system in self._systems for separator in system.separator or ()}
        self._reverse = ReverseNaming(self._readers.values(), self, sorted(instances))
        check_vocabulary(settings, self._systems, self.preference)

    def __call__(self, namespace: str, name: str, *, select: str | None = None) -> Name:
        """Return what ``name`` in ``namespace`` is called; ``select`` opts into a system such as ``iceberg`` or ``delta``."""
        key = (namespace, name) if select is None else (namespace, name, select)
        resolved_name = self._young.get(key)
        if resolved_name is None:
            resolved_name = self._old.get(key) or self._resolve(namespace, name, select)
            if len(namespace) + len(name) < _MAX_CACHED_LENGTH:
                if len(self._young) >= _MAX_CACHED_NAMES:
                    self._old, self._young = self._young, {}
                self._young[key] = resolved_name
        return resolved_name

    def with_defaults(self, env: str | None, instance: str | None) -> Naming:
        """Return the naming for datasets that have another environment, and an instance, where no rule of the user gives one."""
        naming = copy(self)
        naming._default_env, naming._default_instance = env, instance  # noqa: SLF001 - its own class
        naming._young, naming._old = {}, {}  # noqa: SLF001
        return naming

    def listed_names(self, namespace: str, name: str) -> Sequence[str]:
        """Return the names that ``name`` lists, itself but where its system has signs, ``separator``, between several."""
        for separator in self._separators:  # a generator would take longer than all of it: nearly no name holds one
            if separator in name:
                return self._split_list(namespace, name)
        return (name,)

    def _split_list(self, namespace: str, name: str) -> Sequence[str]:
        for match in self._parse_namespace(namespace, None).matches:
            separators = match.reader.system.separator
            if separators and (
                names := [part.strip() for part in re.split(f"[{re.escape(separators)}]", name) if part.strip()]
            ):
                return names
        return (name,)

    def split_identifier(self, text: str) -> tuple[str, str] | None:
        """Return the namespace and the name of a dataset's identifier in one text, None if no known namespace begins it.

        The longest prefix that is the namespace of a system counts: ``azurecosmos://h/dbs/d`` of
        ``azurecosmos://h/dbs/d/colls/t``, ``bigquery`` of ``bigquery:p.d.t``.
        """
        return self._split_identifier(text, "")

    def is_namespace(self, text: str) -> bool:
        """Return whether a text is the whole namespace of a known system, and so no identifier of a dataset."""
        canonical_form = self.canonical(text)
        return not canonical_form.path and self._namespace_index.is_complete(canonical_form)

    def reverse(self, text: str) -> list[tuple[str, str]]:
        """Return the possible (namespace, name) pairs of a dataset URN or an FQN.

        Only from the text itself: none if it does not contain the server. Callers ask the catalogue for the original pairs.
        """
        return self._reverse(text)

    def has_connector(self, name: Name) -> bool:
        """Return whether DataHub has a connector that may own what it writes of the dataset, such as its schema."""
        reader = self._readers.get(name.system or "")
        return name.platform != UNKNOWN and (reader is None or reader.system.joins != "nothing_to_join")

    def systems(self) -> list[System]:
        """Return the naming systems, by the names of their files."""
        return self._systems

    @property
    def platforms(self) -> set[str]:
        """The ids of the platforms that the naming systems and the table of platforms have."""
        return {*self._platforms.platforms, *(system.platform for system in self._systems if system.platform)}

    def is_temporary(self, platform: str, name: str) -> bool:
        """Return whether known tools give a name in a URN to temporary datasets of a platform."""
        readers = [reader for reader in self._readers.values() if reader.system.platform == platform]
        return any(self._temporary_names.match(platform, name, reader) for reader in readers or (None,))

    # -- a namespace

    def _parse_namespace(self, namespace: str, select: str | None) -> ParsedNamespace:
        key = (namespace, select)
        parsed_namespace = self._parsed_namespaces.get(key)
        if parsed_namespace is None:
            parsed_namespace = self._read_namespace(namespace, select)
            if len(namespace) < _MAX_CACHED_LENGTH:
                if len(self._parsed_namespaces) >= _MAX_CACHED_NAMESPACES:
                    self._parsed_namespaces.clear()
                self._parsed_namespaces[key] = parsed_namespace
        return parsed_namespace

    def canonical(self, namespace: str) -> CanonicalNamespace:
        """Return the one form of ``namespace``."""
        return canonical_namespace(namespace, self._schemes)

    def _read_namespace(self, namespace: str, select: str | None) -> ParsedNamespace:
        canonical_form = self.canonical(namespace)
        matches = self._namespace_index.matches(canonical_form, select)
        forms = [namespace, namespace.strip(), *namespace_variants(canonical_form.text, _default_port(matches))]
        location = self._locations.canonical(forms)
        if location is not None:
            canonical_form = self.canonical(location)
            matches = self._namespace_index.matches(canonical_form, select)
            forms += [location, *namespace_variants(canonical_form.text, _default_port(matches))]
        matching_rules = [(rule, parts) for rule in self._rules if (parts := rule.namespace_parts(forms)) is not None]
        return ParsedNamespace(
            safe_namespace(namespace.strip()), select, matches, matching_rules, canonical_form.root, canonical_form.path,
            None if matches else self._platforms.find(canonical_form.scheme),
        )  # fmt: skip

    # -- a name

    def _resolve(self, namespace: str, name: str, select: str | None) -> Name:
        is_whole = not name.strip()
        if (is_whole or _is_short_form(namespace)) and (pair := self._split_identifier(namespace, name)) is not None:
            return _as_sent(self._resolve(*pair, select), namespace, name, is_whole=is_whole)
        parsed_namespace = self._parse_namespace(namespace, select)
        rule, parts = _matching_rule(parsed_namespace, name) if parsed_namespace.rules else (None, {})
        default_env = self._default_env or self._settings.env
        instance = self._default_instance
        if rule is None:
            default_rule = None if instance is None else NamingRule(namespace="", platform_instance=instance)
            return self._resolve_in_namespace(
                NamingRequest(namespace, name, parsed_namespace.safe_namespace, default_rule, "", default_env),
                parsed_namespace,
                name,
            )
        rule_settings = rule.settings
        if instance is not None and rule_settings.platform_instance is None:
            rule_settings = rule_settings.model_copy(update={"platform_instance": instance})
        if rule_settings.select is not None and rule_settings.select != select:
            parsed_namespace = self._parse_namespace(namespace, rule_settings.select)
        request = NamingRequest(
            namespace,
            name,
            parsed_namespace.safe_namespace,
            rule_settings,
            f"; {rule.text}",
            rule_settings.env or default_env,
            "" if rule.rename is None else rule.cut_part(parts),
        )
        return self._resolve_in_namespace(
            request, parsed_namespace, name if rule.rename is None else rule.rename.fill(parts)
        )

    def _split_identifier(self, namespace: str, name: str) -> tuple[str, str] | None:
        """Return the namespace and the name of an identifier that was sent as a namespace alone, None for any other.

        The longest prefix that is the namespace of a system counts: ``bigquery``, ``arn:aws:glue:us-east-1:123456789012``,
        ``mysql://h`` of ``mysql://h/shop.orders``. With a ``name``, the rest of ``custom:acme`` is put before it.
        """
        canonical_form = self.canonical(namespace)
        if name.strip():
            scheme, _, prefix = canonical_form.text.partition(":")
            matches = self._namespace_index.matches(canonical_form, None)
            is_lost = prefix and matches and not matches[0].parts and matches[0].pattern == scheme
            return (scheme, f"{prefix}.{name}") if is_lost else None
        if canonical_form.path:
            return canonical_form.root, f"/{canonical_form.path}"
        if self._namespace_index.is_complete(canonical_form):
            return None
        head, slashes, address = canonical_form.text.partition("://")
        cuts = [match.start() for match in _NAME_SEPARATOR.finditer(address if slashes else head)]
        offset = len(head) + len(slashes) if slashes else 0
        for cut in reversed(cuts):
            base, target = canonical_form.text[: offset + cut], canonical_form.text[offset + cut + 1 :]
            if target and not _begins_with_port(target) and (pair := self._read_identifier(base, target)) is not None:
                return pair
        # the authority is a level of the name: bigquery://project/dataset/table
        return self._read_identifier(head, address, has_authority=True) if address else None

    def _read_identifier(self, base: str, target: str, *, has_authority: bool = False) -> tuple[str, str] | None:
        """Return ``base`` and the spelling of ``target`` that is a name in it, None if it is no name there.

        ``has_authority``: ``target`` begins with the authority, so that only systems count in which that is a level.
        """
        base_form = self.canonical(base)
        if self._namespace_index.is_complete(base_form):
            for match in self._namespace_index.matches(base_form, None):
                if has_authority and match.reader.system.levels.authority is None:
                    continue
                spellings = (target, target.replace("/", ".")) if match.reader.is_sql else (target,)
                parsed_names = [match.reader.read(spelling, match.parts) for spelling in spellings]
                for spelling, parsed_name in zip(spellings, parsed_names, strict=True):
                    if parsed_name is not None and parsed_name.level in DATASET_LEVELS:
                        return base, spelling
                if parsed_names[-1] is not None:
                    return base, spellings[-1]
        return None

    def _resolve_in_namespace(self, request: NamingRequest, parsed_namespace: ParsedNamespace, target: str) -> Name:
        rule = request.rule
        reader = parsed_namespace.matches[0].reader if parsed_namespace.matches else None
        if (reader is None or reader.is_sql) and self._queries.match(target):
            return self._writer.write_skipped(request, reader, f"query{request.text}", "policy:query")
        if not (parsed_namespace.path and ("/" in target or self._extensions.match(target))):
            for match in parsed_namespace.matches:
                reader = match.reader if rule is None or not rule.variants else self._variant_reader(match.reader, rule)
                namespace_parts = match.parts if rule is None or not rule.parts else {**match.parts, **rule.parts}
                parsed_name = reader.read(target, namespace_parts)
                if parsed_name is not None:
                    return self._writer.write_parsed(request, match, parsed_name, target)
        if parsed_namespace.path and target.strip():  # the name belongs under the namespace's path
            relative_path = target.removeprefix("./").strip("/")
            full_path = (
                relative_path
                if relative_path.startswith(f"{parsed_namespace.path}/")
                else f"{parsed_namespace.path}/{relative_path}"
            )
            base_namespace = self._parse_namespace(parsed_namespace.root, parsed_namespace.select)._replace(path="")
            if base_namespace.matches or base_namespace.platform or (rule is not None and rule.platform is not None):
                return self._resolve_in_namespace(
                    request, base_namespace, full_path if relative_path else parsed_namespace.path
                )
        if parsed_namespace.matches:
            return self._writer.write_unparsed(request, parsed_namespace.matches[0], target)
        return self._writer.write_unknown(request, target, parsed_namespace.platform)

    def _variant_reader(self, reader: NameReader, rule: NamingRule) -> NameReader:
        key = (reader.id, rule.variants)
        if key not in self._variants:
            self._variants[key] = NameReader(reader.system, rule.variants)
        return self._variants[key]


def _is_short_form(namespace: str) -> bool:
    """Whether a namespace is ``scheme:text``, without an authority: ``custom:acme``."""
    return ":" in namespace and "/" not in namespace and not namespace.lower().startswith(_OTHER_FORMS)


def _begins_with_port(text: str) -> bool:
    """Return whether the text behind a colon begins with a port: ``5432/shop``."""
    return text.partition("/")[0].isdigit()


def _as_sent(name: Name, namespace: str, sent_name: str, *, is_whole: bool) -> Name:
    """Return ``name`` as that of the pair that was sent; a database that a namespace alone names is no dataset."""
    name = msgspec.structs.replace(
        name, namespace=namespace, name=sent_name, safe_namespace=safe_namespace(namespace.strip())
    )
    if not is_whole or name.level in DATASET_LEVELS or name.skip is not None:
        return name
    return msgspec.structs.replace(name, urn=None, endpoint=None, skip="no-dataset", containers=())


def _matching_rule(parsed_namespace: ParsedNamespace, name: str) -> tuple[CompiledNamingRule | None, dict[str, str]]:
    """Return the rule that the name falls under, the one with the most literal text, and the parts of its patterns."""
    for rule, parts in parsed_namespace.rules:
        name_parts = rule.name_parts(name)
        if name_parts is not None:
            return rule, {**parts, **name_parts}
    return None, {}


def _default_port(matches: list[NamespaceMatch]) -> int | None:
    return matches[0].reader.system.default_port if matches else None
