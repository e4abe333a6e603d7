"""Shortens Spark's error messages to one line."""

from __future__ import annotations

import functools
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dh_bridge import errors
from dh_bridge.errors import BridgeError, SinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BRIDGE_ERROR = re.compile(r"dh_bridge\.errors\.(\w+): (.+)")


def with_short_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Raise Spark's error as one line; an error of dh_bridge from a worker is raised unchanged."""

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> Any:
        try:
            return command(**arguments)
        except Exception as error:
            if not _is_spark_error(error):
                raise
            from dh_bridge.spark.problems import innermost_cause, known_problem  # noqa: PLC0415 - Spark is loaded by the commands that need it

            if (problem := known_problem(error, _spark_version())) is not None:
                raise problem from error
            bridge_errors = _BRIDGE_ERROR.findall(str(error))
            if bridge_errors:
                name, text = bridge_errors[-1]
                raise getattr(errors, name, BridgeError)(text) from error
            raise BridgeError(innermost_cause(str(error)), location="Spark") from error

    return wrapper


@contextmanager
def as_sink_errors(target: str) -> Iterator[None]:
    """Raise a SinkError if Spark cannot write a folder; errors of dh_bridge are not changed."""
    try:
        yield
    except Exception as error:
        if not _is_spark_error(error) or _BRIDGE_ERROR.search(str(error)):
            raise
        from dh_bridge.spark.problems import innermost_cause  # noqa: PLC0415 - as above

        raise SinkError(innermost_cause(str(error)), location=target) from error


def _is_spark_error(error: Exception) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def _spark_version() -> str | None:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    session = SparkSession.getActiveSession()
    return None if session is None else str(session.version)
