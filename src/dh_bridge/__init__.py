"""dh_bridge: OpenLineage into DataHub.

:func:`translate` translates events with one call, :class:`Bridge` with one configuration for many calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dh_bridge.bridge import Bridge, Translation
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

__all__ = ["Bridge", "Proposal", "Settings", "Translation", "__version__", "translate"]
__version__ = "0.1.0"

_MODULES = {
    "Bridge": "dh_bridge.bridge",
    "Proposal": "dh_bridge.datahub.proposal",
    "Settings": "dh_bridge.settings",
    "Translation": "dh_bridge.bridge",
}


def __getattr__(name: str) -> Any:
    """Load the public classes when they are first asked for: importing the package costs next to nothing."""
    if name in _MODULES:
        import importlib  # noqa: PLC0415 - as above

        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'dh_bridge' has no attribute {name!r}")


def translate(events: Any, settings: SettingsLike = None, *, report: bool = False) -> Translation:
    """Translate one OpenLineage event or many.

    The bridge is cached for the next call of the thread with the same settings: creating one takes as long as a hundred events.

    Args:
        events: an event as a dict, JSON text or bytes, or a ``Path``; or an iterable of events
            (:meth:`dh_bridge.bridge.Bridge.translate` lists all forms).
        settings: a :class:`Settings`, a mapping such as ``{"datahub_version": "1.4"}``, or the path of a settings file.
        report: whether ``report`` of the result has the outcome of each field of the events.

    Returns:
        The proposals, the events that cannot be used, the rejected proposals, and counts.

    Raises:
        SettingsError: a setting is unknown or has a wrong value.
        TypeError: ``events`` is none of these forms.

    Example:
        >>> from dh_bridge import translate
        >>> translation = translate({
        ...     "eventType": "COMPLETE",
        ...     "eventTime": "2026-11-20T01:00:00Z",
        ...     "run": {"runId": "0f6e2a3c-58f1-4f3a-9c0d-3f1f5d1d2a10"},
        ...     "job": {"namespace": "shop", "name": "daily.load"},
        ...     "outputs": [{"namespace": "postgres://db:5432", "name": "shop.public.orders"}],
        ... })
        >>> translation.counts.runs, translation.counts.dead
        (1, 0)
        >>> {proposal.entity_urn for proposal in translation.proposals if proposal.entity_type == "dataset"}
        {'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)'}
    """
    from dh_bridge.bridge import bridge_of  # noqa: PLC0415 - as above

    return bridge_of(settings).translate(events, report=report)
