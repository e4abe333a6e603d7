"""A compiled naming system: reads names, writes dataset names, containers and FQNs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from dh_bridge.bundled import load_mapping, mapping_files
from dh_bridge.naming.containers import ContainerLevels
from dh_bridge.naming.fqn import FqnTemplate
from dh_bridge.naming.models import parse_system
from dh_bridge.naming.name import FIRST_TIER, SECOND_TIER
from dh_bridge.naming.names import DottedPattern, is_dotted, split_name, strip_backticks
from dh_bridge.naming.normalize import (
    bigquery_part,
    case_function,
    join_legacy_project,
    partition_folders,
    strip_bigquery_decorator,
    strip_bigquery_shard,
    strip_partitions,
    truncate_path,
)
from dh_bridge.naming.patterns import NameTemplate, NamingPattern, PatternPart, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from dh_bridge.naming.containers import ContainerUrns, PlatformScope
    from dh_bridge.naming.models import NameRow, System

DATASET_LEVELS = frozenset({"table", "file"})
_COMPLETE_LEVELS = DATASET_LEVELS | {"skip"}
NameRowKind = Literal["root", "raw", "dotted", "text"]


class CompiledNameRow(NamedTuple):
    """One name pattern. ``rest_part`` is the part that path trims work on."""

    kind: NameRowKind
    level: str
    text: str
    names: frozenset[str]
    rest_part: str | None
    dotted: DottedPattern | None
    pattern: NamingPattern | None
    template: NameTemplate | None


class ParsedName(NamedTuple):
    """A name that was read: the parts of namespace and name, ``untrimmed_path`` being the path before it was trimmed."""

    reader: NameReader
    level: str
    pattern: str
    values: dict[str, str]
    parts: Sequence[str | None]
    missing: bool
    rest_part: str | None
    untrimmed_path: str | None
    template: NameTemplate | None

    @property
    def needs(self) -> frozenset[str]:
        """The parts without which the dataset name has a gap."""
        return (self.template or self.reader.template).needs

    @property
    def missing_levels(self) -> tuple[str, ...]:
        """The levels of the dataset name that are missing, outermost first."""
        tiers = [tier.name for tier in (self.template or self.reader.template).tiers if tier.value is None]
        if self.level in DATASET_LEVELS:
            return tuple(tier for tier in tiers if tier not in self.values)
        return tuple(tiers[: len(tiers) - sum(part is not None for part in self.parts)]) if self.parts else ()


def _compile_name_row(row: NameRow, location: str) -> CompiledNameRow:
    template = NameTemplate(row.dataset, location) if row.dataset else None
    row_tokens = tokenize(row.pattern, location)
    rest_parts = [part.name for part in row_tokens if isinstance(part, PatternPart) and part.rest]
    rest_part = rest_parts[-1] if rest_parts else None
    if row.pattern == "/":
        return CompiledNameRow("root", row.level, row.pattern, frozenset(), None, None, None, template)
    if is_dotted(row_tokens):
        dotted = DottedPattern(row.pattern, row_tokens)
        return CompiledNameRow("dotted", row.level, row.pattern, dotted.names, rest_part, dotted, None, template)
    pattern = NamingPattern(row.pattern, location)
    kind: NameRowKind = "raw" if len(row_tokens) == 1 and rest_part else "text"
    return CompiledNameRow(kind, row.level, row.pattern, pattern.names, rest_part, None, pattern, template)


class NameReader:
    """A system of ``mappings/naming`` with the variants that are switched on."""

    def __init__(self, system: System, variants: Collection[str] = ()) -> None:
        location = f"mappings/naming/{system.id}.yaml"
        active_variants = [variant for name, variant in system.variants.items() if name in variants]
        platforms = [variant.platform for variant in active_variants if variant.platform]
        datasets = [variant.dataset for variant in active_variants if variant.dataset]
        container_rows = [variant.containers for variant in active_variants if variant.containers is not None]
        self.system = system
        self.id = system.id
        self.platform = platforms[-1] if platforms else system.platform
        self.template = NameTemplate(datasets[-1] if datasets else system.dataset or "", location)
        self.container_levels = ContainerLevels(container_rows[-1] if container_rows else system.containers, location)
        self.name_rows = [_compile_name_row(row, location) for row in system.names]
        self.part_names = frozenset(name for row in self.name_rows for name in row.names)
        #: whether its names are those of SQL tables, so that a query may replace one
        self.is_sql = any(row.dotted is not None and len(row.names) > 1 for row in self.name_rows)
        self._double_dot = system.double_dot
        self.case = case_function(system.case, system.needs_quotes if system.case_exception else None)
        self.instance = (
            NameTemplate(system.instance, location) if system.instance and system.instance != "never" else None
        )
        self.lower_columns = system.columns == "lower"
        self.has_no_instance = system.instance == "never"
        self.fqns = (
            {}
            if isinstance(system.fqn, str)
            else {level: FqnTemplate(text, location) for level, text in system.fqn.items()}
        )
        #: whether its names are paths of files
        self.is_path = self._trims_slashes = "slashes" in system.trim
        self._trims_partitions = "partition_path" in system.trim
        self._trims_shards = "bigquery_shard" in system.trim
        self._trims_decorators = "bigquery_decorator" in system.trim

    def tier_names(self, tier: str) -> frozenset[str]:
        """Return the parts of this system's names that are the ``first`` or the ``second`` upper level."""
        return self.part_names.intersection(FIRST_TIER if tier == "first" else SECOND_TIER)

    def read(self, name: str, namespace_parts: Mapping[str, str]) -> ParsedName | None:
        """Return the reading of ``name`` by the first pattern that fits, None when none does.

        Of a level that name and namespace both give, the name's counts. A name that stops short of a table is read from its
        end, where the namespace gives its upper levels: ``dbo.orders`` in the database of ``sqlserver://h/shop``.
        """
        if self._trims_decorators and ":" in name:
            name = join_legacy_project(name)
        parsed_name = self._read_row(name, namespace_parts)
        if parsed_name is not None and (parsed_name.level in _COMPLETE_LEVELS or not parsed_name.parts):
            return parsed_name
        levels = {name: value for name, value in namespace_parts.items() if name in self.part_names}
        if not levels:
            return parsed_name
        if parsed_name is None:
            if not self.is_sql:
                return None
            parts = split_name(strip_backticks(name))
            parsed_name = ParsedName(
                self, "", "?", dict(namespace_parts), parts, missing=False, rest_part=None, untrimmed_path=None, template=None
            )  # fmt: skip
        parsed_name = self._fill_levels(parsed_name, levels, namespace_parts)
        return parsed_name if parsed_name.level else None

    def _fill_levels(
        self, parsed_name: ParsedName, levels: Mapping[str, str], namespace_parts: Mapping[str, str]
    ) -> ParsedName:
        parts = [part for part in parsed_name.parts if part is not None]
        tiers = [tier.name for tier in self.template.tiers]
        if not 0 < len(parts) <= len(tiers):
            return parsed_name
        named_values = dict(zip(tiers[len(tiers) - len(parts) :], parts, strict=True))
        values = {**namespace_parts, **levels, **named_values}
        self._add_default_schema(values)
        return parsed_name._replace(level="table", values=values, missing=not self.template.needs <= values.keys())

    def _add_default_schema(self, values: dict[str, str]) -> None:
        """Add the schema that the system looks in, where the name has a database and no schema."""
        if self._double_dot is not None and not values.keys().isdisjoint(FIRST_TIER):
            for name in self.tier_names("second"):
                values.setdefault(name, self._double_dot)

    def _read_row(self, name: str, namespace_parts: Mapping[str, str]) -> ParsedName | None:
        unquoted_name = strip_backticks(name)
        parts: Sequence[str | None] = ()
        for row in self.name_rows:
            values = None
            if row.dotted is not None:
                parts = parts or split_name(unquoted_name)
                values = row.dotted.match(parts)
            elif row.pattern is not None:
                values = row.pattern.match(name if row.kind == "raw" else unquoted_name)
            elif not name.strip("/"):
                values = {}
            if values is None:
                continue
            if row.dotted is not None and None in parts and row.dotted.drops_stated_part(parts):
                named_parts = [part for part in parts if part is not None]
                return self._read_row(".".join(map(_quote, named_parts)), namespace_parts)
            untrimmed_path = None
            if self._trims_slashes and row.rest_part in values:
                untrimmed_path = values[row.rest_part] = values[row.rest_part].strip("/")
                if not values[row.rest_part]:
                    continue
            if self._trims_decorators and "table" in values:
                values["table"] = strip_bigquery_decorator(values["table"])
            is_incomplete = False
            if row.dotted is not None and None in parts:
                if self._double_dot is not None and row.level in DATASET_LEVELS:
                    self._add_default_schema(values)
                is_incomplete = _is_incomplete(values, namespace_parts, row)
            return ParsedName(
                self, row.level, row.text, {**namespace_parts, **values}, parts if row.kind == "dotted" else (),
                is_incomplete, row.rest_part, untrimmed_path, row.template,
            )  # fmt: skip
        return None

    def trim_values(self, parsed_name: ParsedName, depth: int | None) -> dict[str, str]:
        """Return the parts of ``parsed_name`` as the connector cuts them: partitions, shards, a rule's path depth."""
        values = parsed_name.values
        rest_part = parsed_name.rest_part
        if self._trims_slashes and rest_part in values and parsed_name.untrimmed_path is not None:
            path = strip_partitions(values[rest_part]) if self._trims_partitions else values[rest_part]
            values = {**values, rest_part: truncate_path(path, depth) if depth else path}
        if self._trims_shards and "table" in values:
            values = {**values, "table": strip_bigquery_shard(values["table"], values.get("dataset", ""))}
        return values

    def cut_part(self, parsed_name: ParsedName, values: Mapping[str, str]) -> str:
        """Return what `trim_values`, which returned ``values``, and the reading have cut off: `dt=2026-11-01`, `20261101`; "" for nothing."""
        if parsed_name.untrimmed_path is not None:
            path, whole_path = values.get(parsed_name.rest_part or "", ""), parsed_name.untrimmed_path
            return partition_folders(whole_path[len(path) :]) if len(path) < len(whole_path) else ""
        table = parsed_name.parts[-1] if parsed_name.parts else None
        if not (self._trims_shards or self._trims_decorators) or not table or table == values.get("table"):
            return ""
        return bigquery_part(table, values.get("table", ""))

    def dataset_name(
        self, parsed_name: ParsedName, values: Mapping[str, str], case: Callable[[str], str] | None
    ) -> str:
        """Return the name inside of the URN: of the table, or of the endpoint that a shorter name has."""
        if parsed_name.level not in DATASET_LEVELS:
            if parsed_name.parts:
                return ".".join([case(part) if case else part for part in parsed_name.parts if part is not None])
            return self.template.fill(values).rstrip("/") or "/"
        return (parsed_name.template or self.template).fill(values)

    def containers(
        self, parsed_name: ParsedName, values: Mapping[str, str], cased: Mapping[str, str], scope: PlatformScope
    ) -> ContainerUrns:
        """Return (those above, nearest first; that of the reading's own level, None for a table)."""
        parent_path = (
            tuple(parsed_name.parts[:-1])
            if parsed_name.parts
            else values.get(parsed_name.rest_part or "", "").rpartition("/")[0]
        )
        return self.container_levels(parsed_name.level, scope, values, cased, parent_path)


def load_readers(overlay: Path | None = None) -> list[NameReader]:
    """Return the readers of all systems by name; a file of the user's ``overlay`` replaces the bundled file of its name."""
    return [load_mapping(path, _build_reader) for path in mapping_files("naming", overlay)]


def _build_reader(text: str, path: Path) -> NameReader:
    return NameReader(parse_system(text, path.stem, str(path)))


def _is_incomplete(values: Mapping[str, str], namespace_parts: Mapping[str, str], row: CompiledNameRow) -> bool:
    return any(name not in values and name not in namespace_parts for name in row.names)


def _quote(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'
