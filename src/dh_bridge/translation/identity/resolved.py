"""Identity as one event sees it: modes that read facets, over the default.

The default mode needs none of this: there, the event's names and its producer say everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dh_bridge.translation.identity.granularity import OPERATION, task_of

if TYPE_CHECKING:
    from dh_bridge.translation.identity import Identity
    from dh_bridge.translation.identity.hints import Hints, RunReference
    from dh_bridge.translation.identity.job import Job
    from dh_bridge.translation.identity.producers import Producer


class Overlay(Protocol):
    """A mode that lies over the default. Pure: the hints of one event and the settings, nothing else."""

    def job(self, found: Job, hints: Hints, identity: Identity) -> Job:
        """Return the job instead of ``found``, which the modes below gave; ``found`` itself when it is not concerned."""
        ...

    def run(self, asked: RunReference, own: Job, hints: Hints) -> str | None:
        """Return the URN of the run that an event of the job ``own`` names; None when the modes below know better."""
        ...


@runtime_checkable
class NamesChecks(Protocol):
    """A mode that names checks, too."""

    def check(self, hints: Hints) -> str | None:
        """Return the assertion of the event's one check, None when the mode does not name it."""
        ...


class Seen:
    """The names of everything that one event names; as :class:`Identity`, but by the event's hints."""

    def __init__(self, identity: Identity, overlays: tuple[Overlay, ...], hints: Hints) -> None:
        self._identity = identity
        self._overlays = overlays
        self._hints = hints
        self._own: Job | None = None

    def job(self, namespace: str, name: str, producer: str | None) -> Job:
        """Return the event's own job, or another one that its producer's facets name."""
        return self._laid_over(self._identity.job(namespace, name, producer))

    def carrier(self, job: Job, producer: str | None) -> Job:
        """Return the job that carries the inputs and outputs of ``job``."""
        task = task_of(job) if job.granularity != OPERATION and not job.placeholder and not job.skip else None
        return self._identity.carrier(job, producer) if task is None else self.job(job.namespace, task, producer)

    def reference(self, namespace: str, name: str, *, near: Job | None) -> Job | None:
        """Return the job that the event refers to; None: unresolved."""
        found = self._identity.reference(namespace, name, near=near)
        return None if found is None else self._laid_over(found)

    def parent(self, namespace: str, name: str, *, near: Job | None, integration: str = "") -> Job | None:
        """Return the job that the event's job names as its parent; None: unresolved."""
        found = self._identity.parent(namespace, name, near=near, integration=integration)
        return None if found is None else self._laid_over(found)

    def run_urn(self, namespace: str, name: str, run_id: str) -> str:
        """Return the URN of the event's own run, or of another one that it names."""
        if self._own is None:
            self._own = self.job(self._hints.namespace, self._hints.name, self._hints.producer)
        for overlay in reversed(self._overlays):
            urn = overlay.run((namespace, name, run_id), self._own, self._hints)
            if urn is not None:
                return urn
        return self._identity.run_urn(namespace, name, run_id)

    def check_urn(self) -> str | None:
        """Return the assertion of the event's one check where a tool of DataHub names it."""
        found = (overlay.check(self._hints) for overlay in self._overlays if isinstance(overlay, NamesChecks))
        return next((urn for urn in found if urn is not None), None)

    def producer(self, uri: str | None) -> Producer | None:
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

    def _laid_over(self, job: Job) -> Job:
        for overlay in self._overlays:
            job = overlay.job(job, self._hints, self._identity)
        return job
