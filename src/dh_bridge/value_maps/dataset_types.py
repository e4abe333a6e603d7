"""OpenLineage's kinds of datasets -> DataHub's subtypes: the table ``mappings/tables/dataset_types.yaml``."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.bundled import convert_document

#: The origin of a dataset, not its kind: it becomes a property only.
_IGNORED_TYPE = "JOB_OUTPUT"
_MAX_TYPE_CHARS = 100


class PlatformDatasetTypes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names by the words that mean another thing on these platforms."""

    platforms: list[str]
    words: dict[str, tuple[str, ...]]
    evidence: str = ""


class DatasetTypesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    words: dict[str, tuple[str, ...]]
    platforms: list[PlatformDatasetTypes]


class DatasetTypes:
    """The table, ready for look-ups: ``types(kind, subtype, platform)``."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, DatasetTypesDocument, "dataset_types", location)
        self._words = rows.words
        self._words_by_platform: dict[str, dict[str, tuple[str, ...]]] = {}
        for row in rows.platforms:
            for platform in row.platforms:
                self._words_by_platform[platform] = self._words_by_platform.get(platform, rows.words) | row.words

    def __call__(self, kind: str, subtype: str, platform: str) -> tuple[str, ...]:
        """Return DataHub's type names of OpenLineage's type and subtype, as the connector of ``platform`` writes them."""
        kind, subtype = kind.strip().upper(), subtype.strip().upper()
        if not kind or kind == _IGNORED_TYPE:
            return ()
        words = self._words_by_platform.get(platform, self._words)
        combined_names = words.get(f"{kind} {subtype}")
        if combined_names is not None:
            return combined_names
        type_names = words.get(kind, (_title_case(kind),))
        return (*type_names, _title_case(subtype)) if subtype else type_names


def _title_case(word: str) -> str:
    return " ".join(word.replace("_", " ").split()).title()[:_MAX_TYPE_CHARS]
