"""Guids as DataHub makes them: the id of containers, assertions, queries and message ids."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


# Made once: json.dumps would make an encoder for every call that is not by its defaults.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def datahub_guid(key: Mapping[str, Any]) -> str:
    """Return the md5, in hex, of the sorted, compact, ASCII JSON of ``key``; entries that are None are left out.

    The same as ``datahub.emitter.mcp_builder.datahub_guid``, so that ids join those of DataHub's own tools.
    """
    entries = {name: value for name, value in key.items() if value is not None}
    return hashlib.md5(_encode(entries).encode(), usedforsecurity=False).hexdigest()
