"""Names of temporary and staging datasets, by ``mappings/tables/temporary.yaml``.

The answer depends on the platform and the written name alone, so that two runs that name one dataset agree on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.bundled import convert_document
from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from dh_bridge.naming.reader import NameReader


class LevelPatterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Expressions by the part of the name that they are compared with."""

    schema: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


class TemporaryDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/temporary.yaml`` as it is written."""

    sql: LevelPatterns
    files: LevelPatterns
    platforms: dict[str, LevelPatterns]


class _LevelMatcher:
    """Compiled patterns of one group."""

    def __init__(self, patterns: LevelPatterns) -> None:
        self._schema, self._table, self._path = (
            re.compile("|".join(group), re.IGNORECASE).search if group else None
            for group in (patterns.schema, patterns.table, patterns.path)
        )

    def match(self, name: str) -> bool:
        if self._path is not None and self._path(name) is not None:
            return True
        upper_levels, _, table = name.rpartition(".")
        if self._table is not None and self._table(table) is not None:
            return True
        return self._schema is not None and self._schema(upper_levels.rpartition(".")[2]) is not None


class TemporaryNames:
    """Finds names of temporary and staging datasets."""

    def __init__(self, document: TemporaryDocument, location: str = "") -> None:
        try:
            self._sql = _LevelMatcher(document.sql)
            self._files = _LevelMatcher(document.files)
            self._platforms = {platform: _LevelMatcher(patterns) for platform, patterns in document.platforms.items()}
        except re.error as error:
            raise MappingError(str(error), location=location, remedy="correct the expression") from error

    def match(self, platform: str, name: str, reader: NameReader | None) -> bool:
        """Return whether ``name`` is that of a temporary dataset.

        Args:
            platform: DataHub platform id.
            name: The name inside of the URN, without the platform instance.
            reader: The naming system, None if no system knows the namespace.
        """
        if reader is not None and reader.is_sql and self._sql.match(name):
            return True
        if reader is not None and reader.is_path and self._files.match(name):
            return True
        matcher = self._platforms.get(platform)
        return matcher is not None and matcher.match(name)


def parse_temporary_names(document: Any, location: str = "") -> TemporaryNames:
    """Return the names of temporary datasets."""
    return TemporaryNames(convert_document(document, TemporaryDocument, "temporary", location), location)
