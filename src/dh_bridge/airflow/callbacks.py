"""What happens when Airflow calls: the settings, who else tells, the events, their delivery, and never a failed task."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.conflicts import active_listeners
from dh_bridge.airflow.context import occasion
from dh_bridge.airflow.entities import led_back
from dh_bridge.airflow.events import events, run_names
from dh_bridge.airflow.namespaces import airflow_namespace, told_namespace
from dh_bridge.airflow.sending import Sent, send
from dh_bridge.errors import SinkError
from dh_bridge.json_safe import encodable
from dh_bridge.settings.loading import Flag, load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.airflow")

_SHOWN = 3
"""Problems that a warning names one by one."""


def called(kind: str, context: Mapping[str, Any], began: float, options: Mapping[str, Any]) -> None:
    """Tell of ``context``, which came at ``began`` (monotonic clock); no task fails of it.

    ``kind`` is one of :data:`dh_bridge.airflow.events.ENDINGS`. Any error is a warning in the log of the task, or with
    ``on_error: raise`` the callback's own.
    """
    on_error = options.get("on_error") or "warn"
    label = "a run"
    try:
        settings = _settings(options)
        on_error = settings.airflow.on_error
        others = [] if settings.airflow.beside_others else active_listeners()
        if others:
            log.warning("emit_on_%s tells nothing: %s is active and tells of every run", kind, " and ".join(others))
            return
        if settings.ledger.file is not None:
            _warn_of_ledger(settings.ledger.file)
        found = occasion(context)
        label = found.label
        told, nameless = events(found, kind, settings.airflow.namespace or airflow_namespace())
        told = encodable(told)
        settings, unnamed = led_back(told, _knowing(settings, kind))
        if left_out := [*nameless, *unnamed]:
            log.info("%s: what is no dataset to OpenLineage is left out: %s", label, ", ".join(left_out))
        if told:
            _report(label, send(told, settings, began + settings.airflow.timeout))
    except Exception as error:
        if on_error == "raise":
            raise
        log.warning("%s is not told to DataHub: %s", label, error)


@cache
def _warn_of_ledger(file: Path) -> None:
    """Say once in a process that callbacks use no ledger: tasks run on many machines, its file lies on one, and may be busy."""
    log.warning("ledger.file (%s) is not used: callbacks tell each event by itself; dh-bridge emit has a ledger", file)


def parent_id(task_instance: Any, namespace: str | None) -> str:
    """Return ``namespace/job/run id`` of a task instance; a SettingsError when its namespace cannot be known."""
    context = task_instance.get_template_context()
    return "/".join(run_names(occasion(context), namespace or told_namespace()))


def _settings(options: Mapping[str, Any]) -> Settings:
    config = options.get("config")
    flags = [
        Flag(f"airflow.{name}", str(value), f"argument {name}")
        for name, value in options.items()
        if name != "config" and value is not None
    ]
    return load(None if config is None else os.fspath(config), flags=flags).settings


def _knowing(settings: Settings, kind: str) -> Settings:
    """Return the settings with ``runs.up_for_retry`` as it is: events leave it to a guess, a callback knows."""
    runs = settings.runs.model_copy(update={"up_for_retry": kind == "retry"})
    return settings.model_copy(update={"runs": runs})


def _report(label: str, sent: Sent) -> None:
    if not sent.problems:
        log.info("%s is told to DataHub: %d proposals", label, sent.delivered)
        return
    shown = "; ".join(sent.problems[:_SHOWN]) + ("; …" if len(sent.problems) > _SHOWN else "")
    raise SinkError(f"of its proposals {len(sent.problems)} did not arrive, {sent.delivered} did: {shown}")
