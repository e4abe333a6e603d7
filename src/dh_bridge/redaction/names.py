"""Names of secrets: which keys hide their values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.redaction.mode import OFF, REDACTED, current_mode
from dh_bridge.redaction.rules import rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Hadoop's keys of Azure end with the host of the account: ``fs.azure.account.key.shop.dfs.core.windows.net``.
_AZURE_ACCOUNT = re.compile(
    r"azure\.(?:account\.key|sas|account\.oauth2\.client\.secret)(?:\.[\w-]{1,64}){1,2}\.(?:blob|dfs)\.core\."
)
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_NAME_LENGTH = 200


@lru_cache(maxsize=16384)
def is_secret_name(key: str) -> bool:
    """Return whether the last two dotted segments of ``key`` name a secret.

    >>> is_secret_name("spark.ssl.keyStorePassword"), is_secret_name("FERNET_KEY"), is_secret_name("token_count")
    (True, True, False)
    """
    key = key[-_MAX_NAME_LENGTH:]
    if "azure" in key and _AZURE_ACCOUNT.search(key) is not None:
        return True
    secret_rules = rules()
    if key.lower().endswith(secret_rules.whole_names):
        return True
    name = _WORD_BOUNDARY.sub("_", ".".join(key.rsplit(".", 2)[-2:])).lower()
    name = secret_rules.harmless_words.sub("", name)
    if secret_rules.secret_name_pattern.search(name) is None:
        return False
    return (
        secret_rules.harmless_name_pattern.search(name) is None or secret_rules.secret_ending.search(name) is not None
    )


def is_hidden_key(key: str) -> bool:
    """Return whether a value under ``key`` is hidden, whatever it looks like."""
    return is_secret_name(key) and current_mode() != OFF


def has_hidden_value(pair: Mapping[str, Any]) -> bool:
    """Return whether the ``value`` of an object is hidden by its ``key`` or ``name``, as in lists of tags and parameters."""
    return any([isinstance(name := pair.get(field), str) and is_hidden_key(name) for field in ("key", "name")])  # noqa: C419 - faster


def mask_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration as the mode ``strict`` keeps it: the names, and a mask for each value that is not empty."""
    return {name: value if value in (None, "", [], {}) else REDACTED for name, value in values.items()}


def nested_names(steps: Iterable[str]) -> list[str]:
    """Return the names that may hide the value at the end of a path in JSON: each step with the step before it."""
    names: list[str] = []
    nested_name = ""
    for step in steps:
        nested_name = nested_name_of(nested_name, step)
        names.append(nested_name)
    return names


def nested_name_of(key: str, name: str) -> str:
    """Return the name of a member ``name`` of the object under ``key``: both, so that ``{"api": {"key": …}}`` is recognised."""
    return f"{key.rpartition('.')[2]}.{name}" if key else name
