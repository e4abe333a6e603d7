"""Domains: which datasets, flows and jobs belong to which of DataHub's, by namespace and name; no event tells them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dh_bridge.settings.filters import AllowDeny, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

_MODEL = ConfigDict(extra="forbid", frozen=True)

DomainUrn = Annotated[str, StringConstraints(pattern=r"^urn:li:domain:[^\s,()]+$")]


class DomainRule(BaseModel):
    """What belongs to one domain."""

    model_config = _MODEL

    domain: DomainUrn = Field(description="URN of the domain, which must be there: `urn:li:domain:marketing`.")
    namespace: Pattern = Field(default="*", description="Glob over the namespace, as in `filters`.")
    name: Pattern = Field(default="*", description="Glob over the name, as in `filters`.")

    @cached_property
    def _patterns(self) -> tuple[AllowDeny, AllowDeny]:
        return AllowDeny(allow=(self.namespace,)), AllowDeny(allow=(self.name,))

    def matches(self, namespace: str, name: str) -> bool:
        """Whether the rule is about what has this namespace and name."""
        namespace_filter, name_filter = self._patterns
        return namespace_filter.refusal(namespace) is None and name_filter.refusal(name) is None


class DomainSettings(BaseModel):
    """Domains of datasets, and of flows and jobs: the first rule that matches; without one nothing is written.

    They are added beside those that people chose, and never removed.
    """

    model_config = _MODEL

    datasets: tuple[DomainRule, ...] = Field(
        default=(),
        description="Rules about datasets, by namespace and name as producers send them:"
        " `{domain: 'urn:li:domain:shop', namespace: 'postgres://*', name: 'shop.*'}`.",
    )
    jobs: tuple[DomainRule, ...] = Field(
        default=(), description="Rules about jobs, and about flows by the name of the flow."
    )


def domain_of(rules: Iterable[DomainRule], namespace: str, name: str) -> str | None:
    """Return the domain of the first rule that matches, None when none does."""
    return next((rule.domain for rule in rules if rule.matches(namespace, name)), None)
