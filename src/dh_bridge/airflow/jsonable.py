"""Values of Airflow's objects as JSON, and Airflow's own mask over those that may hold secrets."""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

from dh_bridge.airflow.context import attribute

_MAX_DEPTH = 5
#: Airflow's secrets masker: the Task SDK's (since 3.2, before that), the core's (2.x). It knows the passwords of the
#: connections in use, and what tasks asked it to mask.
_MASKER_MODULES = (
    "airflow.sdk._shared.secrets_masker",
    "airflow.sdk.execution_time.secrets_masker",
    "airflow.utils.log.secrets_masker",
)


def to_jsonable(value: Any, depth: int = 0) -> Any:
    """Return ``value`` as JSON has it; a duration as the provider writes it, an object as its text."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} seconds"
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {str(key): to_jsonable(member, depth + 1) for key, member in value.items()}
    if depth < _MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
        members = [to_jsonable(member, depth + 1) for member in value]
        return members if isinstance(value, (list, tuple)) else sorted(members, key=str)
    return str(value)


def to_list(members: Any) -> list[Any]:
    """Return a list, tuple or set as a list, nothing as an empty one, anything else as its only member."""
    return list(members) if isinstance(members, (list, tuple, set, frozenset)) else [] if members is None else [members]


def present_attributes(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the attributes of ``owner`` that are not empty."""
    values = {name: to_jsonable(attribute(owner, name)) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def mask_secrets(value: Any, name: str | None = None) -> Any:
    """Return ``value`` masked by Airflow's secrets masker; unchanged if there is no masker."""
    for module in _MASKER_MODULES:
        redact = attribute(sys.modules.get(module), "redact")
        if callable(redact):
            return redact(value, name)
    return value
