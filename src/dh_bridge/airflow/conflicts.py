"""Detects the OpenLineage provider and DataHub's plugin: if one of them listens, a callback would report each run twice."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

#: Package of a listener -> what to call it. Each registers its listener only while it is switched on and configured.
LISTENERS = {
    "airflow.providers.openlineage": "Airflow's OpenLineage provider",
    "openlineage.airflow": "openlineage-airflow",
    "datahub_airflow_plugin": "DataHub's Airflow plugin",
}
#: Where Airflow keeps its listeners: the Task SDK since 3.2, before that and in 2.x the core.
_MANAGER_MODULES = ("airflow.sdk.listener", "airflow.listeners.listener")


def active_listeners() -> list[str]:
    """Return what else is active in this process; nothing outside of Airflow."""
    names = {
        name
        for listener in _listeners()
        for package, name in LISTENERS.items()
        if f"{_module_of(listener)}.".startswith(f"{package}.")
    }
    return sorted(names)


def _listeners() -> list[Any]:
    if "airflow" not in sys.modules:
        return []
    manager = _listener_manager()
    return [] if manager is None else list(manager.pm.get_plugins())


def _listener_manager() -> Any:
    for module in _MANAGER_MODULES:
        with suppress(ImportError, AttributeError):  # another version of Airflow: try the next module
            return import_module(module).get_listener_manager()
    return None


def _module_of(listener: Any) -> str:
    return listener.__name__ if isinstance(listener, ModuleType) else type(listener).__module__
