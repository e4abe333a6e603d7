"""The files of ``mappings/naming`` as they stand: one :class:`System` each, unknown keys refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Optional, Union

import msgspec

from dh_bridge.bundled import load_yaml, mapping_files
from dh_bridge.errors import MappingError
from dh_bridge.translation.naming.trims import NeedsQuotes

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "naming"
_EXAMPLES = "\nexamples:"  # the last key: only tests and documents read it


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a sheet."""


class NamespaceRow(_Row):
    """A namespace pattern; ``form`` says where it was seen, ``lint`` is a note on every name that it matches."""

    pattern: str
    form: str
    lint: Optional[str] = None


class NameRow(_Row):
    """A name pattern and the level that it names; ``dataset`` where this one has a name template of its own."""

    level: str
    pattern: str
    form: str = "spec"
    dataset: Optional[str] = None


class ContainerRow(_Row):
    """A container above the tables, outermost first; ``fields`` are hashed with platform and instance (systems.md 4)."""

    level: str
    subtype: str
    key: str
    fields: dict[str, str]
    env_as_instance: bool
    case: Optional[Literal["keep"]] = None


class Variant(_Row):
    """What a compatibility switch or a user rule may change in a system."""

    platform: Optional[str] = None
    dataset: Optional[str] = None
    containers: Optional[list[ContainerRow]] = None


class System(_Row, kw_only=True):
    """One naming system; ``id`` is the stem of its file. Keys and words are those of ``mappings/schema/naming.schema.json``."""

    id: str
    system: str
    platform: Optional[str]
    registered: bool
    namespaces: list[NamespaceRow]
    names: list[NameRow]
    dataset: Optional[str]
    case: Literal["keep", "lower", "upper"]
    containers: list[ContainerRow]
    fqn: Union[dict[str, str], Literal["unsupported", "not_listed"]]
    joins: str
    verified: Literal["ran", "read", "none"]
    evidence: str
    spec: Optional[str] = None
    case_exception: Optional[Literal["mixed_case_kept"]] = None
    needs_quotes: Optional[NeedsQuotes] = None
    columns: Optional[Literal["lower"]] = None
    instance: Optional[str] = None
    select: Optional[str] = None
    trim: list[Literal["slashes", "partition_path", "bigquery_shard", "bigquery_decorator"]] = []
    variants: dict[str, Variant] = {}
    default_port: Optional[int] = None
    fqn_not_with: list[str] = []
    notes: Optional[str] = None


def system_of(text: str, stem: str, place: str) -> System:
    """Return the system that the YAML ``text`` describes; a MappingError names ``place`` and the key at fault."""
    data = load_yaml(text.partition(_EXAMPLES)[0], place)
    if not isinstance(data, dict):
        raise MappingError("no naming system", where=place, now="see mappings/schema/naming.schema.json")
    try:
        return msgspec.convert({"id": stem, **data}, System)
    except msgspec.ValidationError as error:
        raise MappingError(str(error), where=place, now="see mappings/schema/naming.schema.json") from error


def systems(overlay: Path | None = None) -> list[System]:
    """Return all systems by name, the user's ``overlay`` shadowing ours file by file."""
    return [system_of(path.read_text(encoding="utf-8"), path.stem, str(path)) for path in mapping_files(_FOLDER, overlay)]
