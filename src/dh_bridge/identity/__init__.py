"""Identity: which dataFlow, dataJob and run an OpenLineage job and its runs are.

The steps: ``normalize`` cleans the names, ``producers`` finds the platform, ``varying_names`` cuts what changes with every run, ``splitting`` cuts the name into flow and job,
``rules`` are the user's exceptions, ``modes`` combines them, ``runs`` names runs. Other modes are overlays over the default
mode, and read more of an event (``overlay``, ``hints``, ``compat``, ``airflow_plugin``, ``dbt_nodes``). ``subtypes``,
``warnings`` and ``event`` add texts about a job; they do not change URNs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from dh_bridge.datahub.urns import platform_instance_urn
from dh_bridge.identity.airflow_plugin import AirflowPlugin
from dh_bridge.identity.compat import CompatMode
from dh_bridge.identity.dbt_nodes import DbtSource, UniqueIds
from dh_bridge.identity.granularity import application_name, application_of, task_of
from dh_bridge.identity.hints import Hints, decode_facet, read_hints
from dh_bridge.identity.modes import DefaultMode, Mode, ProducerMatch
from dh_bridge.identity.normalize import PLACEHOLDER, NameNormalizer
from dh_bridge.identity.overlay import CheckNamingOverlay, IdentityOverlay
from dh_bridge.identity.producers import ProducerFamilies, ProducerFamily, load_producer_mappings
from dh_bridge.identity.rules import DatasetDefaults, compile_job_rules, first_match
from dh_bridge.identity.runs import RunUrns
from dh_bridge.identity.splitting import JobNameSplitter
from dh_bridge.identity.varying_names import load_varying_names
from dh_bridge.model.job import AIRFLOW, DBT, DEFAULT_PLATFORM, Job
from dh_bridge.settings.dbt import DbtSettings
from dh_bridge.settings.identity import IdentitySettings

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.identity.rules import RuleMatch
    from dh_bridge.openlineage.events import Event

__all__ = ["EventIdentity", "Identity", "Job", "ProducerFamily"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_DEFAULT_PLATFORM = (DEFAULT_PLATFORM, "default")
#: Families whose jobs start jobs of other tools.
_PARENT_FAMILIES = ("airflow", "dagster", "prefect", "dbt", "spark")
_NO_DEFAULTS = DatasetDefaults()
_MAX_CACHED_NAMES = 20_000
_MAX_CACHED_LENGTH = 2_000


class Identity:
    """Names jobs and runs. It is built once and used for each event. Pure: the same arguments have the same result."""

    def __init__(
        self,
        settings: IdentitySettings | None = None,
        overlay: Path | None = None,
        dbt: DbtSettings | None = None,
        *,
        dataset_env: str = "PROD",
    ) -> None:
        settings = settings or IdentitySettings()
        mappings = list(load_producer_mappings(overlay))
        self._normalizer = NameNormalizer(settings)
        self._families = ProducerFamilies(mappings)
        self._mode: Mode = DefaultMode(settings, self._families, JobNameSplitter(mappings), load_varying_names(overlay))
        self._foreign_run_tools = frozenset((DBT,) if settings.airflow_plugin.runs == "openlineage" else (DBT, AIRFLOW))
        self._rules = compile_job_rules(settings.rules)
        #: whether statements of dbt belong to their nodes; ids of other tools are not changed
        self.folds_statements = (dbt or DbtSettings()).statements == "fold" and not {
            "datahub-openlineage",
            "datahub-dbt-source",
        } & set(settings.mode)
        self._overlays = _build_overlays(settings, dbt or DbtSettings(), dataset_env)
        #: whether a rule gives datasets that its jobs name an environment, an instance or a domain
        self.has_dataset_rules = any(
            {"env", "domain", "datasets.env", "datasets.instance", "datasets.domain"} & rule.templates.keys()
            for rule in self._rules
        )
        self.has_skip_rules = any(rule.skip for rule in self._rules)
        self._always_has_flow_job = settings.flow_level_jobs == "flow+task"
        self._jobs: dict[tuple[str, str, str | None], Job] = {}
        self._producers: dict[str, ProducerFamily | None] = {}
        self._matches_by_uri: dict[str | None, ProducerMatch] = {}
        self._matches_by_key: dict[str, ProducerMatch] = {}
        self._references: dict[tuple[str | None, ...], Job | None] = {}
        self.run_urn = RunUrns(self._normalizer, salted=settings.salt is not None).urn

    def for_event(self, event: Event) -> Identity | EventIdentity:
        """Return the names as ``event`` sees them: these, unless the mode reads more of an event than its names."""
        return self if not self._overlays else EventIdentity(self, self._overlays, read_hints(event))

    def for_hints(self, event_hints: Hints) -> Identity | EventIdentity:
        """Return the names as an event of these hints sees them."""
        return self if not self._overlays else EventIdentity(self, self._overlays, event_hints)

    def job(self, namespace: str, name: str, producer: str | None) -> Job:
        """Return the job of an event, from ``job.namespace``, ``job.name`` and ``producer``."""
        key = (namespace, name, producer)
        job = self._jobs.get(key)
        if job is not None:
            return job
        # An event's sender always has a fallback, the default platform.
        job = cast(
            "Job",
            self._mode.build(
                self._normalizer.namespace(namespace), self._normalizer.name(name), name, self._match_for_uri(producer)
            ),
        )
        if _is_cacheable(*key):
            _store(self._jobs, key, job)
        return job

    def carrier(self, job: Job, producer: str | None) -> Job:
        """Return the job that has the inputs and outputs of ``job``: itself, unless its granularity merges it into another."""
        if job.placeholder or job.skip:
            return job
        task_name = task_of(job, folds_statements=self.folds_statements)
        if task_name is not None:
            return self.job(job.namespace, task_name, producer)
        application_job = application_of(job)
        if application_job is None:
            return job
        # A rule may name the application's own job: each application of a flow has one.
        own_job = self.job(job.namespace, application_name(job), producer)
        if own_job.flow_urn == job.flow_urn:
            return own_job
        return job if any(reason.startswith("job: rules[") for reason in job.rules) else application_job

    def dataset_defaults(self, namespace: str, name: str, producer: str | None) -> DatasetDefaults:
        """Return the defaults that the rule of an event's job sets for the datasets of the event."""
        match = self._rule_match(namespace, name, producer)
        return _NO_DEFAULTS if match is None else match.dataset_defaults()

    def domain(self, namespace: str, name: str, producer: str | None) -> str | None:
        """Return the URN of the domain that a rule gives an event's job."""
        match = self._rule_match(namespace, name, producer)
        return None if match is None else match.fill("domain")

    def _rule_match(self, namespace: str, name: str, producer: str | None) -> RuleMatch | None:
        rules = self._match_for_uri(producer).rules
        return first_match(rules, self._normalizer.namespace(namespace), self._normalizer.name(name))

    def check_urn(self) -> str | None:
        """Return None: only modes that join a tool of DataHub name checks."""
        return None

    def producer(self, uri: str | None) -> ProducerFamily | None:
        """Return the family of a producer's URI, None for an unknown producer."""
        if uri is None:
            return None
        if uri in self._producers:
            return self._producers[uri]
        family = self._families.by_uri(uri)
        if _is_cacheable(uri):
            _store(self._producers, uri, family)
        return family

    def sender(self, producer: str | None, integration: str | None) -> str | None:
        """Return the URI by which a producer is known: its own, else that of the integration that its job states.

        Args:
            producer: ``producer`` of the event.
            integration: ``jobType.integration`` of its job; decides if no family has the producer.
        """
        if not integration or self.producer(producer) is not None:
            return producer
        return self._families.uri_of_integration(producer, integration)

    def sender_of(self, event: Event) -> str | None:
        """Return the URI by which the producer of ``event`` is known."""
        if "jobType" not in event.job_facets or self.producer(event.producer) is not None:
            return event.producer
        integration = decode_facet(event.job_facets, "jobType").get("integration")
        return self.sender(event.producer, integration if isinstance(integration, str) else None)

    def assertion_source(self, event: Event, platform: str) -> tuple[str, str]:
        """Return the platform of the checks of an event, whose job is of ``platform``, and what their type is called."""
        family = self.producer(self.sender_of(event))
        checker = self._families.checker(event.run_facets, family)
        if checker is not None and checker is not family:
            platform = checker.platform
        return platform, (checker.assertion_label if checker is not None else None) or f"{platform} check"

    def reference(self, namespace: str, name: str, *, referrer: Job | None) -> Job | None:
        """Return the job that another job refers to, without a producer (a parent, a dependency); None: unresolved.

        A rule or the namespace's scheme gives its platform, else it is taken for a neighbour of ``referrer`` when both
        share the namespace, as if the same producer had sent it.
        """
        key = (
            (namespace, name)
            if referrer is None
            else (namespace, name, referrer.namespace, referrer.platform, referrer.producer_key)
        )
        if key in self._references:
            return self._references[key]
        job = self._resolve_reference(namespace, name, referrer)
        if _is_cacheable(*key):
            _store(self._references, key, job)
        return job

    def parent(self, namespace: str, name: str, *, referrer: Job | None, integration: str = "") -> Job | None:
        """Return the job that the job ``referrer`` names as its parent; None: unresolved.

        ``integration`` is the tool of the parent (AIRFLOW), if it is stated. Without it the producer decides: the parent of Spark's
        SQL is Spark's application in any namespace (dbt's moves to that of its own parent); the parent of the application belongs
        to another tool in any namespace.
        """
        family_id = self._families.id_of_integration(integration)
        if family_id is not None:
            return self._build_job(namespace, name, self._match_for_key(family_id))
        producer_match = (
            self._match_for_key(referrer.producer_key)
            if referrer is not None and referrer.producer_key is not None
            else None
        )
        if (
            referrer is None
            or producer_match is None
            or producer_match.family is None
            or producer_match.family.parents == "all"
        ):
            return self.reference(namespace, name, referrer=referrer)
        if producer_match.family.parents == "jobs" and referrer.level == "job":
            return self._build_job(namespace, name, producer_match)
        return self.reference(namespace, name, referrer=None)

    def parent_candidates(self, namespace: str, name: str) -> tuple[str, ...]:
        """Return the URNs of the possible jobs of a parent whose tool is unknown, those of orchestrators first."""
        matches = [self._match_for_key(family_id) for family_id in _PARENT_FAMILIES] + [self._match_for_uri(None)]
        jobs = [self._build_job(namespace, name, producer_match) for producer_match in matches]
        return tuple(dict.fromkeys(job.owner_urn for job in jobs if job is not None and not job.skip))

    def has_job(self, job: Job, *, has_io: bool) -> bool:
        """Whether the dataJob exists: a flow-level job has one only with inputs or outputs (``has_io``)."""
        if job.placeholder or job.skip:
            return False
        return job.level == "job" or has_io or self._always_has_flow_job

    def template(self, job: Job, *, has_io: bool) -> str | None:
        """Return the parentTemplate of the job's runs: the dataJob if it exists, else the dataFlow."""
        if job.placeholder or job.skip:
            return job.template
        return job.job_urn if self.has_job(job, has_io=has_io) else job.flow_urn

    def has_foreign_runs(self, job: Job) -> bool:
        """Whether the job's runs have ids of a tool of DataHub, as far as their events show."""
        return job.foreign_owner in self._foreign_run_tools and job.level == "job"

    def platform_instance(self, job: Job) -> str | None:
        """Return the dataPlatformInstance URN, None when no rule gives an instance."""
        return None if job.instance is None else platform_instance_urn(job.platform, job.instance)

    def _match_for_uri(self, uri: str | None) -> ProducerMatch:
        producer_match = self._matches_by_uri.get(uri)
        if producer_match is None:
            family = self.producer(uri)
            labels = [rule.label for rule in self._rules if rule.fits_producer(uri or "")]
            producer_match = self._match_for_key("|".join((family.id if family else "", *labels)))
            if _is_cacheable(uri):
                _store(self._matches_by_uri, uri, producer_match)
        return producer_match

    def _match_for_key(self, key: str) -> ProducerMatch:
        """Return the sender that ``Job.sender`` names: a family's id and the labels of the rules that fit its URI."""
        producer_match = self._matches_by_key.get(key)
        if producer_match is None:
            family_id, *labels = key.split("|")
            rules = tuple(rule for rule in self._rules if rule.label in labels)
            producer_match = ProducerMatch(key, self._families.by_id(family_id), rules, _DEFAULT_PLATFORM)
            _store(self._matches_by_key, key, producer_match)
        return producer_match

    def _resolve_reference(self, namespace: str, name: str, referrer: Job | None) -> Job | None:
        canonical_namespace = self._normalizer.namespace(namespace)
        if referrer is not None and referrer.producer_key is not None and canonical_namespace == referrer.namespace:
            return self._build_job(namespace, name, self._match_for_key(referrer.producer_key))
        fallback = (
            (referrer.platform, "neighbour")
            if referrer is not None and canonical_namespace == referrer.namespace
            else None
        )
        rules = tuple(rule for rule in self._rules if rule.fits_producer(None))
        return self._build_job(namespace, name, ProducerMatch(None, None, rules, fallback))

    def _build_job(self, namespace: str, name: str, producer_match: ProducerMatch) -> Job | None:
        """Return the job that another one names, None for a placeholder and where nothing gives a platform."""
        job_name = self._normalizer.name(name)
        return (
            None
            if job_name == PLACEHOLDER
            else self._mode.build(self._normalizer.namespace(namespace), job_name, name, producer_match)
        )


class EventIdentity:
    """The names of everything that one event names; as :class:`Identity`, but by the event's hints."""

    def __init__(self, identity: Identity, overlays: tuple[IdentityOverlay, ...], hints: Hints) -> None:
        self._identity = identity
        self._overlays = overlays
        self._hints = hints
        self._event_job: Job | None = None

    def job(self, namespace: str, name: str, producer: str | None) -> Job:
        """Return the event's own job, or another one that its producer's facets name."""
        return self._apply_overlays(self._identity.job(namespace, name, producer))

    def carrier(self, job: Job, producer: str | None) -> Job:
        """Return the job that carries the inputs and outputs of ``job``."""
        task_name = (
            task_of(job, folds_statements=self._identity.folds_statements)
            if not job.placeholder and not job.skip
            else None
        )
        return (
            self._identity.carrier(job, producer) if task_name is None else self.job(job.namespace, task_name, producer)
        )

    def reference(self, namespace: str, name: str, *, referrer: Job | None) -> Job | None:
        """Return the job that the event refers to; None: unresolved."""
        job = self._identity.reference(namespace, name, referrer=referrer)
        return None if job is None else self._apply_overlays(job)

    def parent(self, namespace: str, name: str, *, referrer: Job | None, integration: str = "") -> Job | None:
        """Return the job that the event's job names as its parent; None: unresolved."""
        job = self._identity.parent(namespace, name, referrer=referrer, integration=integration)
        return None if job is None else self._apply_overlays(job)

    def run_urn(self, namespace: str, name: str, run_id: str) -> str:
        """Return the URN of the event's own run, or of another one that it names."""
        event_job = self._resolve_event_job()
        for overlay in reversed(self._overlays):
            urn = overlay.run_urn((namespace, name, run_id), event_job, self._hints)
            if urn is not None:
                return urn
        return self._identity.run_urn(namespace, name, run_id)

    def check_urn(self) -> str | None:
        """Return the assertion of the event's one check where a tool of DataHub names it."""
        candidates = (
            overlay.check_urn(self._resolve_event_job(), self._hints)
            for overlay in self._overlays
            if isinstance(overlay, CheckNamingOverlay)
        )
        return next((urn for urn in candidates if urn is not None), None)

    def producer(self, uri: str | None) -> ProducerFamily | None:
        """Return the family of a producer's URI."""
        return self._identity.producer(uri)

    def has_job(self, job: Job, *, has_io: bool) -> bool:
        """Whether the dataJob exists."""
        return self._identity.has_job(job, has_io=has_io)

    def template(self, job: Job, *, has_io: bool) -> str | None:
        """Return the parentTemplate of the job's runs."""
        return self._identity.template(job, has_io=has_io)

    def platform_instance(self, job: Job) -> str | None:
        """Return the dataPlatformInstance URN, None when there is no instance."""
        return self._identity.platform_instance(job)

    def _resolve_event_job(self) -> Job:
        """Return the job of the event itself."""
        if self._event_job is None:
            sender = self._identity.sender(self._hints.producer, self._hints.integration)
            self._event_job = self.job(self._hints.namespace, self._hints.name, sender)
        return self._event_job

    def _apply_overlays(self, job: Job) -> Job:
        for overlay in self._overlays:
            job = overlay.replace_job(job, self._hints, self._identity)
        return job


def _build_overlays(settings: IdentitySettings, dbt: DbtSettings, dataset_env: str) -> tuple[IdentityOverlay, ...]:
    """Return what lies over the default mode, the lowest first."""
    overlays: list[IdentityOverlay] = [UniqueIds()] if dbt.node_identity == "unique_id" else []
    if "datahub-openlineage" in settings.mode:
        overlays.append(CompatMode(settings.endpoint))
    if "datahub-airflow-plugin" in settings.mode:
        overlays.append(AirflowPlugin(settings.airflow_plugin))
    if "datahub-dbt-source" in settings.mode:
        overlays.append(DbtSource(dataset_env, lowercase=settings.dbt_urns_to_lowercase))
    return tuple(overlays)


def _is_cacheable(*texts: str | None) -> bool:
    """Whether a question may be remembered; hostile names of a megabyte would fill the memory."""
    return sum([len(text) for text in texts if text]) < _MAX_CACHED_LENGTH


def _store(cache: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    if len(cache) >= _MAX_CACHED_NAMES:
        cache.clear()
    cache[key] = value
