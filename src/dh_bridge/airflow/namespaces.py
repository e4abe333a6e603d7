"""The namespace of Airflow's jobs: what the settings say, else what Airflow's OpenLineage provider would take."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from dh_bridge.settings.loading import load

#: Where Airflow's configuration is: the Task SDK's, the core's.
_CONFIGURATION_MODULES = ("airflow.sdk.configuration", "airflow.configuration")


def airflow_namespace() -> str:
    """Return the namespace of Airflow's jobs as its OpenLineage provider finds it."""
    namespace = None
    for module in _CONFIGURATION_MODULES if "airflow" in sys.modules else ():
        try:
            namespace = import_module(module).conf.get("openlineage", "namespace", fallback="")
        except Exception:  # noqa: BLE001, S112 - another version of Airflow, or one that is not set up: the next place
            continue
        break
    return str(namespace or os.environ.get("OPENLINEAGE_NAMESPACE") or "default")


def callback_namespace() -> str:
    """Return the namespace that callbacks tell; a SettingsError when it cannot be known.

    A template that asks for it is rendered by the task itself, which no other setting that is wrong may fail.
    """
    return load(only="airflow.namespace").settings.airflow.namespace or airflow_namespace()
