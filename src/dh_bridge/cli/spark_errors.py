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

_JAVA_PREFIX = re.compile(r"\AAn error occurred while calling \S+\n: (?:[\w$.]+: )?")
_TRACEBACK_HEADER, _CAUSE_PREFIX = "Traceback (most recent call last):", "Caused by: "
_CLASS_PREFIXES = re.compile(r"\A(?:(?:[\w$]+\.)+[\w$]+: )+")
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
        raise SinkError(innermost_cause(str(error)), location=target) from error


def _is_spark_error(error: Exception) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def innermost_cause(text: str) -> str:
    """Return the innermost cause in Spark's message: Java's, else Python's, else the first line."""
    text = _JAVA_PREFIX.sub("", text.strip())
    _, separator, tail = text.rpartition(_TRACEBACK_HEADER)
    lines = [line for line in tail.splitlines() if line[:1].strip()]
    causes = [line.removeprefix(_CAUSE_PREFIX) for line in lines if line.startswith(_CAUSE_PREFIX)]
    if causes or separator:
        return _CLASS_PREFIXES.sub("", (causes[-1:] + lines)[0])
    return text.partition("\n")[0]
