"""OpenLineage's words for kinds of datasets -> what DataHub shows them as: the table ``mappings/tables/dataset_types.yaml``."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.bundled import typed

#: Says how it came about, not what it is: it is kept and no more.
_NO_TYPE = "JOB_OUTPUT"
_LONGEST = 100


class Platforms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names by the words that mean another thing on these platforms."""

    platforms: list[str]
    words: dict[str, tuple[str, ...]]
    evidence: str = ""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    words: dict[str, tuple[str, ...]]
    platforms: list[Platforms]


class DatasetTypes:
    """The table, ready for look-ups: ``types(kind, subtype, platform)``."""

    def __init__(self, document: Any, where: str = "") -> None:
        rows = typed(document, Document, "dataset_types", where)
        self._words = rows.words
        self._own: dict[str, dict[str, tuple[str, ...]]] = {}
        for row in rows.platforms:
            for platform in row.platforms:
                self._own[platform] = self._own.get(platform, rows.words) | row.words

    def __call__(self, kind: str, subtype: str, platform: str) -> tuple[str, ...]:
        """Return DataHub's type names of OpenLineage's type and subtype, as the connector of ``platform`` writes them."""
        kind, subtype = kind.strip().upper(), subtype.strip().upper()
        if not kind or kind == _NO_TYPE:
            return ()
        words = self._own.get(platform, self._words)
        together = words.get(f"{kind} {subtype}")
        if together is not None:
            return together
        alone = words.get(kind, (_title(kind),))
        return (*alone, _title(subtype)) if subtype else alone


def _title(word: str) -> str:
    return " ".join(word.replace("_", " ").split()).title()[:_LONGEST]
