"""Transformations of column lineage: how they are read, and the one word that DataHub gets."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet

if TYPE_CHECKING:
    from dh_bridge.datahub.fine_grained import Pair

_OPERATION_CAP = 200
_LEGACY = {"IDENTITY": "DIRECT:IDENTITY", "MASKED": "DIRECT:TRANSFORMATION+MASKED"}


class Transformation(Facet):
    """How a column was made of another."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


def operation_of(transformations: list[Transformation] | None, legacy: str | None = None) -> str | None:
    """Return the canonical operation: sorted distinct ``TYPE:SUBTYPE[+MASKED]``, as many as 200 characters hold; None if unsaid."""
    if transformations is not None and len(transformations) == 1:
        one = transformations[0]
        return _word(one.type, one.subtype, one.masking) or _LEGACY.get((legacy or "").upper())
    words = {_word(one.type, one.subtype, one.masking) for one in transformations or ()} - {None}
    return _fitting(",".join(sorted(map(str, words)))) if words else _LEGACY.get((legacy or "").upper())


@lru_cache(maxsize=1024)
def _word(kind: str | None, subtype: str | None, masking: bool | None) -> str | None:  # noqa: FBT001 - the wire's types
    """Return the canonical word of a transformation, None if it says nothing."""
    if not kind and not subtype and not masking:
        return None
    found = f"{kind or 'DIRECT'}:{subtype}" if subtype else kind or "DIRECT"
    return _fitting(f"{found}+MASKED".upper() if masking else found.upper())


def _fitting(words: str) -> str:
    """Return as many whole words as there is room for; of one that is too long alone, what fits."""
    if len(words) <= _OPERATION_CAP:
        return words
    return words[: _OPERATION_CAP + 1].rpartition(",")[0] or words[:_OPERATION_CAP]


def told_by(
    transformations: list[Transformation] | None, legacy: str | None, whole: str | None
) -> tuple[str | None, str]:
    """Return what :func:`operation_of` and :func:`descriptions_of` do: a table has a hundred pairs of columns."""
    if transformations is not None and len(transformations) == 1 and not legacy and not whole:
        one = transformations[0]
        return _word(one.type, one.subtype, one.masking), one.description or ""
    return operation_of(transformations, legacy), descriptions_of(transformations, whole)


def only_indirect(operation: str | None) -> bool:
    """Whether a column only filtered, joined or sorted: no word of the operation is a direct one."""
    return (
        operation is not None
        and "INDIRECT" in operation
        and all(w.startswith("INDIRECT") for w in operation.split(","))
    )


def everywhere(indirect: set[Pair], outputs: int) -> dict[str, list[str]]:
    """Return the input fields that touch every column with lineage: a filter or join repeated for each; and how."""
    touched: dict[str, set[str]] = {}
    how: dict[str, set[str]] = {}
    for operation, down, up in indirect:
        touched.setdefault(up, set()).add(down)
        how.setdefault(up, set()).update(word for word in str(operation).split(",") if word.startswith("INDIRECT"))
    return {up: sorted(how[up]) for up, downs in touched.items() if outputs > 1 and len(downs) == outputs}


def is_legacy(kind: str) -> bool:
    """Whether a ``transformationType`` is one that says how, where no transformations are listed."""
    return kind.upper() in _LEGACY


def descriptions_of(transformations: list[Transformation] | None, whole: str | None = None) -> str:
    """Return what the transformations of a pair say in words, then what is said of the ``whole`` column, each text once."""
    if not transformations:
        return whole or ""
    if len(transformations) == 1 and not whole:
        return transformations[0].description or ""
    said = dict.fromkeys(one.description for one in transformations if one.description)
    return "; ".join([*said, whole] if whole and whole not in said else said)
