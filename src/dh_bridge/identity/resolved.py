"""Identity as one event sees it: modes that read facets, over the default.

The default mode needs none of this: there, the event's names and its producer say everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dh_bridge.identity.granularity import OPERATION, task_of

if TYPE_CHECKING:
    from dh_bridge.identity import Identity
    from dh_bridge.identity.hints import Hints, RunReference
    from dh_bridge.identity.producers import ProducerFamily
    from dh_bridge.model.job import Job


class IdentityOverlay(Protocol):
    """A mode that lies over the default. Pure: the hints of one event and the settings, nothing else."""

    def replace_job(self, job: Job, hints: Hints, identity: Identity) -> Job:
        """Return the job instead of ``replace_job``, which the modes below gave; ``replace_job`` itself when it is not concerned."""
        ...

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:
        """Return the URN of the run that an event of the job ``event_job`` names; None when the modes below know better."""
        ...


@runtime_checkable
class CheckNamingOverlay(Protocol):
    """A mode that names checks, too."""

    def check_urn(self, hints: Hints) -> str | None:
        """Return the assertion of the event's one check, None when the mode does not name it."""
        ...


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
        task_name = task_of(job) if job.granularity != OPERATION and not job.placeholder and not job.skip else None
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
        if self._event_job is None:
            self._event_job = self.job(self._hints.namespace, self._hints.name, self._hints.producer)
        for overlay in reversed(self._overlays):
            urn = overlay.run_urn((namespace, name, run_id), self._event_job, self._hints)
            if urn is not None:
                return urn
        return self._identity.run_urn(namespace, name, run_id)

    def check_urn(self) -> str | None:
        """Return the assertion of the event's one check where a tool of DataHub names it."""
        candidates = (
            overlay.check_urn(self._hints) for overlay in self._overlays if isinstance(overlay, CheckNamingOverlay)
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

    def _apply_overlays(self, job: Job) -> Job:
        for overlay in self._overlays:
            job = overlay.replace_job(job, self._hints, self._identity)
        return job
