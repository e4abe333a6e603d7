"""The default mode of identity: f(namespace, name, producer family, static configuration) and nothing else.

No facet, event type, arrival order or memory takes part. Another mode is another class with
the same ``build``.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dh_bridge.datahub.urns import data_flow_urn, data_job_urn
from dh_bridge.settings.naming import FABRIC_TYPES
from dh_bridge.translation.identity.job import Job
from dh_bridge.translation.identity.normalize import (
    CLUSTER_LIMIT,
    DEFAULT_NAMESPACE,
    FLOW_LIMIT,
    JOB_LIMIT,
    PLACEHOLDER,
    clean,
    cut,
    fitted,
)
from dh_bridge.translation.identity.splitting import Parts
from dh_bridge.translation.identity.warnings import NAME_CUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.settings.identity import IdentitySettings
    from dh_bridge.translation.identity.producers import Families, Producer
    from dh_bridge.translation.identity.rules import Rule
    from dh_bridge.translation.identity.splitting import Splitting


class Sender(NamedTuple):
    """Who sends events: the family of a producer's URI, and the rules that can hold for it.

    ``kind`` is what ``Job.sender`` keeps of it, None when an event did not say. ``fallback`` is the platform when neither rule, scheme nor family gives one, with its reason.
    """

    kind: str | None
    family: Producer | None
    rules: tuple[Rule, ...]
    fallback: tuple[str, str] | None


class Mode(Protocol):
    """A way to name jobs."""

    def build(self, namespace: str, name: str, raw: str, sender: Sender) -> Job | None:
        """Return the job for canonical namespace and cleaned name; None when no platform is known."""
        ...


class DefaultMode:
    """Identity from the three things that every event of a job has."""

    def __init__(self, settings: IdentitySettings, families: Families, splitting: Splitting) -> None:
        self._cluster = clean(settings.cluster, DEFAULT_NAMESPACE) if settings.cluster else None
        self._granularity = settings.granularity
        self._families = families
        self._splitting = splitting

    def build(self, namespace: str, name: str, raw: str, sender: Sender) -> Job | None:
        """Return the job; None when neither rule, scheme, producer nor fallback gives a platform."""
        rule, said = _first(sender.rules, namespace, name)
        known = self._platform(namespace, rule, sender)
        if known is None:
            return None
        platform, why_platform = known
        parts = self._splitting.split(platform, name)
        if rule is not None and (rule.flow or rule.job):
            parts = _ruled(parts, rule, said)
        cluster, why_cluster = self._clustered(namespace, rule)
        instance = rule.instance if rule else None
        whole = parts.flow if instance is None else f"{instance}.{parts.flow}"
        cluster_id, flow_id, flow_urn = _flow(platform, whole, cluster)
        job_id, job_urn = fitted(parts.job, partial(data_job_urn, flow_urn), JOB_LIMIT)
        level = "flow" if parts.job == parts.flow else "job"
        env, why_env = _env(cluster, rule)
        is_cut = flow_id != whole or job_id != parts.job or cluster_id != cluster
        return Job(
            platform,
            level,
            flow_urn,
            job_urn,
            parts.flow,
            parts.flow if level == "flow" else parts.display,
            flow_id,
            job_id,
            cluster_id,
            instance,
            env,
            namespace,
            raw,
            placeholder=name == PLACEHOLDER,
            skip=rule is not None and rule.skip,
            rules=(
                f"platform: {why_platform}",
                f"flow: {parts.why}{', cut' if flow_id != whole else ''}",
                f"job: {parts.why}{', cut' if job_id != parts.job else ''}",
                f"cluster: {why_cluster}{', cut' if cluster_id != cluster else ''}",
                *((f"instance: {rule.label}",) if rule and instance else ()),
                *((f"env: {why_env}",) if env else ()),
                *((f"skip: {rule.label}",) if rule and rule.skip else ()),
            ),
            lints=(NAME_CUT,) if is_cut else (),
            shared=parts.shared,
            sender=sender.kind,
            granularity=(rule.granularity if rule else None) or self._granularity,
        )

    def _platform(self, namespace: str, rule: Rule | None, sender: Sender) -> tuple[str, str] | None:
        if rule is not None and rule.platform:
            return rule.platform, rule.label
        scheme = self._families.scheme(namespace)
        if scheme is not None:
            return scheme[0], f"namespace scheme of {scheme[1]}"
        if sender.family is not None:
            return sender.family.platform, f"producer {sender.family.id}"
        return sender.fallback

    def _clustered(self, namespace: str, rule: Rule | None) -> tuple[str, str]:
        if rule is not None and rule.cluster:
            return rule.cluster, rule.label
        if self._cluster is not None:
            return self._cluster, "identity.cluster"
        return namespace, "job namespace"


def _flow(platform: str, name: str, cluster: str) -> tuple[str, str, str]:
    """Return cluster and name of a flow, cut to DataHub's limits, and its URN; the same for all of its jobs."""
    if len(name) > FLOW_LIMIT or len(cluster) > CLUSTER_LIMIT:
        return _named_flow.__wrapped__(platform, name, cluster)  # too long to be remembered
    return _named_flow(platform, name, cluster)


@lru_cache(maxsize=4096)
def _named_flow(platform: str, name: str, cluster: str) -> tuple[str, str, str]:
    cluster_id = cut(cluster, CLUSTER_LIMIT)
    return cluster_id, *fitted(name, lambda part: data_flow_urn(platform, part, cluster_id), FLOW_LIMIT)


def _first(rules: tuple[Rule, ...], namespace: str, name: str) -> tuple[Rule | None, Mapping[str, str | None]]:
    for rule in rules:
        said = rule.groups(namespace, name)
        if said is not None:
            return rule, said
    return None, {}


def _ruled(parts: Parts, rule: Rule, said: Mapping[str, str | None]) -> Parts:
    """Apply a rule's templates; a job template whose group took no part makes a flow-level job."""
    flow = (rule.flow.filled(said) if rule.flow else None) or parts.flow
    job = (rule.job.filled(said) or flow) if rule.job else parts.job
    if (flow, job) == (parts.flow, parts.job):
        return parts._replace(why=rule.label)
    # The flow's name is no news in its job's: DataHub shows `<flow>.<job>` in lineage.
    return Parts(flow, job, job.removeprefix(f"{flow}.") or job, rule.label, parts.shared and rule.job is None)


def _env(cluster: str, rule: Rule | None) -> tuple[str | None, str]:
    if rule is not None and rule.env:
        return rule.env, rule.label
    fabric = cluster.upper()
    return (fabric, "cluster") if fabric in FABRIC_TYPES else (None, "")
