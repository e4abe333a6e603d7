"""JSON without its secrets: by the names of its members and by the texts in it."""

from __future__ import annotations

from typing import Any

from dh_bridge.redaction.mode import OFF, REDACTED, mode
from dh_bridge.redaction.names import below, hides, hides_value
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.texts import redacted, redacted_sql
from dh_bridge.redaction.values import describes

#: Addresses that say who sent a facet and how it is made.
_PROVENANCE = frozenset(("_producer", "_schemaURL"))


def redacted_json(value: Any, key: str = "", *, hidden: bool = False) -> Any:
    """Return JSON ``value`` with every text redacted, and every scalar below the name of a secret replaced.

    ``key`` is the name of the value, ``hidden`` says that a name above it hides it.

    >>> redacted_json({"db": {"password": "x", "port": 5432}})
    {'db': {'password': '[REDACTED]', 'port': 5432}}
    """
    if isinstance(value, str):
        return _text(value, key, hidden=hidden or (key != "" and hides(key) and not describes(key, value)))
    hidden = hidden or (key != "" and hides(key))
    if isinstance(value, dict):
        return {
            _key(name): redacted_json(
                member, below(key, name), hidden=hidden or (name == "value" and hides_value(value))
            )
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [redacted_json(member, key, hidden=hidden) for member in value]
    return REDACTED if hidden and value is not None and not isinstance(value, bool) else value


def texts_redacted(value: Any) -> Any:
    """Return JSON with its texts redacted; its names are columns or people, which hide nothing."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {_key(name): texts_redacted(member) for name, member in value.items()}
    return [texts_redacted(member) for member in value] if isinstance(value, list) else value


def replaced(value: Any, *keys: str, hidden: bool = False) -> bool:
    """Return whether nothing of ``value``, a leaf of JSON, is kept under any of the names ``keys``."""
    if value is None or isinstance(value, (bool, dict, list)):
        return False
    if hidden or any(hides(key) and not (isinstance(value, str) and describes(key, value)) for key in keys):
        return not isinstance(value, str) or bool(set(value) - {"*"})
    return isinstance(value, str) and mode() != OFF and redacted(value) == REDACTED


def _text(value: str, key: str, *, hidden: bool) -> str:
    if hidden:
        return REDACTED if value and set(value) != {"*"} else value
    if key.rpartition(".")[2] in rules().sql_leaves:
        return redacted_sql(value)
    return redacted(value)


def _key(name: Any) -> Any:
    return redacted(name) if isinstance(name, str) and len(name) > 12 else name
