"""Where a field of a facet went: from the facts that the facet stated to paths in aspects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import RUN_BY_DATASET, Part
from dh_bridge.translation.render.targets import (
    FIELDS,
    OF_THE_EVENT,
    PROPERTIES,
    Path,
    field_paths,
    property_paths,
    static_paths,
)
from dh_bridge.translation.trace import TracedFact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.trace import Destination


def paths_of(
    targets: Iterable[Destination], facts: Sequence[TracedFact], keys: Sequence[str], steps: Sequence[str]
) -> Iterator[Path]:
    """Yield where a field may have gone, in the order of ``targets``.

    Args:
        targets: the row of the field, or the note that overrides it.
        facts: the facts that the facet stated.
        keys: the names of the facet; properties are called by one of them.
        steps: the path of the field in the facet, without positions in lists.
    """
    for target in targets:
        if isinstance(target, str):
            yield Path(target)
            continue
        kind, part = (target.kind, target.name) if isinstance(target, Part) else (target, "")
        stated = [fact for fact in facts if fact.kind is kind]
        if kind in PROPERTIES and (part or kind not in FIELDS):
            yield from _properties(kind, part, stated, keys, steps)
        else:
            yield from _fields(kind, part, stated)


def possible_paths(targets: Iterable[Destination]) -> Iterator[str]:
    """Yield where a field might go if its facet stated the facts: for the reasons of those that went nowhere."""
    for target in targets:
        if isinstance(target, str):
            yield target
        else:
            yield from static_paths(*target) if isinstance(target, Part) else static_paths(target)


def _properties(
    kind: Slot, part: str, stated: list[TracedFact], keys: Sequence[str], steps: Sequence[str]
) -> Iterator[Path]:
    """Yield the properties of a field: that which ``part`` names, else that which is called as the field or a part above it."""
    if part == "*":
        paths = {path.path for fact in stated for name in fact.names for path in property_paths(fact, name)}
        yield from map(Path, sorted(paths))
        return
    names = {name for fact in stated for name in fact.names}
    if not part and kind is RUN_BY_DATASET:  # the facet of all datasets is one property
        part = next(iter(names), "")
    name = part or property_name(names, keys, steps)
    if not name:
        return
    own = [fact for fact in stated if name in fact.names]
    for fact in own:
        yield from (path._replace(stated=True) for path in property_paths(fact, name))
    if not own:  # such a property is made when the run is closed
        yield from property_paths(TracedFact(kind, (name,)), name)


def _fields(kind: Slot, part: str, stated: list[TracedFact]) -> Iterator[Path]:
    if part.startswith((".", "[")):
        yield from (Path(f"{path}{part}") for path in FIELDS[kind] if stated or kind in OF_THE_EVENT)
    elif stated:
        for fact in dict.fromkeys(stated):
            if not part or fact.field == part:
                yield from field_paths(fact)
    elif kind in OF_THE_EVENT:
        yield from map(Path, FIELDS[kind])


def property_name(names: Collection[str], keys: Sequence[str], steps: Sequence[str]) -> str | None:
    """Return which property of ``names`` holds a field: the one that is called by its path, else by the nearest part above it.

    The first part of a property's name is the key of its facet, ``facet.`` and that key, another word, or missing.
    """
    for end in range(len(steps), -1, -1):
        path = ".".join(steps[:end])
        called = [f"{key}.{path}" if path else key for key in keys]
        called += [path] if path else [f"facet.{key}" for key in keys]
        if (found := next((name for name in called if name in names), None)) is not None:
            return found
        behind = f".{path}"
        if path and (found := next((name for name in names if _ends_with(name, behind)), None)) is not None:
            return found
    return None


def _ends_with(name: str, path: str) -> bool:
    """Return whether a property is called by a word and ``path``."""
    return name.endswith(path) and "." not in name[: -len(path)]
