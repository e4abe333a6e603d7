"""Overlays: modes of identity that read the facets of an event, and lie over the default mode.

The default mode needs no overlay: it names a job by the names and the producer of its event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dh_bridge.identity.hints import Hints, RunReference
    from dh_bridge.model.job import Job


class DefaultNames(Protocol):
    """The names that the default mode gives. :class:`~dh_bridge.identity.Identity` implements it."""

    def job(self, namespace: str, name: str, producer: str | None) -> Job:
        """Return the job of a namespace, a name and a producer."""
        ...


class IdentityOverlay(Protocol):
    """A mode that replaces parts of the default. Pure: it reads only the hints of one event and the settings."""

    def replace_job(self, job: Job, hints: Hints, names: DefaultNames) -> Job:
        """Return the job in place of ``job``, which the modes below gave; ``job`` itself if the mode does not change it."""
        ...

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:
        """Return the URN of the run that an event of ``event_job`` names; None if the modes below name it."""
        ...


@runtime_checkable
class CheckNamingOverlay(Protocol):
    """A mode that names checks, too."""

    def check_urn(self, event_job: Job, hints: Hints) -> str | None:
        """Return the assertion of the event's one check; None if the mode does not name it."""
        ...
