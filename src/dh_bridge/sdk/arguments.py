"""What a caller says is of the kind that is wanted; an EventError names what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.msgspec_threads import prepared
from dh_bridge.sdk.plain import plain


def need_texts(**said: Any) -> None:
    """Refuse what is neither a text nor None."""
    for name, one in said.items():
        if one is not None and not isinstance(one, str):
            raise EventError(f"a text is wanted, not {type(one).__name__}", where=name, now="give a str")


def need_exception(error: Any) -> None:
    """Refuse what is no exception."""
    if not isinstance(error, BaseException):
        raise EventError(f"{type(error).__name__} is no error", where="error", now="give a message or an exception")


def mapping(name: str, said: Any) -> dict[str, Any]:
    """Return a mapping, an empty one for None."""
    if said is not None and not isinstance(said, Mapping):
        raise EventError(f"a mapping is wanted, not {type(said).__name__}", where=name, now='e.g. {"team": "finance"}')
    return dict(said or {})


def need_sound(definition: msgspec.Struct) -> None:
    """Refuse a definition with a field of another type than it says; what numpy, pandas and decimals hold is what it means."""
    kind = type(definition)
    try:
        msgspec.convert(plain(msgspec.structs.asdict(definition)), prepared(kind))
    except msgspec.ValidationError as error:
        raise EventError(str(error), where=kind.__name__, now="see the fields of the class") from error
