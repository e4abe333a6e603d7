"""dh_bridge: OpenLineage into DataHub.

>>> from dh_bridge import translate
>>> translation = translate(event)                      # doctest: +SKIP
>>> [proposal.aspect_name for proposal in translation.proposals]  # doctest: +SKIP
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
    """Translate one OpenLineage event or many; see :meth:`dh_bridge.bridge.Bridge.translate`.

    ``settings``: an object, a mapping (``{"datahub_version": "1.4"}``), or a settings file (``"dh_bridge.yml"``). The bridge is kept for the
    next call of the thread with the same settings: to make one takes as long as a hundred events.
    """
    from dh_bridge.bridge import bridge_of  # noqa: PLC0415 - as above

    return bridge_of(settings).translate(events, report=report)
