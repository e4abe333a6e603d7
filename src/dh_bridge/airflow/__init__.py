"""Airflow callbacks (2.10+ and 3.x) that report runs to DataHub, for DAGs without the OpenLineage provider.

>>> from dh_bridge.airflow import emit_on_failure, emit_on_retry, emit_on_success
>>> default_args = {
...     "on_success_callback": emit_on_success,
...     "on_failure_callback": emit_on_failure,
...     "on_retry_callback": emit_on_retry,
... }

The callbacks are for tasks and DAGs. Options such as ``emit_on_success(to="rest:http://gms:8080")`` override the settings of
the area ``airflow`` (dh_bridge.yml, ``DH_BRIDGE_AIRFLOW__TO`` …): ``to``, ``namespace``, ``timeout`` (seconds, below 10) and
``run_alongside``. ``config`` names a settings file.

Airflow parses a file of DAGs repeatedly. Therefore this module imports nothing of Airflow and of the bridge before a callback
is called.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Context = Mapping[str, Any]

__all__ = [
    "emit_on_execute",
    "emit_on_failure",
    "emit_on_retry",
    "emit_on_skipped",
    "emit_on_success",
    "lineage_parent_id",
]

OPTIONS = ("to", "config", "namespace", "timeout", "run_alongside")


def emit_on_execute(context: Context | None = None, **options: Any) -> Callable[[Context], None] | None:
    """Report that a try of a task begins (``on_execute_callback``); the other callbacks report it too, when the try ends."""
    return _emit(emit_on_execute, "execute", context, options)


def emit_on_success(context: Context | None = None, **options: Any) -> Callable[[Context], None] | None:
    """Report that a try of a task, or a DAG run, succeeded (``on_success_callback``)."""
    return _emit(emit_on_success, "success", context, options)


def emit_on_failure(context: Context | None = None, **options: Any) -> Callable[[Context], None] | None:
    """Report that a task, or a DAG run, failed finally (``on_failure_callback``)."""
    return _emit(emit_on_failure, "failure", context, options)


def emit_on_retry(context: Context | None = None, **options: Any) -> Callable[[Context], None] | None:
    """Report that a try of a task failed and that another try follows (``on_retry_callback``)."""
    return _emit(emit_on_retry, "retry", context, options)


def emit_on_skipped(context: Context | None = None, **options: Any) -> Callable[[Context], None] | None:
    """Report that a task skipped itself (``on_skipped_callback``)."""
    return _emit(emit_on_skipped, "skipped", context, options)


def lineage_parent_id(task_instance: Any, namespace: str | None = None) -> str:
    """Return ``namespace/job/run id`` of a task instance, for tools that it starts (``OPENLINEAGE_PARENT_ID``).

    The same as the macro of that name of Airflow's OpenLineage provider. As a macro of a DAG:
    ``user_defined_macros={"lineage_parent_id": lineage_parent_id}``, then ``{{ lineage_parent_id(ti) }}``.
    """
    from dh_bridge.airflow.callbacks import parent_id  # noqa: PLC0415 - see above

    return parent_id(task_instance, namespace)


def _emit(
    callback: Callable[..., Any], kind: str, context: Context | None, options: dict[str, Any]
) -> Callable[[Context], None] | None:
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:  # found when the DAG is read, not when its first task fails
        raise TypeError(f"{callback.__name__}(): unknown argument {', '.join(unknown)}; use {', '.join(OPTIONS)}")
    if context is None:
        return partial(callback, **options)
    started_at = time.monotonic()
    from dh_bridge.airflow.callbacks import handle_callback  # noqa: PLC0415 - see above

    handle_callback(kind, context, started_at, options)
    return None
