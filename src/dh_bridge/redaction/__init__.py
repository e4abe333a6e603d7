"""Masks secrets before any other module reads a text.

Begin with :func:`redact`: it returns a text without its secrets. :func:`redact_json` does the same for JSON, where
the name of a member may hide its value, too. :mod:`dh_bridge.openlineage.masking` applies both to an event, once, before the event is
filtered, merged, hashed, stored or reported. So no other module handles secrets in events. Other texts (values from Python callers,
errors of servers) are redacted where they enter.

The forms of secrets are data: ``mappings/redaction/secrets.yaml``. The modules, from the data up:

- ``rules`` compiles the data; ``mode`` holds the setting ``redaction`` (off, default, strict) of the call that runs
- ``names``: which names hide their values (``db_password`` does, ``password_policy`` does not)
- ``words``: which of the modules below have to look at a text; most texts need none of them
- ``values``: where a value begins and ends, and whether it is a secret (``password: varchar(64)`` is none)
- ``shapes``: user info of URLs, armoured keys, tokens with a known prefix
- ``assignments``: ``password=x``, ``X-Api-Key: x``, ``--token x``, ``Bearer x``
- ``pairs``: ``{"name": "TOKEN", "value": "x"}``, ``<password>x</password>``, ``set("password", "x")``
- ``commands``: arguments of programs, ``curl -u ann:x``
- ``statements``, ``arguments``: SQL, and the arguments of functions
- ``texts``, ``documents``, ``descriptions``: the functions that callers use

A secret inside a text becomes ``***``, a whole value ``[REDACTED]``. Both stay as they are when they are redacted again.
"""

from __future__ import annotations

from dh_bridge.redaction.documents import is_redacted, redact_json, redact_texts
from dh_bridge.redaction.mode import DEFAULT, MASK, OFF, REDACTED, STRICT, current_mode, redaction_mode
from dh_bridge.redaction.names import has_hidden_value, is_hidden_key, is_secret_name, mask_values, nested_names
from dh_bridge.redaction.texts import redact, redact_sql

__all__ = [
    "DEFAULT",
    "MASK",
    "OFF",
    "REDACTED",
    "STRICT",
    "current_mode",
    "has_hidden_value",
    "is_hidden_key",
    "is_redacted",
    "is_secret_name",
    "mask_values",
    "nested_names",
    "redact",
    "redact_json",
    "redact_sql",
    "redact_texts",
    "redaction_mode",
]
