"""The tables about namespaces and names: schemes, platforms of DataHub, extensions of files, queries."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dh_bridge.bundled import convert_document, load_table
from dh_bridge.errors import MappingError

_HAS_SPACE = re.compile(r"\s").search
_NO_SPACE = re.compile(r"\S").search
_LEVELS = re.compile(r"(?:[^\s.()\[\]`\"']+\.){1,2}").match


class SchemeTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/schemes.yaml``: the spellings of schemes, and the meaning of the text after a host."""

    aliases: dict[str, str]
    scheme_aliases: dict[str, str]
    url_properties: dict[str, Literal["first", "second"]]
    files: frozenset[str]
    api_paths: frozenset[str]

    def is_api_path(self, path: str) -> bool:
        """Return whether ``path``, without slashes around it, is an endpoint of a service and not a database."""
        lower_path = path.lower()
        if lower_path in self.api_paths:
            return True
        ends = [position for position, char in enumerate(lower_path) if char == "/"]
        return any(lower_path[:end] in self.api_paths or f"{lower_path[:end]}/*" in self.api_paths for end in ends)


class PlatformTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/platforms.yaml``: platforms of DataHub that have no naming system."""

    platforms: frozenset[str]
    aliases: dict[str, str]

    def find(self, scheme: str) -> str | None:
        """Return the platform whose id or alias is ``scheme`` (lower case); None if there is none."""
        return scheme if scheme in self.platforms else self.aliases.get(scheme)


class FileExtensionsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/file_extensions.yaml`` as it is written."""

    extensions: tuple[str, ...]
    compressions: tuple[str, ...]
    wrappers: tuple[str, ...]
    parts: tuple[str, ...]


class FileExtensions:
    """Finds names that end in the extension of a file."""

    def __init__(self, document: FileExtensionsDocument) -> None:
        extensions, compressions, wrappers = (
            "|".join(map(re.escape, words)) for words in (document.extensions, document.compressions, document.wrappers)
        )
        part_numbers = "|".join(re.escape(part).replace(r"\#", r"\d+") for part in document.parts)
        self._pattern = re.compile(
            rf"[^/]\.(?:{extensions}|{compressions})(?:\.(?:{compressions}|{wrappers}))*(?:[.-](?:{part_numbers}))?/*",
            re.IGNORECASE,
        )

    def match(self, name: str) -> bool:
        """Return whether ``name`` is that of a file: ``orders.csv``, ``orders.snappy.parquet``, ``orders.csv.gz.001``."""
        dot = name.find(".")
        while dot > 0:
            if self._pattern.fullmatch(name, dot - 1):
                return True
            dot = name.find(".", dot + 1)
        return False


class QueriesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/queries.yaml`` as it is written."""

    patterns: tuple[str, ...]
    placeholders: tuple[str, ...]


class QueryNames:
    """Finds names that are a query."""

    def __init__(self, document: QueriesDocument, location: str) -> None:
        try:
            self._query_start = re.compile("|".join(document.patterns), re.IGNORECASE | re.DOTALL)
        except re.error as error:
            raise MappingError(str(error), location=location, remedy="correct the expression") from error
        self._placeholders = tuple(document.placeholders)

    def match(self, name: str) -> bool:
        """Return whether ``name`` is a query: ``(select id from orders) t``, ``shop.COMPLEX``."""
        if name.endswith(self._placeholders) and name.rpartition(".")[2] in self._placeholders:
            return name.count(".") <= 1
        if _HAS_SPACE(name) is None:
            return False
        levels = _LEVELS(name, _skip_comments(name, 0))
        start = _skip_comments(name, levels.end() if levels else 0)
        return self._query_start.match(name, start) is not None


def _skip_comments(name: str, position: int) -> int:
    """Return the position behind the blanks and SQL comments that begin at ``position``; each character is read once."""
    while True:
        position = _skip_spaces(name, position)
        terminator = {"/*": "*/", "--": "\n"}.get(name[position : position + 2])
        end = name.find(terminator, position + 2) if terminator else -1
        if terminator is None or end < 0:
            return position
        position = end + len(terminator)


def _skip_spaces(name: str, position: int) -> int:
    match = _NO_SPACE(name, position)
    return match.start() if match else len(name)


def parse_queries(document: Any, location: str = "") -> QueryNames:
    """Return what names are queries."""
    return QueryNames(convert_document(document, QueriesDocument, "queries", location), location)


def parse_schemes(document: Any, location: str = "") -> SchemeTable:
    """Return the table of schemes."""
    return convert_document(document, SchemeTable, "schemes", location)


def parse_platforms(document: Any, location: str = "") -> PlatformTable:
    """Return the table of platforms."""
    return convert_document(document, PlatformTable, "platforms", location)


def parse_file_extensions(document: Any, location: str = "") -> FileExtensions:
    """Return the extensions of files."""
    return FileExtensions(convert_document(document, FileExtensionsDocument, "file_extensions", location))


def bundled_schemes() -> SchemeTable:
    """Return the table of schemes that travels with the package."""
    return load_table("schemes", parse_schemes)
