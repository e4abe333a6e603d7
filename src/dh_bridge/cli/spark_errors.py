"""What Spark says in pages, in a line."""

from __future__ import annotations

import functools
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dh_bridge import errors
from dh_bridge.errors import BridgeError, SinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_JAVA = re.compile(r"\AAn error occurred while calling \S+\n: (?:[\w$.]+: )?")
_TRACE, _CAUSE = "Traceback (most recent call last):", "Caused by: "
_CLASSES = re.compile(r"\A(?:(?:[\w$]+\.)+[\w$]+: )+")
_OURS = re.compile(r"dh_bridge\.errors\.(\w+): (.+)")


def plainly(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say in a line what Spark says in pages; what one of ours raised in a worker is raised again here."""

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> Any:
        try:
            return command(**arguments)
        except Exception as error:
            if not _is_spark_s(error):
                raise
            ours = _OURS.findall(str(error))
            if ours:
                name, text = ours[-1]
                raise getattr(errors, name, BridgeError)(text) from error
            raise BridgeError(in_a_line(str(error)), where="Spark") from error

    return wrapper


@contextmanager
def delivering(target: str) -> Iterator[None]:
    """Turn into a SinkError what Spark says of a folder that it cannot write; what one of ours raised stays."""
    try:
        yield
    except Exception as error:
        if not _is_spark_s(error) or _OURS.search(str(error)):
            raise
        raise SinkError(in_a_line(str(error)), where=target) from error


def _is_spark_s(error: Exception) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def in_a_line(text: str) -> str:
    """Return the innermost cause of all that Spark says: Java's, else what Python raised, else the first line."""
    text = _JAVA.sub("", text.strip())
    _, traced, last = text.rpartition(_TRACE)
    lines = [line for line in last.splitlines() if line[:1].strip()]
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    if causes or traced:
        return _CLASSES.sub("", (causes[-1:] + lines)[0])
    return text.partition("\n")[0]
