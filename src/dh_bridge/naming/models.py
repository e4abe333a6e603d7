"""The files of ``mappings/naming``: one :class:`System` each; unknown keys are rejected by name."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dh_bridge.bundled import convert_document, load_yaml
from dh_bridge.errors import MappingError
from dh_bridge.naming.normalize import NeedsQuotes

_EXAMPLES_KEY = "\nexamples:"  # the last key: only tests and documents read it


class NamespaceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A namespace pattern; ``form`` is its source, ``lint`` a note on every name that it matches."""

    pattern: str
    form: str
    lint: str | None = None


class NamespaceLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which parts of the name a namespace may give: by the segments of its ``path``, in their order, and by its ``authority``.

    ``form`` is the expression that an authority must have to count, ``ignored`` are segments that name nothing (``default``).
    """

    path: tuple[str, ...] = ()
    authority: str | None = None
    form: str | None = None
    ignored: frozenset[str] = frozenset()


class NameRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name pattern and the level that it names; ``dataset`` where this one has a name template of its own."""

    level: str
    pattern: str
    form: str = "spec"
    dataset: str | None = None


class ContainerRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A container above the tables, outermost first; ``fields`` are hashed with platform and instance."""

    level: str
    subtype: str
    key: str
    fields: dict[str, str]
    env_as_instance: bool
    case: Literal["keep"] | None = None


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of a system that a compatibility switch or a user rule may change."""

    platform: str | None = None
    dataset: str | None = None
    containers: list[ContainerRow] | None = None


class System(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One naming system; ``id`` is the stem of its file. Keys and words are those of ``mappings/schema/naming.schema.json``."""

    id: str
    system: str
    platform: str | None
    registered: bool
    namespaces: list[NamespaceRow]
    names: list[NameRow]
    dataset: str | None
    case: Literal["keep", "lower", "upper"]
    containers: list[ContainerRow]
    fqn: dict[str, str] | Literal["unsupported", "not_listed"]
    joins: str
    verified: Literal["ran", "read", "none"]
    evidence: str
    spec: str | None = None
    levels: NamespaceLevels = NamespaceLevels()
    double_dot: str | None = None
    case_exception: Literal["mixed_case_kept"] | None = None
    needs_quotes: NeedsQuotes | None = None
    quotes: str = ""
    columns: Literal["lower"] | None = None
    instance: str | None = None
    select: str | None = None
    trim: list[Literal["slashes", "partition_path", "bigquery_shard", "bigquery_decorator"]] = []
    variants: dict[str, Variant] = {}
    default_port: int | None = None
    fqn_not_with: list[str] = []
    separator: str | None = None
    notes: str | None = None


def parse_system(text: str, stem: str, location: str) -> System:
    """Return the system that the YAML ``text`` describes; a MappingError names ``location`` and the key at fault."""
    data = load_yaml(text.partition(_EXAMPLES_KEY)[0], location)
    if not isinstance(data, dict):
        raise MappingError(
            "expected the keys of a naming system", location=location, remedy="see mappings/schema/naming.schema.json"
        )
    return convert_document({"id": stem, **data}, System, "naming", location)


class SymlinkPreference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: the order of systems, and names of parts below a table that are written as that table."""

    preferred: frozenset[str]
    over: frozenset[str]
    metadata: frozenset[str]
    versions: tuple[str, ...]


def parse_preference(document: Any, location: str = "") -> SymlinkPreference:
    """Return the table."""
    return convert_document(document, SymlinkPreference, "symlinks", location)
