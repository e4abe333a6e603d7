"""Identity: which dataFlow, dataJob and run an OpenLineage job and its runs are.

The story: ``words`` cleans the names, ``families`` tells the platform, ``splitting`` cuts the name into flow and job,
``rules`` are the user's exceptions, ``modes`` puts it together, ``runs`` names runs. Other modes lie over the default one
and read more of an event (``seen``, ``hints``, ``compat``, ``airflow_plugin``, ``dbt_nodes``). ``subtypes``, ``lints`` and
``event`` say more about it; nothing of that changes an URN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from dh_bridge.datahub.urns import platform_instance_urn
from dh_bridge.settings.dbt import DbtSettings
from dh_bridge.settings.identity import IdentitySettings
from dh_bridge.translation.identity.airflow_plugin import AirflowPlugin
from dh_bridge.translation.identity.compat import Compat
from dh_bridge.translation.identity.dbt_nodes import DbtSource, UniqueIds
from dh_bridge.translation.identity.granularity import OPERATION, application_of, task_of
from dh_bridge.translation.identity.hints import Hints, hints
from dh_bridge.translation.identity.job import AIRFLOW, DBT, Job
from dh_bridge.translation.identity.modes import DefaultMode, Mode, Sender
from dh_bridge.translation.identity.normalize import PLACEHOLDER, Words
from dh_bridge.translation.identity.producers import Families, Producer, rows
from dh_bridge.translation.identity.resolved import Overlay, Seen
from dh_bridge.translation.identity.rules import compiled
from dh_bridge.translation.identity.runs import RunNames
from dh_bridge.translation.identity.splitting import Splitting

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.openlineage.events import Event

__all__ = ["Identity", "Job", "Producer", "Seen"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_REMEMBERED = 20_000
_LONG = 2_000


class Identity:
    """Names jobs and runs; built once, then asked for every event. Pure: the same question has the same answer."""

    def __init__(
        self, settings: IdentitySettings | None = None, overlay: Path | None = None, dbt: DbtSettings | None = None
    ) -> None:
        settings = settings or IdentitySettings()
        found = list(rows(overlay))
        self._words = Words(settings)
        self._families = Families(found)
        self._overlays = _overlays(settings, dbt or DbtSettings())
        self._mode: Mode = DefaultMode(settings, self._families, Splitting(found))
        self._default = (settings.default_platform, "identity.default_platform")
        self._joined_runs = frozenset((DBT,) if settings.join.airflow.runs == "openlineage" else (DBT, AIRFLOW))
        self._rules = compiled(settings.rules)
        self.skips = any(rule.skip for rule in self._rules)
        self._always_twin = settings.flow_level_jobs == "flow+task"
        self._jobs: dict[tuple[str, str, str | None], Job] = {}
        self._producers: dict[str, Producer | None] = {}
        self._senders: dict[str | None, Sender] = {}
        self._kinds: dict[str, Sender] = {}
        self._references: dict[tuple[str | None, ...], Job | None] = {}
        self.run_urn = RunNames(self._words, salted=settings.salt is not None).urn

    def of(self, event: Event) -> Identity | Seen:
        """Return the names as ``event`` sees them: these, unless the mode reads more of an event than its names."""
        return self if not self._overlays else Seen(self, self._overlays, hints(event))

    def seen(self, found: Hints) -> Identity | Seen:
        """Return the names as an event of these hints sees them."""
        return self if not self._overlays else Seen(self, self._overlays, found)

    def job(self, namespace: str, name: str, producer: str | None) -> Job:
        """Return the job of an event, from ``job.namespace``, ``job.name`` and ``producer``."""
        key = (namespace, name, producer)
        job = self._jobs.get(key)
        if job is not None:
            return job
        # An event's sender always has a fallback, the default platform.
        job = cast(
            "Job",
            self._mode.build(self._words.namespace(namespace), self._words.name(name), name, self._sender(producer)),
        )
        if _short(*key):
            _remember(self._jobs, key, job)
        return job

    def carrier(self, job: Job, producer: str | None) -> Job:
        """Return the job that carries the inputs and outputs of ``job``: itself, unless its granularity folds it."""
        if job.granularity == OPERATION or job.placeholder or job.skip:
            return job
        task = task_of(job)
        return (application_of(job) or job) if task is None else self.job(job.namespace, task, producer)

    def check_urn(self) -> str | None:
        """Return None: only modes that join a tool of DataHub name checks."""
        return None

    def producer(self, uri: str | None) -> Producer | None:
        """Return the family of a producer's URI, None when it is nobody's we know."""
        if uri is None:
            return None
        if uri in self._producers:
            return self._producers[uri]
        family = self._families.of(uri)
        if _short(uri):
            _remember(self._producers, uri, family)
        return family

    def checks(self, event: Event, platform: str) -> tuple[str, str]:
        """Return the platform of the checks of an event, whose job is of ``platform``, and what their type is called."""
        sender = self.producer(event.producer)
        checker = self._families.checker(event.run_facets, sender)
        if checker is not None and checker is not sender:
            platform = checker.platform
        return platform, (checker.assertion_label if checker is not None else None) or f"{platform} check"

    def reference(self, namespace: str, name: str, *, near: Job | None) -> Job | None:
        """Return the job that another job refers to, without a producer (a parent, a dependency); None: unresolved.

        A rule or the namespace's scheme gives its platform, else it is taken for a neighbour of ``near`` when both
        share the namespace, as if the same producer had sent it.
        """
        key = (namespace, name) if near is None else (namespace, name, near.namespace, near.platform, near.sender)
        if key in self._references:
            return self._references[key]
        job = self._referred(namespace, name, near)
        if _short(*key):
            _remember(self._references, key, job)
        return job

    def parent(self, namespace: str, name: str, *, near: Job | None, integration: str = "") -> Job | None:
        """Return the job that the job ``near`` names as its parent; None: unresolved.

        ``integration`` is what the parent is said to be of (AIRFLOW). Without it the producer tells: the parent of Spark's SQL is
        Spark's application, whatever its namespace (dbt's moves to that of its own parent); who started the application is of
        another tool, whatever its namespace.
        """
        stem = self._families.integration(integration)
        if stem is not None:
            return self._built(namespace, name, self._of_kind(stem))
        sender = self._of_kind(near.sender) if near is not None and near.sender is not None else None
        if near is None or sender is None or sender.family is None or sender.family.parents == "all":
            return self.reference(namespace, name, near=near)
        if sender.family.parents == "jobs" and near.level == "job":
            return self._built(namespace, name, sender)
        return self.reference(namespace, name, near=None)

    def has_job(self, job: Job, *, has_io: bool) -> bool:
        """Whether the dataJob exists: a flow-level job has its twin only with inputs or outputs (``has_io``)."""
        if job.placeholder or job.skip:
            return False
        return job.level == "job" or has_io or self._always_twin

    def template(self, job: Job, *, has_io: bool) -> str | None:
        """Return the parentTemplate of the job's runs: the dataJob if it exists, else the dataFlow."""
        if job.placeholder or job.skip:
            return job.template
        return job.job_urn if self.has_job(job, has_io=has_io) else job.flow_urn

    def joins_runs(self, job: Job) -> bool:
        """Whether the job's runs have ids of a tool of DataHub, as far as their events tell."""
        return job.joined in self._joined_runs and job.level == "job"

    def platform_instance(self, job: Job) -> str | None:
        """Return the dataPlatformInstance URN, None when no rule gives an instance."""
        return None if job.instance is None else platform_instance_urn(job.platform, job.instance)

    def _sender(self, uri: str | None) -> Sender:
        sender = self._senders.get(uri)
        if sender is None:
            family = self.producer(uri)
            labels = [rule.label for rule in self._rules if rule.sent_by(uri or "")]
            sender = self._of_kind("|".join((family.id if family else "", *labels)))
            if _short(uri):
                _remember(self._senders, uri, sender)
        return sender

    def _of_kind(self, kind: str) -> Sender:
        """Return the sender that ``Job.sender`` names: a family's id and the labels of the rules that fit its URI."""
        sender = self._kinds.get(kind)
        if sender is None:
            stem, *labels = kind.split("|")
            rules = tuple(rule for rule in self._rules if rule.label in labels)
            sender = Sender(kind, self._families.named(stem), rules, self._default)
            _remember(self._kinds, kind, sender)
        return sender

    def _referred(self, namespace: str, name: str, near: Job | None) -> Job | None:
        canonical = self._words.namespace(namespace)
        if near is not None and near.sender is not None and canonical == near.namespace:
            return self._built(namespace, name, self._of_kind(near.sender))
        fallback = (near.platform, "neighbour") if near is not None and canonical == near.namespace else None
        rules = tuple(rule for rule in self._rules if rule.sent_by(None))
        return self._built(namespace, name, Sender(None, None, rules, fallback))

    def _built(self, namespace: str, name: str, sender: Sender) -> Job | None:
        """Return the job that another one names, None for a placeholder and where nothing gives a platform."""
        word = self._words.name(name)
        return None if word == PLACEHOLDER else self._mode.build(self._words.namespace(namespace), word, name, sender)


def _overlays(settings: IdentitySettings, dbt: DbtSettings) -> tuple[Overlay, ...]:
    """Return what lies over the default mode, the lowest first."""
    found: list[Overlay] = [UniqueIds()] if dbt.node_identity == "unique_id" else []
    if settings.mode == "compat":
        found.append(Compat(settings.compat))
    elif settings.mode == "join":
        if "airflow" in settings.join.tools:
            found.append(AirflowPlugin(settings.join.airflow))
        if "dbt" in settings.join.tools:
            found.append(DbtSource(settings.join.dbt))
    return tuple(found)


def _short(*words: str | None) -> bool:
    """Whether a question may be remembered; hostile names of a megabyte would fill the memory."""
    return sum([len(word) for word in words if word]) < _LONG


def _remember(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    if len(memory) >= _REMEMBERED:
        memory.clear()
    memory[key] = value
