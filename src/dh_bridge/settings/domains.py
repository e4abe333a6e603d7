"""Domains: which datasets, flows and jobs belong to which domain of DataHub, by namespace and name."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dh_bridge.settings.filters import PatternList, Patterns

if TYPE_CHECKING:
    from collections.abc import Mapping

DOMAIN_URN_PATTERN = r"^urn:li:domain:[^\s,()]+$"
DomainUrn = Annotated[str, StringConstraints(pattern=DOMAIN_URN_PATTERN)]


class DomainSettings(BaseModel):
    """Domains of datasets, and of flows and jobs, which events do not state.

    A domain's list has the patterns of `filters`: a pattern with a slash is compared with `namespace/name`, one without a
    slash with the name. The first domain whose list includes the entity is added. Domains that people chose stay.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    datasets: dict[DomainUrn, Patterns] = Field(
        default={},
        description="Patterns of datasets by the URN of an existing domain, with namespaces and names as producers send them:"
        " `{'urn:li:domain:shop': ['postgres://*/shop.*']}`.",
    )
    jobs: dict[DomainUrn, Patterns] = Field(
        default={}, description="Patterns of jobs, and of flows, by the URN of an existing domain."
    )

    def of_dataset(self, namespace: str, name: str) -> str | None:
        """Return the URN of the dataset's domain, None if no domain includes it."""
        return _first_domain(self.datasets, namespace, name)

    def of_job(self, namespace: str, name: str) -> str | None:
        """Return the URN of the domain of a job or a flow, None if no domain includes it."""
        return _first_domain(self.jobs, namespace, name)


_compile_list = lru_cache(maxsize=1024)(PatternList)


def _first_domain(domains: Mapping[str, Patterns], namespace: str, name: str) -> str | None:
    return next(
        (urn for urn, patterns in domains.items() if _compile_list(patterns).exclusion(name, namespace) is None), None
    )
