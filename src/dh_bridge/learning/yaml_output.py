"""The proposals as a page of YAML that a settings file takes as it is; what nobody can be sure of stands in comments."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from dh_bridge.learning.finding import shown, times
from dh_bridge.settings.yaml_source import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.learning.finding import Finding

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*(?:://[\w.-]+(?::\d+)?(?:/[\w./-]*)?)?").fullmatch
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}  # mean something else in YAML when bare
_MOST = 100
"""Proposals of one kind that are written; a longer list is nothing to read."""
_MAPPINGS = (("naming", "project_numbers"),)
_SCALARS = (("identity", "salt"), ("dbt", "node_identity"))


def page(findings: Sequence[Finding], *, events: int, share: float) -> str:
    """Return the page; ``share`` is the part of all names that was followed."""
    warnings = [found for found in findings if not found.path]
    proposals = sorted((found for found in findings if found.path), key=_rank)
    lines = [f"# {times(events, 'event')}: {times(len(proposals), 'proposal')}, {times(len(warnings), 'warning')}"]
    if share < 1:
        lines.append(f"# too many names for all: the evidence is of about 1 in {round(1 / share):,}")
    lines += [f"# {_told(found)}" for found in sorted(warnings, key=lambda found: -found.count)]
    for area in sorted({found.path[0] for found in proposals}, key=_AREAS.index):
        inside = [found for found in proposals if found.path[0] == area]
        lines += ["", f"{_mark(inside)}{area}:", *_area(inside)]
    return "\n".join(lines) + "\n"


def _rank(found: Finding) -> tuple[tuple[str, ...], bool, int]:
    """Return the place on the page: of rules the first that matches holds, and a dotted flow takes all that begin like it."""
    return found.path, found.kind == "dotted-flow", -found.count


_AREAS = ["naming", "identity", "dbt"]


def _area(findings: list[Finding]) -> Iterator[str]:
    for path in dict.fromkeys(found.path for found in findings):
        said, more = _most_seen([found for found in findings if found.path == path])
        key = path[-1]
        if path in _SCALARS:
            for found in said:
                yield f"  # {_told(found)}"
                yield f"  {_mark(said)}{key}: {inline(found.value)}"
            continue
        yield f"  {_mark(said)}{key}:"
        for found in said:
            mark = "" if found.sure else "# "
            yield f"    # {_told(found)}"
            yield f"    {mark}{_member(found)}"
        for kind, number in more.items():
            yield f"    # {kind}: {number:,} more, seen less often"


def _most_seen(findings: list[Finding]) -> tuple[list[Finding], Counter[str]]:
    """Return the first findings of each kind, which were seen most, and how many there are more."""
    kinds: Counter[str] = Counter()
    shown_ones = []
    for found in findings:
        kinds[found.kind] += 1
        if kinds[found.kind] <= _MOST:
            shown_ones.append(found)
    return shown_ones, Counter({kind: number - _MOST for kind, number in kinds.items() if number > _MOST})


def _member(found: Finding) -> str:
    if found.path in _MAPPINGS:
        key, value = found.value
        return f"{inline(key)}: {inline(value)}"
    return f"- {inline(found.value)}"


def _mark(findings: list[Finding]) -> str:
    """Return what makes a key a comment where nothing below it is more than one: an empty key is no setting."""
    return "" if any(found.sure for found in findings) else "# "


def _told(found: Finding) -> str:
    return f"{found.kind} ({found.count:,}): {' '.join(_line(found.text).split())}"


def _line(text: str) -> str:
    """Return text in one line; each of its parts that came from events was cut before."""
    return (
        " ".join(shown(part) for part in re.findall(r".{1,100}", text, re.DOTALL))
        if _UNPRINTABLE.search(text)
        else text
    )


def inline(value: Any) -> str:
    """Return text, a list or a mapping as YAML on one line, as the settings' loader reads it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    text = literal(str(value))
    if _PLAIN(text) and text.lower() not in _WORDS:
        return text
    if not _UNPRINTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    # YAML knows no pairs of surrogates, as JSON writes what is beyond the Basic Multilingual Plane
    return _UNPRINTABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(text, ensure_ascii=False))
