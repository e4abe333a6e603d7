"""datasetType (dataset): table, view, topic … https://openlineage.io/docs/spec/facets/dataset-facets/dataset_type"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.bundled import table
from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import SUBTYPES, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

#: Says how it came about, not what it is: it is kept and no more.
_NO_TYPE = "JOB_OUTPUT"
_LONGEST = 100


class DatasetType(Facet):
    """The type and, within it, the subtype."""

    datasetType: str | None = None
    subType: str | None = None


_ROW = mapped("subTypes.typeNames", "datasetProperties.customProperties")


@facet("datasetType", at="dataset", reads=DatasetType, leaves={"datasetType": _ROW, "subType": _ROW})
def dataset_type(facet: DatasetType, at: Place) -> Statements:
    """Subtype of the dataset, where dbt does not tell a better one; both words are properties too."""
    properties = {
        f"datasetType.{leaf}": written
        for leaf in ("datasetType", "subType")
        if (word := getattr(facet, leaf)) and (written := kept_text(f"datasetType.{leaf}", word)) is not None
    }
    if properties:
        yield property_statement(at, properties)
    platform = at.name.platform if at.name is not None else ""
    names = type_names(facet.datasetType or "", facet.subType or "", platform)
    if names:
        yield at.dataset, SUBTYPES, "datasetType", names


def type_names(kind: str, subtype: str, platform: str) -> tuple[str, ...]:
    """Return DataHub's type names of OpenLineage's type and subtype, as the connector of ``platform`` writes them."""
    kind, subtype = kind.strip().upper(), subtype.strip().upper()
    if not kind or kind == _NO_TYPE:
        return ()
    words = _words().get(platform, _words()[""])
    together = words.get(f"{kind} {subtype}")
    if together is not None:
        return together
    alone = words.get(kind, (_title(kind),))
    return (*alone, _title(subtype)) if subtype else alone


@lru_cache(maxsize=1)
def _words() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the names of the words that have a row, by platform; under ``""`` what holds for all others."""
    rows = table("dataset_types")
    found = {"": _names(rows["words"])}
    for row in rows["platforms"]:
        for platform in row["platforms"]:
            found[platform] = found.get(platform, found[""]) | _names(row["words"])
    return found


def _names(words: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(names) for word, names in words.items()}


def _title(word: str) -> str:
    return " ".join(word.replace("_", " ").split()).title()[:_LONGEST]
