"""A compiled naming system: reads names, writes dataset names, containers and FQNs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from dh_bridge.translation.naming.containers import Shelves
from dh_bridge.translation.naming.fqn import Fqn
from dh_bridge.translation.naming.names import Dotted, is_dotted, split, unwrapped
from dh_bridge.translation.naming.normalize import (
    bigquery_decorator,
    bigquery_shard,
    case_of,
    partition_path,
    path_depth,
)
from dh_bridge.translation.naming.patterns import Part, Pattern, Template, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dh_bridge.translation.naming.containers import Answer, Place
    from dh_bridge.translation.naming.models import NameRow, System

DATASET_LEVELS = frozenset({"table", "file"})
Kind = Literal["root", "raw", "dotted", "text"]


class Entry(NamedTuple):
    """One name pattern. ``rest`` is the part that path trims work on."""

    kind: Kind
    level: str
    text: str
    names: frozenset[str]
    rest: str | None
    dotted: Dotted | None
    pattern: Pattern | None
    template: Template | None


class Reading(NamedTuple):
    """A name that was read: the parts of namespace and name, ``whole`` being the path before it was trimmed."""

    reader: Reader
    level: str
    pattern: str
    values: dict[str, str]
    parts: Sequence[str | None]
    missing: bool
    rest: str | None
    whole: str | None
    template: Template | None

    @property
    def needs(self) -> frozenset[str]:
        """The parts without which the dataset name has a gap."""
        return (self.template or self.reader.template).needs


def _entry(row: NameRow, where: str) -> Entry:
    template = Template(row.dataset, where) if row.dataset else None
    found = tokens(row.pattern, where)
    rests = [part.name for part in found if isinstance(part, Part) and part.rest]
    rest = rests[-1] if rests else None
    if row.pattern == "/":
        return Entry("root", row.level, row.pattern, frozenset(), None, None, None, template)
    if is_dotted(found):
        dotted = Dotted(row.pattern, found)
        return Entry("dotted", row.level, row.pattern, dotted.names, rest, dotted, None, template)
    pattern = Pattern(row.pattern, where)
    kind: Kind = "raw" if len(found) == 1 and rest else "text"
    return Entry(kind, row.level, row.pattern, pattern.names, rest, None, pattern, template)


class Reader:
    """A system of ``mappings/naming`` with the variants that are switched on."""

    def __init__(self, system: System, variants: Collection[str] = ()) -> None:
        where = f"mappings/naming/{system.id}.yaml"
        chosen = [variant for name, variant in system.variants.items() if name in variants]
        platforms = [variant.platform for variant in chosen if variant.platform]
        datasets = [variant.dataset for variant in chosen if variant.dataset]
        shelves = [variant.containers for variant in chosen if variant.containers is not None]
        self.system = system
        self.id = system.id
        self.platform = platforms[-1] if platforms else system.platform
        self.template = Template(datasets[-1] if datasets else system.dataset or "", where)
        self.shelves = Shelves(shelves[-1] if shelves else system.containers, where)
        self.entries = [_entry(row, where) for row in system.names]
        self.case = case_of(system.case, system.needs_quotes if system.case_exception else None)
        self.instance = Template(system.instance, where) if system.instance and system.instance != "never" else None
        self.lower_columns = system.columns == "lower"
        self.no_instance = system.instance == "never"
        self.fqns = (
            {} if isinstance(system.fqn, str) else {level: Fqn(text, where) for level, text in system.fqn.items()}
        )
        self._slashes = "slashes" in system.trim
        self._partitions = "partition_path" in system.trim
        self._shards = "bigquery_shard" in system.trim
        self._decorators = "bigquery_decorator" in system.trim

    def read(self, name: str, given: Mapping[str, str], known: Collection[str] = ()) -> Reading | None:
        """Return the reading of ``name`` by the first pattern that fits, None when none does.

        A pattern that repeats a part of ``given`` (the namespace's) is passed over, unless it names a table and agrees.
        """
        plain = unwrapped(name)
        parts: Sequence[str | None] = ()
        for entry in self.entries:
            found = None
            if entry.dotted is not None:
                parts = parts or split(plain)
                found = entry.dotted.match(parts, known)
            elif entry.pattern is not None:
                found = entry.pattern.match(name if entry.kind == "raw" else plain)
            elif not name.strip("/"):
                found = {}
            if found is None or not (entry.names.isdisjoint(given) or _agrees(entry, found, given)):
                continue
            whole = None
            if self._slashes and entry.rest in found:
                whole = found[entry.rest].lstrip("/")
                found[entry.rest] = whole.rstrip("/")
                if not found[entry.rest]:
                    continue
            if self._decorators and "table" in found:
                found["table"] = bigquery_decorator(found["table"])
            missing = entry.dotted is not None and None in parts and _is_short(parts, found, given, entry)
            return Reading(
                self, entry.level, entry.text, {**given, **found}, parts if entry.kind == "dotted" else (),
                missing, entry.rest, whole, entry.template,
            )  # fmt: skip
        return None

    def trimmed(self, reading: Reading, depth: int | None) -> dict[str, str]:
        """Return the parts of ``reading`` as the connector cuts them: partitions, shards, a rule's path depth."""
        values = reading.values
        rest = reading.rest
        if self._slashes and rest in values and reading.whole is not None:
            path = partition_path(values[rest]) if self._partitions else values[rest]
            values = {**values, rest: path_depth(path, depth) if depth else path}
        if self._shards and "table" in values:
            values = {**values, "table": bigquery_shard(values["table"], values.get("dataset", ""))}
        return values

    def dataset_name(self, reading: Reading, values: Mapping[str, str], case: Callable[[str], str] | None) -> str:
        """Return the name inside of the URN: of the table, or of the endpoint that a shorter name has."""
        if reading.level not in DATASET_LEVELS:
            if reading.parts:
                return ".".join([case(part) if case else part for part in reading.parts if part is not None])
            return self.template.fill(values).rstrip("/") or "/"
        return (reading.template or self.template).fill(values)

    def containers(self, reading: Reading, values: Mapping[str, str], cased: Mapping[str, str], place: Place) -> Answer:
        """Return (those above, nearest first; that of the reading's own level, None for a table)."""
        above = tuple(reading.parts[:-1]) if reading.parts else values.get(reading.rest or "", "").rpartition("/")[0]
        return self.shelves(reading.level, place, values, cased, above)


def _is_short(parts: Sequence[str | None], found: Mapping[str, str], given: Mapping[str, str], entry: Entry) -> bool:
    filled = sum(name in given and name not in found for name in entry.names)
    return parts.count(None) > filled


def _agrees(entry: Entry, found: Mapping[str, str], given: Mapping[str, str]) -> bool:
    return entry.level in DATASET_LEVELS and all(
        found.get(name, given[name]) == given[name] for name in entry.names if name in given
    )
