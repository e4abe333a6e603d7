"""Handles a callback of Airflow: reads settings, detects other listeners, builds and delivers events. It never fails a task."""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.conflicts import active_listeners
from dh_bridge.airflow.context import read_context
from dh_bridge.airflow.entities import map_urns
from dh_bridge.airflow.events import build_events, run_names
from dh_bridge.airflow.sending import CallbackDelivery, send
from dh_bridge.errors import SinkError
from dh_bridge.json_safe import make_encodable
from dh_bridge.settings.loading import Flag, load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dh_bridge.settings import Settings


log = logging.getLogger("dh_bridge.airflow")

_MAX_SHOWN_PROBLEMS = 3
"""Problems that a warning names one by one."""


def handle_callback(kind: str, context: Mapping[str, Any], started_at: float, options: Mapping[str, Any]) -> None:
    """Report the run of ``context``. ``started_at`` is when the callback began (monotonic clock). No error fails the task.

    ``kind`` is one of :data:`dh_bridge.airflow.events.ENDINGS`. Any error is a warning in the log of the task.
    """
    label = "a run"
    try:
        settings = _load_settings(options)
        listeners = [] if settings.airflow.run_alongside else active_listeners()
        if listeners:
            log.warning("emit_on_%s sends nothing: %s is enabled and reports every run", kind, " and ".join(listeners))
            return
        if settings.ledger.file is not None:
            _warn_of_ledger(settings.ledger.file)
        callback_context = read_context(context)
        label = callback_context.label
        run_events, unresolved = build_events(callback_context, kind, settings.airflow.namespace or airflow_namespace())
        run_events = make_encodable(run_events)
        settings, unmapped_urns = map_urns(run_events, _with_known_retry(settings, kind))
        if excluded := [*unresolved, *unmapped_urns]:
            log.info("%s: ignored inlets and outlets that are not OpenLineage datasets: %s", label, ", ".join(excluded))
        if run_events:
            _log_delivery(label, send(run_events, settings, started_at + settings.airflow.timeout))
    except Exception as error:  # noqa: BLE001 - no callback may fail a task
        log.warning("%s: not sent to DataHub: %s", label, error)


@cache
def _warn_of_ledger(file: Path) -> None:
    """Log once per process that callbacks use no ledger: tasks run on many machines, and its file is on one of them."""
    log.warning(
        "ledger.file (%s) is ignored: callbacks send each event on its own. Use a ledger with dh-bridge emit", file
    )


def parent_id(task_instance: Any, namespace: str | None) -> str:
    """Return ``namespace/job/run id`` of a task instance; a SettingsError when its namespace cannot be known."""
    context = task_instance.get_template_context()
    return "/".join(run_names(read_context(context), namespace or callback_namespace()))


def _load_settings(options: Mapping[str, Any]) -> Settings:
    config = options.get("config")
    flags = [
        Flag(f"airflow.{name}", str(value), f"argument {name}")
        for name, value in options.items()
        if name != "config" and value is not None
    ]
    return load(None if config is None else os.fspath(config), flags=flags).settings


def _with_known_retry(settings: Settings, kind: str) -> Settings:
    """Return the settings with ``runs.up_for_retry`` from the kind of callback, which is exact; events only allow a guess."""
    runs = settings.runs.model_copy(update={"up_for_retry": kind == "retry"})
    return settings.model_copy(update={"runs": runs})


def _log_delivery(label: str, delivery: CallbackDelivery) -> None:
    if not delivery.problems:
        log.info("%s: sent %d proposals to DataHub", label, delivery.delivered_count)
        return
    problems_text = "; ".join(delivery.problems[:_MAX_SHOWN_PROBLEMS]) + (
        "; …" if len(delivery.problems) > _MAX_SHOWN_PROBLEMS else ""
    )
    raise SinkError(
        f"{len(delivery.problems)} of its proposals were not sent, {delivery.delivered_count} were: {problems_text}"
    )


#: Where Airflow's configuration is: the Task SDK's, the core's.
_CONFIGURATION_MODULES = ("airflow.sdk.configuration", "airflow.configuration")


def airflow_namespace() -> str:
    """Return the namespace of Airflow's jobs as its OpenLineage provider finds it."""
    namespace = None
    for module in _CONFIGURATION_MODULES if "airflow" in sys.modules else ():
        try:
            namespace = import_module(module).conf.get("openlineage", "namespace", fallback="")
        except Exception:  # noqa: BLE001, S112 - another version of Airflow, or one that is not set up: try the next module
            continue
        break
    return str(namespace or os.environ.get("OPENLINEAGE_NAMESPACE") or "default")


def callback_namespace() -> str:
    """Return the namespace of the events that callbacks send; raise a SettingsError if it is unknown.

    The task itself renders a template that uses the namespace. No other wrong setting may fail it.
    """
    return load(only="airflow.namespace").settings.airflow.namespace or airflow_namespace()
