"""The user's rules: exceptions for jobs that match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.identity.normalize import clean
from dh_bridge.settings.naming import FABRIC_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.settings.identity import JobRule

_GROUP = re.compile(r"\{(\w+)\}")
_TEMPLATE_KEYS = ("platform", "instance", "cluster", "env", "domain", "flow", "job")
_DATASET_KEYS = ("env", "instance", "domain")
_ENVIRONMENT_WORDS = {"PRODUCTION": "PROD", "STAGING": "STG", "STAGE": "STG", "DEVELOPMENT": "DEV", "TESTING": "TEST"}


class RuleTemplate(NamedTuple):
    """Text with groups: ``repo_mod/{s}`` as alternating literals and group names."""

    pieces: tuple[str, ...]

    def fill(self, groups: Mapping[str, str | None]) -> str | None:
        """Return the text; None if a group did not match, or if the result is blank."""
        texts = [groups[piece] if position % 2 else piece for position, piece in enumerate(self.pieces)]
        return None if None in texts else clean("".join(filter(None, texts)), "") or None


class DatasetDefaults(NamedTuple):
    """The defaults that a rule sets for the datasets of its jobs.

    ``has_unknown_env``: the rule names an environment that DataHub does not have, for this job.
    """

    env: str | None = None
    instance: str | None = None
    domain: str | None = None
    has_unknown_env: bool = False


class CompiledJobRule(NamedTuple):
    """A compiled rule; ``label`` identifies it (``rules[0]``)."""

    label: str
    namespace: re.Pattern[str] | None
    name: re.Pattern[str] | None
    producer: re.Pattern[str] | None
    templates: Mapping[str, RuleTemplate]
    skip: bool
    granularity: str | None = None

    def fits_producer(self, uri: str | None) -> bool:
        """Whether the rule can hold for this producer; a reference to a job (None) fits no producer's rule."""
        return self.producer is None or (uri is not None and self.producer.search(uri) is not None)

    def match(self, namespace: str, name: str) -> RuleMatch | None:
        """Return the rule with the groups of its expressions, None when it does not hold."""
        groups: dict[str, str | None] = {}
        for pattern, text in ((self.namespace, namespace), (self.name, name)):
            if pattern is None:
                continue
            match = pattern.fullmatch(text)
            if match is None:
                return None
            groups |= match.groupdict()
        return RuleMatch(self, {**groups, "namespace": namespace, "job": name})


class RuleMatch(NamedTuple):
    """A rule that holds for a job, and what its templates may use."""

    rule: CompiledJobRule
    groups: Mapping[str, str | None]

    @property
    def label(self) -> str:
        """The rule's label."""
        return self.rule.label

    def has(self, key: str) -> bool:
        """Whether the rule has a template for ``key``."""
        return key in self.rule.templates

    def fill(self, key: str) -> str | None:
        """Return the text of a setting of the rule; None when it has none, or a group of it took no part."""
        template = self.rule.templates.get(key)
        return None if template is None else template.fill(self.groups)

    def env(self, key: str = "env") -> str | None:
        """Return the environment of a setting of the rule, None when it has none or gives no environment."""
        text = (self.fill(key) or "").upper()
        env = _ENVIRONMENT_WORDS.get(text, text)
        return env if env in FABRIC_TYPES else None

    def dataset_defaults(self) -> DatasetDefaults:
        """Return the defaults that the rule sets for the datasets of the job."""
        return DatasetDefaults(
            self.env("datasets.env" if self.has("datasets.env") else "env"),
            self.fill("datasets.instance"),
            self.fill("datasets.domain" if self.has("datasets.domain") else "domain"),
            any(self.fill(key) and self.env(key) is None for key in ("env", "datasets.env")),
        )


def first_match(rules: Iterable[CompiledJobRule], namespace: str, name: str) -> RuleMatch | None:
    """Return the first rule that holds for a job, None for none."""
    return next((match for rule in rules if (match := rule.match(namespace, name)) is not None), None)


def compile_job_rules(rules: Iterable[JobRule]) -> tuple[CompiledJobRule, ...]:
    """Return the rules of the settings, in their order."""
    return tuple(_compile_rule(f"rules[{position}]", rule) for position, rule in enumerate(rules))


def _compile_rule(label: str, rule: JobRule) -> CompiledJobRule:
    texts = {key: getattr(rule, key) for key in _TEMPLATE_KEYS}
    texts |= {f"datasets.{key}": getattr(rule.datasets, key) for key in _DATASET_KEYS}
    return CompiledJobRule(
        label=label,
        namespace=re.compile(rule.namespace) if rule.namespace is not None else None,
        name=re.compile(rule.name) if rule.name is not None else None,
        producer=re.compile(rule.producer) if rule.producer is not None else None,
        templates={key: RuleTemplate(tuple(_GROUP.split(text))) for key, text in texts.items() if text},
        skip=rule.skip,
        granularity=rule.granularity,
    )
