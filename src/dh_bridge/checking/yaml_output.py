"""The proposals as YAML in the form of a settings file; uncertain ones are comments."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from dh_bridge.checking.finding import count_text, list_examples, one_line
from dh_bridge.settings.yaml_source import escape_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.checking.finding import Finding

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*(?:://[\w.-]+(?::\d+)?(?:/[\w./-]*)?)?").fullmatch
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_YAML_KEYWORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}  # mean something else in YAML when bare
_MAX_PROPOSALS_PER_KIND = 100
"""Proposals of one kind that are written; a longer list is nothing to read."""
_MAPPINGS = (("naming", "project_numbers"), ("naming", "locations"), ("identity", "namespaces"))
_SCALARS = (("identity", "salt"), ("dbt", "node_identity"))


def format_findings(findings: Sequence[Finding], *, events: int, sampled_fraction: float) -> str:
    """Return the page; ``sampled_fraction`` is the part of all names that was followed."""
    warnings = [finding for finding in findings if not finding.path]
    proposals = sorted((finding for finding in findings if finding.path), key=_rank)
    lines = [
        f"# {count_text(events, 'event')}: {count_text(len(proposals), 'suggestion')}, {count_text(len(warnings), 'warning')}"
    ]
    if sampled_fraction < 1:
        lines.append(
            f"# too many names to count all of them: the counts are of about 1 in {round(1 / sampled_fraction):,}"
        )
    lines += [f"# {_comment(finding)}" for finding in sorted(warnings, key=lambda finding: -finding.count)]
    for area in sorted({finding.path[0] for finding in proposals}, key=_AREAS.index):
        area_findings = [finding for finding in proposals if finding.path[0] == area]
        lines += ["", f"{_comment_prefix(area_findings)}{area}:", *_area_lines(area_findings)]
    return "\n".join(lines) + "\n"


def _rank(finding: Finding) -> tuple[tuple[str, ...], bool, int]:
    """Return the position in the file.

    The first rule that matches applies, and a dotted flow matches all names that begin like it.
    """
    return finding.path, finding.kind == "dotted-flow", -finding.count


_AREAS = ["naming", "identity", "temporary", "dbt"]


def rule_lines(finding: Finding) -> Iterator[str]:
    """Yield the setting of one finding as lines of YAML that a settings file takes."""
    area, *keys = finding.path
    yield f"{area}:"
    if finding.path in _SCALARS:
        yield f"  {keys[-1]}: {inline_yaml(finding.value)}"
        return
    yield f"  {keys[-1]}:"
    yield f"    {_yaml_member(finding)}"


def _area_lines(findings: list[Finding]) -> Iterator[str]:
    for path in dict.fromkeys(finding.path for finding in findings):
        shown_findings, hidden_counts = _most_seen([finding for finding in findings if finding.path == path])
        key = path[-1]
        if path in _SCALARS:
            for finding in shown_findings:
                yield f"  # {_comment(finding)}"
                yield f"  {_comment_prefix(shown_findings)}{key}: {inline_yaml(finding.value)}"
            continue
        yield f"  {_comment_prefix(shown_findings)}{key}:"
        for finding in shown_findings:
            comment_prefix = "" if finding.sure else "# "
            yield f"    # {_comment(finding)}"
            yield f"    {comment_prefix}{_yaml_member(finding)}"
        for kind, number in hidden_counts.items():
            yield f"    # {kind}: {number:,} more, seen less often"


def _most_seen(findings: list[Finding]) -> tuple[list[Finding], Counter[str]]:
    """Return the first findings of each kind, which were seen most, and how many there are more."""
    kinds: Counter[str] = Counter()
    shown_findings = []
    for finding in findings:
        kinds[finding.kind] += 1
        if kinds[finding.kind] <= _MAX_PROPOSALS_PER_KIND:
            shown_findings.append(finding)
    return shown_findings, Counter(
        {kind: number - _MAX_PROPOSALS_PER_KIND for kind, number in kinds.items() if number > _MAX_PROPOSALS_PER_KIND}
    )


def _yaml_member(finding: Finding) -> str:
    if finding.path in _MAPPINGS:
        key, value = finding.value
        return f"{inline_yaml(key)}: {inline_yaml(value)}"
    return f"- {inline_yaml(finding.value)}"


def _comment_prefix(findings: list[Finding]) -> str:
    """Return the lines that make a key a comment if everything below it is one: a key without a value is no setting."""
    return "" if any(finding.sure for finding in findings) else "# "


def _comment(finding: Finding) -> str:
    examples = f" ({list_examples(list(finding.examples))})" if finding.examples else ""
    effect = f". Effect: {finding.effect}" if finding.effect else ""
    return (
        f"{finding.kind} ({finding.count:,}): {' '.join(_one_line_text(f'{finding.text}{examples}{effect}').split())}"
    )


def _one_line_text(text: str) -> str:
    """Return text in one line; each of its parts that came from events was cut before."""
    return (
        " ".join(one_line(part) for part in re.findall(r".{1,100}", text, re.DOTALL))
        if _UNPRINTABLE.search(text)
        else text
    )


def inline_yaml(value: Any) -> str:
    """Return text, a list or a mapping as YAML on one line, as the settings' loader reads it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inline_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline_yaml, value)) + "]"
    text = escape_variables(str(value))
    if _PLAIN(text) and text.lower() not in _YAML_KEYWORDS:
        return text
    if not _UNPRINTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    # YAML has no surrogate pairs, in which JSON writes characters beyond the Basic Multilingual Plane
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
