"""The namespace of Airflow's jobs: what the settings say, else what Airflow's OpenLineage provider would take."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import yaml

from dh_bridge.errors import SettingsError
from dh_bridge.settings.document import substituted
from dh_bridge.settings.loading import CONFIG_VARIABLE, DEFAULT_FILE, PREFIX, load

#: Where Airflow's configuration is: the Task SDK's, the core's.
_CONFIGURATIONS = ("airflow.sdk.configuration", "airflow.configuration")


def airflow_namespace() -> str:
    """Return the namespace of Airflow's jobs as its OpenLineage provider finds it."""
    found = None
    for module in _CONFIGURATIONS if "airflow" in sys.modules else ():
        try:
            found = import_module(module).conf.get("openlineage", "namespace", fallback="")
        except Exception:  # noqa: BLE001, S112 - another version of Airflow, or one that is not set up: the next place
            continue
        break
    return str(found or os.environ.get("OPENLINEAGE_NAMESPACE") or "default")


def told_namespace() -> str:
    """Return the namespace that callbacks tell; a SettingsError when it cannot be known.

    A template that asks for it is rendered by the task itself, which no other setting that is wrong may fail.
    """
    try:
        said = load().settings.airflow.namespace
    except SettingsError as error:
        said = _by_itself(error)
    return said or airflow_namespace()


def _by_itself(error: SettingsError) -> str | None:
    """Return ``airflow.namespace`` where ``error`` is what is wrong with the settings; ``error`` when it is in the way."""
    given = {name.removeprefix(PREFIX).lower(): text for name, text in os.environ.items() if name.startswith(PREFIX)}
    if given.get("airflow__namespace"):
        return given["airflow__namespace"]
    if given.get("airflow"):  # the whole area in one variable
        raise error
    named = os.environ.get(CONFIG_VARIABLE)
    file = Path(named or DEFAULT_FILE)
    if not named and not file.is_file():
        return None
    try:
        node = yaml.compose(file.read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        raise error from None
    found = _under(_under(node, "airflow"), "namespace")
    if found is None or found.tag == "tag:yaml.org,2002:null":
        return None
    if not isinstance(found, yaml.ScalarNode):
        raise error
    return substituted(found.value, os.environ, f"{file}:{found.start_mark.line + 1}")


def _under(node: yaml.Node | None, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)
