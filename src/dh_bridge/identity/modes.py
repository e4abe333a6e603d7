"""The default mode of identity: a pure function of namespace, name, producer family and static configuration.

The ids do not depend on event type, arrival order or earlier events, and on no facet except ``jobType``, which names the
family of an unknown producer. Another mode is another class with the same ``build``.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dh_bridge.datahub.urns import data_flow_urn, data_job_urn
from dh_bridge.identity.normalize import (
    DEFAULT_NAMESPACE,
    MAX_CLUSTER_BYTES,
    MAX_FLOW_BYTES,
    MAX_JOB_BYTES,
    PLACEHOLDER,
    clean,
    cut_component,
    fit_urn,
)
from dh_bridge.identity.rules import first_match
from dh_bridge.identity.splitting import JobNameParts
from dh_bridge.identity.warnings import NAME_CUT
from dh_bridge.model.job import Job
from dh_bridge.settings.naming import FABRIC_TYPES

if TYPE_CHECKING:
    from dh_bridge.identity.producers import ProducerFamilies, ProducerFamily
    from dh_bridge.identity.rules import CompiledJobRule, RuleMatch
    from dh_bridge.identity.splitting import JobNameSplitter
    from dh_bridge.identity.varying_names import VaryingNames
    from dh_bridge.settings.identity import IdentitySettings


class ProducerMatch(NamedTuple):
    """Who sends events: the family of a producer's URI, and the rules that can hold for it.

    ``key`` is what ``Job.sender`` keeps of it, None when an event did not say. ``fallback`` is the platform when neither rule, scheme nor family gives one, with its reason.
    """

    key: str | None
    family: ProducerFamily | None
    rules: tuple[CompiledJobRule, ...]
    fallback: tuple[str, str] | None


class Mode(Protocol):
    """A way to name jobs."""

    def build(self, namespace: str, name: str, raw_name: str, producer_match: ProducerMatch) -> Job | None:
        """Return the job for canonical namespace and cleaned name; None when no platform is known."""
        ...


class DefaultMode:
    """Identity from the three things that every event of a job has."""

    def __init__(
        self,
        settings: IdentitySettings,
        families: ProducerFamilies,
        splitting: JobNameSplitter,
        varying_names: VaryingNames,
    ) -> None:
        self._cluster = clean(settings.cluster, DEFAULT_NAMESPACE) if settings.cluster else None
        self._granularity = settings.granularity
        self._families = families
        self._splitting = splitting
        self._varying_names = varying_names if settings.varying_names == "cut" else None

    def build(self, namespace: str, name: str, raw_name: str, producer_match: ProducerMatch) -> Job | None:
        """Return the job; None when neither rule, scheme, producer nor fallback gives a platform."""
        rule = first_match(producer_match.rules, namespace, name)
        platform_choice = self._resolve_platform(namespace, rule, producer_match)
        if platform_choice is None:
            return None
        platform, platform_reason = platform_choice
        parts, stable_name = self._split(platform, name)
        if rule is not None and (rule.has("flow") or rule.has("job")):
            parts = _apply_rule(parts, rule)
        cluster, cluster_reason = self._resolve_cluster(namespace, rule)
        instance = rule.fill("instance") if rule else None
        full_flow_id = parts.flow if instance is None else f"{instance}.{parts.flow}"
        cluster_id, flow_id, flow_urn = _fit_flow(platform, full_flow_id, cluster)
        job_id, job_urn = fit_urn(parts.job, partial(data_job_urn, flow_urn), MAX_JOB_BYTES)
        level = "flow" if parts.job == parts.flow else "job"
        env, env_reason = _resolve_env(cluster, rule)
        is_cut = flow_id != full_flow_id or job_id != parts.job or cluster_id != cluster
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
            stable_name or raw_name,
            placeholder=name == PLACEHOLDER,
            skip=rule is not None and rule.rule.skip,
            rules=(
                f"platform: {platform_reason}",
                f"flow: {parts.reason}{', cut' if flow_id != full_flow_id else ''}",
                f"job: {parts.reason}{', cut' if job_id != parts.job else ''}",
                f"cluster: {cluster_reason}{', cut' if cluster_id != cluster else ''}",
                *((f"instance: {rule.label}",) if rule and instance else ()),
                *((f"env: {env_reason}",) if env else ()),
                *((f"skip: {rule.label}",) if rule and rule.rule.skip else ()),
            ),
            lints=(NAME_CUT,) if is_cut else (),
            shared=parts.shared,
            producer_key=producer_match.key,
            granularity=(rule.rule.granularity if rule else None) or self._granularity,
        )

    def _split(self, platform: str, name: str) -> tuple[JobNameParts, str | None]:
        """Return the parts of a name; and the name without what changes with every run, None if nothing does."""
        if self._varying_names is None or self._splitting.has_form(platform, name):
            return self._splitting.split(platform, name), None
        stable_name = self._varying_names.stable_name(platform, name)
        parts = self._splitting.split(platform, stable_name.name)
        if not stable_name.forms:
            return parts, None
        reason = f"{parts.reason}, without {', '.join(stable_name.forms)}"
        return parts._replace(reason=reason, shared=parts.shared or stable_name.is_shared), stable_name.name

    def _resolve_platform(
        self, namespace: str, rule: RuleMatch | None, producer_match: ProducerMatch
    ) -> tuple[str, str] | None:
        if rule is not None and (platform := rule.fill("platform")):
            return platform, rule.label
        scheme = self._families.platform_of_scheme(namespace)
        if scheme is not None:
            return scheme[0], f"namespace scheme of {scheme[1]}"
        if producer_match.family is not None:
            return producer_match.family.platform, f"producer {producer_match.family.id}"
        return producer_match.fallback

    def _resolve_cluster(self, namespace: str, rule: RuleMatch | None) -> tuple[str, str]:
        if rule is not None and (cluster := rule.fill("cluster")):
            return cluster, rule.label
        if self._cluster is not None:
            return self._cluster, "identity.cluster"
        return namespace, "job namespace"


def _fit_flow(platform: str, name: str, cluster: str) -> tuple[str, str, str]:
    """Return cluster and name of a flow, cut to DataHub's limits, and its URN; the same for all of its jobs."""
    if len(name) > MAX_FLOW_BYTES or len(cluster) > MAX_CLUSTER_BYTES:
        return _fit_flow_cached.__wrapped__(platform, name, cluster)  # too long to be remembered
    return _fit_flow_cached(platform, name, cluster)


@lru_cache(maxsize=4096)
def _fit_flow_cached(platform: str, name: str, cluster: str) -> tuple[str, str, str]:
    cluster_id = cut_component(cluster, MAX_CLUSTER_BYTES)
    return cluster_id, *fit_urn(name, lambda part: data_flow_urn(platform, part, cluster_id), MAX_FLOW_BYTES)


def _apply_rule(parts: JobNameParts, rule: RuleMatch) -> JobNameParts:
    """Apply a rule's templates; a job template whose group took no part makes a flow-level job."""
    flow = rule.fill("flow") or parts.flow
    job = (rule.fill("job") or flow) if rule.has("job") else parts.job
    if (flow, job) == (parts.flow, parts.job):
        return parts._replace(reason=rule.label)
    # The flow's name is no news in its job's: DataHub shows `<flow>.<job>` in lineage.
    return JobNameParts(
        flow, job, job.removeprefix(f"{flow}.") or job, rule.label, parts.shared and not rule.has("job")
    )


def _resolve_env(cluster: str, rule: RuleMatch | None) -> tuple[str | None, str]:
    if rule is not None and (env := rule.env()):
        return env, rule.label
    fabric = cluster.upper()
    return (fabric, "cluster") if fabric in FABRIC_TYPES else (None, "")
