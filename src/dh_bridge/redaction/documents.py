"""JSON without its secrets: by the names of its members and by the texts in it."""

from __future__ import annotations

from typing import Any

from dh_bridge.redaction.mode import OFF, REDACTED, current_mode
from dh_bridge.redaction.names import has_hidden_value, is_hidden_key, nested_name_of
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.texts import redact, redact_sql
from dh_bridge.redaction.values import is_description


def redact_json(value: Any, key: str = "", *, is_hidden: bool = False) -> Any:
    """Return JSON ``value`` with every text redacted, and every scalar below the name of a secret replaced.

    ``key`` is the name of the value; ``is_hidden``: a name above the value hides it.

    >>> redact_json({"db": {"password": "x", "port": 5432}})
    {'db': {'password': '[REDACTED]', 'port': 5432}}
    """
    if isinstance(value, str):
        return _redact_text(
            value, key, is_hidden=is_hidden or (key != "" and is_hidden_key(key) and not is_description(key, value))
        )
    is_hidden = is_hidden or (key != "" and is_hidden_key(key))
    if isinstance(value, dict):
        return {
            _redact_key(name): redact_json(
                member, nested_name_of(key, name), is_hidden=is_hidden or (name == "value" and has_hidden_value(value))
            )
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [redact_json(member, key, is_hidden=is_hidden) for member in value]
    return REDACTED if is_hidden and value is not None and not isinstance(value, bool) else value


def redact_texts(value: Any) -> Any:
    """Return JSON with its texts redacted; its names are columns or people, which hide nothing."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {_redact_key(name): redact_texts(member) for name, member in value.items()}
    return [redact_texts(member) for member in value] if isinstance(value, list) else value


def is_redacted(value: Any, *keys: str, is_hidden: bool = False) -> bool:
    """Return whether ``value``, a single JSON value, is hidden completely under any of the names ``keys``."""
    if value is None or isinstance(value, (bool, dict, list)):
        return False
    if is_hidden or any(
        is_hidden_key(key) and not (isinstance(value, str) and is_description(key, value)) for key in keys
    ):
        return not isinstance(value, str) or bool(set(value) - {"*"})
    return isinstance(value, str) and current_mode() != OFF and redact(value) == REDACTED


def _redact_text(value: str, key: str, *, is_hidden: bool) -> str:
    if is_hidden:
        return REDACTED if value and set(value) != {"*"} else value
    if key.rpartition(".")[2] in rules().sql_fields:
        return redact_sql(value)
    return redact(value)


def _redact_key(name: Any) -> Any:
    return redact(name) if isinstance(name, str) and len(name) > 12 else name
