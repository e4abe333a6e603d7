"""The report of a check as text: one block for each kind of finding, the most harmful kind first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from dh_bridge.checking.finding import Finding, count_text, one_line
from dh_bridge.checking.kinds import KINDS, rank_of
from dh_bridge.checking.yaml_output import rule_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_FINDINGS_PER_KIND = 10
"""Findings of one kind that are shown, at most."""


def format_report(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the report; each block ends with an empty line."""
    ranked = sorted(findings, key=lambda finding: (rank_of(finding.kind), -finding.count))
    for number, (kind, group) in enumerate(groupby(ranked, key=lambda finding: finding.kind), 1):
        kind_findings = list(group)
        texts = KINDS[kind]
        yield f"{number}. {texts.title} [{kind}: {count_text(len(kind_findings), 'finding')}]"
        yield f"   {texts.harm}"
        for finding in kind_findings[:_MAX_FINDINGS_PER_KIND]:
            yield from _finding_lines(finding)
        if len(kind_findings) > _MAX_FINDINGS_PER_KIND:
            yield f"   … and {len(kind_findings) - _MAX_FINDINGS_PER_KIND:,} more (--json shows all)"
        if texts.remedy and not any(finding.path for finding in kind_findings):
            yield f"   Remedy: {texts.remedy}"
        yield ""


def _finding_lines(finding: Finding) -> Iterator[str]:
    count = f"{finding.count:,} x " if finding.count > 1 else ""
    yield f"   - {count}{one_line(finding.text, max_length=300)}"
    for example in finding.examples:
        yield f"       {one_line(example, max_length=200)}"
    if finding.path:
        effect = f": {finding.effect}" if finding.effect else ""
        yield f"     {'Rule' if finding.sure else 'Rule to complete or to decide'}{effect}"
        yield from (f"       {line}" for line in rule_lines(finding))
