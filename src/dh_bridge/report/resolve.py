"""The targets of a facet's fields: from the facts that the facet stated to paths in aspects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.facts import RUN_BY_DATASET, FactPart
from dh_bridge.model.trace import TracedFact
from dh_bridge.render.targets import (
    EVENT_KINDS,
    FIELD_PATHS,
    PROPERTY_PATHS,
    AspectPath,
    field_paths,
    property_paths,
    static_paths,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.trace import FieldTarget


def paths_of(
    targets: Iterable[FieldTarget], facts: Sequence[TracedFact], keys: Sequence[str], steps: Sequence[str]
) -> Iterator[AspectPath]:
    """Yield where a field may have gone, in the order of ``targets``.

    Args:
        targets: the row of the field, or the note that overrides it.
        facts: the facts that the facet stated.
        keys: the names of the facet; properties are called by one of them.
        steps: the path of the field in the facet, without positions in lists.
    """
    for target in targets:
        if isinstance(target, str):
            yield AspectPath(target)
            continue
        kind, part = (target.kind, target.name) if isinstance(target, FactPart) else (target, "")
        stated = [fact for fact in facts if fact.kind is kind]
        if kind in PROPERTY_PATHS and (part or kind not in FIELD_PATHS):
            yield from _paths_of_properties(kind, part, stated, keys, steps)
        else:
            yield from _paths_of_fields(kind, part, stated)


def possible_paths(targets: Iterable[FieldTarget]) -> Iterator[str]:
    """Yield the possible targets of a field if its facet had stated facts: for the reasons of dropped fields."""
    for target in targets:
        if isinstance(target, str):
            yield target
        else:
            yield from static_paths(*target) if isinstance(target, FactPart) else static_paths(target)


def _paths_of_properties(
    kind: FactKind, part: str, stated: list[TracedFact], keys: Sequence[str], steps: Sequence[str]
) -> Iterator[AspectPath]:
    """Yield the properties of a field: that which ``part`` names, else that which is called as the field or a part above it."""
    if part == "*":
        paths = {path.path for fact in stated for name in fact.names for path in property_paths(fact, name)}
        yield from map(AspectPath, sorted(paths))
        return
    names = {name for fact in stated for name in fact.names}
    if not part and kind is RUN_BY_DATASET:  # the facet of all datasets is one property
        part = next(iter(names), "")
    name = part or property_name(names, keys, steps)
    if not name:
        return
    naming_facts = [fact for fact in stated if name in fact.names]
    for fact in naming_facts:
        yield from (path._replace(is_stated=True) for path in property_paths(fact, name))
    if not naming_facts:  # such a property is made when the run is closed
        yield from property_paths(TracedFact(kind, (name,)), name)


def _paths_of_fields(kind: FactKind, part: str, stated: list[TracedFact]) -> Iterator[AspectPath]:
    if part.startswith((".", "[")):
        yield from (AspectPath(f"{path}{part}") for path in FIELD_PATHS[kind] if stated or kind in EVENT_KINDS)
    elif stated:
        for fact in dict.fromkeys(stated):
            if not part or fact.field == part:
                yield from field_paths(fact)
    elif kind in EVENT_KINDS:
        yield from map(AspectPath, FIELD_PATHS[kind])


def property_name(names: Collection[str], keys: Sequence[str], steps: Sequence[str]) -> str | None:
    """Return which property of ``names`` holds a field: the one that is called by its path, else by the nearest part above it.

    The first part of a property's name is the key of its facet, ``facet.`` and that key, another word, or missing.
    """
    for length in range(len(steps), -1, -1):
        path = ".".join(steps[:length])
        candidates = [f"{key}.{path}" if path else key for key in keys]
        candidates += [path] if path else [f"facet.{key}" for key in keys]
        if (match := next((name for name in candidates if name in names), None)) is not None:
            return match
        suffix = f".{path}"
        if path and (match := next((name for name in names if _ends_with(name, suffix)), None)) is not None:
            return match
    return None


def _ends_with(name: str, path: str) -> bool:
    """Return whether a property is called by a word and ``path``."""
    return name.endswith(path) and "." not in name[: -len(path)]
