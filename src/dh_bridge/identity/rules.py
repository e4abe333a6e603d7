"""The user's rules: exceptions for jobs that match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.identity.normalize import DEFAULT_NAMESPACE, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.settings.identity import JobRule

_GROUP = re.compile(r"\{(\w+)\}")


class RuleTemplate(NamedTuple):
    """Text with groups: ``repo_mod/{s}`` as literals and group names in turn."""

    pieces: tuple[str, ...]

    def fill(self, groups: Mapping[str, str | None]) -> str | None:
        """Return the text; None when a group took no part, or nothing but blanks came of it."""
        texts = [groups[piece] if position % 2 else piece for position, piece in enumerate(self.pieces)]
        return None if None in texts else clean("".join(filter(None, texts)), "") or None


class CompiledJobRule(NamedTuple):
    """A rule, compiled; ``label`` says which one it is (``rules[0]``)."""

    label: str
    namespace: re.Pattern[str] | None
    name: re.Pattern[str] | None
    producer: re.Pattern[str] | None
    flow: RuleTemplate | None
    job: RuleTemplate | None
    platform: str | None
    instance: str | None
    cluster: str | None
    env: str | None
    skip: bool
    granularity: str | None = None

    def fits_producer(self, uri: str | None) -> bool:
        """Whether the rule can hold for this producer; a reference to a job (None) fits no producer's rule."""
        return self.producer is None or (uri is not None and self.producer.search(uri) is not None)

    def match_groups(self, namespace: str, name: str) -> dict[str, str | None] | None:
        """Return what the templates may use when the rule holds, None when it does not."""
        if self.namespace is not None and not self.namespace.fullmatch(namespace):
            return None
        match = self.name.fullmatch(name) if self.name is not None else None
        if self.name is not None and match is None:
            return None
        name_groups = match.groupdict() if match is not None else {}
        return {**name_groups, "namespace": namespace, "job": name}


def compile_job_rules(rules: Iterable[JobRule]) -> tuple[CompiledJobRule, ...]:
    """Return the rules of the settings, in their order."""
    return tuple(_compile_rule(f"rules[{position}]", rule) for position, rule in enumerate(rules))


def _compile_rule(label: str, rule: JobRule) -> CompiledJobRule:
    return CompiledJobRule(
        label=label,
        namespace=re.compile(rule.namespace) if rule.namespace is not None else None,
        name=re.compile(rule.name) if rule.name is not None else None,
        producer=re.compile(rule.producer) if rule.producer is not None else None,
        flow=RuleTemplate(tuple(_GROUP.split(rule.flow))) if rule.flow else None,
        job=RuleTemplate(tuple(_GROUP.split(rule.job))) if rule.job else None,
        platform=rule.platform,
        instance=clean(rule.instance, "") or None if rule.instance else None,
        cluster=clean(rule.cluster, DEFAULT_NAMESPACE) if rule.cluster else None,
        env=rule.env,
        skip=rule.skip,
        granularity=rule.granularity,
    )
