"""Checks the types of arguments; an EventError names the argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.msgspec_threads import prepare_type
from dh_bridge.sdk.plain import to_plain


def require_texts(**texts: Any) -> None:
    """Raise an EventError unless the argument is a text or None."""
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise EventError(
                f"expected a string, got {type(value).__name__}", location=name, remedy="pass a str or None"
            )


def require_exception(error: Any) -> None:
    """Raise an EventError unless the argument is an exception."""
    if not isinstance(error, BaseException):
        raise EventError(
            f"expected an error, got {type(error).__name__}", location="error", remedy="pass a message or an exception"
        )


def require_mapping(name: str, value: Any) -> dict[str, Any]:
    """Return a mapping, an empty one for None."""
    if value is not None and not isinstance(value, Mapping):
        raise EventError(
            f"expected a mapping, got {type(value).__name__}", location=name, remedy='e.g. {"team": "finance"}'
        )
    return dict(value or {})


def require_valid(definition: msgspec.Struct) -> None:
    """Raise an EventError for a definition with a field of a wrong type.

    Values of numpy, pandas and decimals are converted.
    """
    kind = type(definition)
    try:
        msgspec.convert(to_plain(msgspec.structs.asdict(definition)), prepare_type(kind))
    except msgspec.ValidationError as error:
        raise EventError(str(error), location=kind.__name__, remedy="see the fields of the class") from error
