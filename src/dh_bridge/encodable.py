"""JSON that every encoder takes: the name of a file in an error may be no UTF-8, and numpy's floats are a type of their own."""

from __future__ import annotations

from typing import Any


def encodable(value: Any) -> Any:
    """Return ``value`` with texts that are UTF-8, the bytes that are none as people see them on stderr, and numbers of base types."""
    if isinstance(value, dict):
        return {encodable(key): encodable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(one) for one in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return int(value) if isinstance(value, int) else float(value)
