"""Names of secrets: which keys hide their values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.redaction.mode import OFF, REDACTED, mode
from dh_bridge.redaction.rules import rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Hadoop's keys of Azure end with the host of the account: ``fs.azure.account.key.shop.dfs.core.windows.net``.
_AZURE_ACCOUNT = re.compile(
    r"azure\.(?:account\.key|sas|account\.oauth2\.client\.secret)(?:\.[\w-]{1,64}){1,2}\.(?:blob|dfs)\.core\."
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_NAME = 200


@lru_cache(maxsize=16384)
def secret_name(key: str) -> bool:
    """Return whether the last two dotted segments of ``key`` name a secret.

    >>> secret_name("spark.ssl.keyStorePassword"), secret_name("FERNET_KEY"), secret_name("token_count")
    (True, True, False)
    """
    key = key[-_MAX_NAME:]
    if "azure" in key and _AZURE_ACCOUNT.search(key) is not None:
        return True
    found = rules()
    if key.lower().endswith(found.whole_names):
        return True
    name = _HUMP.sub("_", ".".join(key.rsplit(".", 2)[-2:])).lower()
    name = found.harmless_words.sub("", name)
    if found.secret_name.search(name) is None:
        return False
    return found.harmless_name.search(name) is None or found.secret_ending.search(name) is not None


def hides(key: str) -> bool:
    """Return whether a value under ``key`` is hidden, whatever it looks like."""
    return secret_name(key) and mode() != OFF


def hides_value(pair: Mapping[str, Any]) -> bool:
    """Return whether the ``value`` of an object is hidden by its ``key`` or ``name``, as in lists of tags and parameters."""
    return any([isinstance(name := pair.get(leaf), str) and hides(name) for leaf in ("key", "name")])  # noqa: C419 - faster


def names_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration as the mode ``strict`` keeps it: the names, and a mask for each value that is not empty."""
    return {name: value if value in (None, "", [], {}) else REDACTED for name, value in values.items()}


def names_of(steps: Iterable[str]) -> list[str]:
    """Return the names that may hide the value at the end of a path in JSON: each step with the step before it."""
    names: list[str] = []
    last = ""
    for step in steps:
        last = below(last, step)
        names.append(last)
    return names


def below(key: str, name: str) -> str:
    """Return the name of a member ``name`` of the object under ``key``: both, so that ``{"api": {"key": …}}`` is recognised."""
    return f"{key.rpartition('.')[2]}.{name}" if key else name
