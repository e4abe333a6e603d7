"""Which lines of aspects a field of an event became: the target of its report, narrowed down by dataset, value and position."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.console.json_lines import ValueLine

_STEPS = re.compile(r"\.([^.\[\]]+)|\[([^\]]*)\]")
_DATASET_PART = re.compile(r"^\$\.(inputs|outputs)\[\d+\]")
_POSITION = re.compile(r"\[(\d+)\]")
_MAX_LINKS = 40
"""Lines that one field leads to, at most: more show nothing."""
_MIN_PART_CHARS = 2
"""Characters of a value that is searched for inside other values."""


class AspectLines(NamedTuple):
    """The lines of an aspect: whose it is, its name, the line of its title, and its values."""

    urn: str
    name: str
    title_line: int
    values: list[ValueLine]


class _Target(NamedTuple):
    aspect: str
    steps: tuple[str, ...]
    """The steps of the path; ``[]`` stands for any position."""


class LinkFinder:
    """Finds the lines of aspects that fields became.

    Args:
        aspects: The aspects of the translation.
    """

    def __init__(self, aspects: Iterable[AspectLines]) -> None:
        self._aspects: dict[str, list[AspectLines]] = {}
        for aspect in aspects:
            self._aspects.setdefault(aspect.name, []).append(aspect)

    def find(self, target_text: str, field: ValueLine, datasets: Sequence[str]) -> list[int]:
        """Return the numbers of the lines that a field became.

        Args:
            target_text: The target in the report, such as ``dataJobInfo.customProperties[openlineage.x]``.
            field: The field of the event.
            datasets: The URNs of the dataset that the field belongs to.
        """
        target = _parse(target_text)
        aspects = self._aspects.get(target.aspect, [])
        aspects = [aspect for aspect in aspects if aspect.urn in datasets] or aspects
        if target.steps == ("urn",):
            return [aspect.title_line for aspect in aspects][:_MAX_LINKS]
        values = [
            value_line for aspect in aspects for value_line in aspect.values if _matches(target.steps, value_line.steps)
        ]
        values = _best(values, field, datasets)
        return [value_line.line for value_line in values][:_MAX_LINKS]


def _parse(text: str) -> _Target:
    aspect = re.split(r"[.\[]", text, maxsplit=1)[0]
    rest = text[len(aspect) :]
    steps: list[str] = []
    property_path, bracket, name = rest.partition("[")
    if bracket and name and not name.startswith("]"):  # the name of a property may have dots and brackets
        return _Target(aspect, (*_names(property_path), name.removesuffix("]")))
    if ".properties[" in rest:
        path, _, name = rest.partition(".properties[")
        return _Target(aspect, (*_names(path), "properties", name.removesuffix("]")))
    steps += _names(rest)
    return _Target(aspect, tuple(steps))


def _names(path: str) -> list[str]:
    return [match[1] if match[1] is not None else "[]" for match in _STEPS.finditer(path)]


def _matches(target: tuple[str, ...], steps: tuple[str | int, ...]) -> bool:
    """Return whether a value is at a target or below it."""
    return len(steps) >= len(target) and all(
        wanted in ("[]", step) for wanted, step in zip(target, steps, strict=False)
    )


def _best(values: list[ValueLine], field: ValueLine, datasets: Sequence[str]) -> list[ValueLine]:
    """Return the values that fit a field best: the same value, else one that contains it, else a key that does, else all."""
    value_text = _text(field.value)
    equal = [value_line for value_line in values if _text(value_line.value) == value_text]
    containing = [value_line for value_line in values if _has_word(_text(value_line.value), value_text)]
    named = [value_line for value_line in values if _has_word(value_line.path.lower(), value_text)]
    candidates = equal or containing or named or values
    of_dataset = [value_line for value_line in candidates if any(urn in str(value_line.value) for urn in datasets)]
    candidates = of_dataset or candidates
    position = _only_position(field.path)
    at_position = [value_line for value_line in candidates if position is not None and position in value_line.steps]
    return at_position if len(candidates) > 1 and at_position else candidates


def _only_position(path: str) -> int | None:
    """Return the position in a path that has one below its dataset; None if it has several or none."""
    positions = _POSITION.findall(_DATASET_PART.sub("", path))
    return int(positions[0]) if len(positions) == 1 else None


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a value as a whole word."""
    if len(word) < _MIN_PART_CHARS or word not in text:
        return False
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _text(value: Any) -> str:
    return str(value).lower()
