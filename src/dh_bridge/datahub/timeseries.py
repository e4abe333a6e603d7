"""Points in time: which aspects are made of them, and when two of them are the same document.

Source: TimeseriesAspectTransformer (getCommonDocument, getDocId) in DataHub's metadata-io.
"""

from __future__ import annotations

from functools import cache
from hashlib import md5
from typing import Any

import msgspec

from dh_bridge.datahub.profiles import known_profiles, profile

_encode = msgspec.json.encode


@cache
def is_timeseries(aspect: str) -> bool:
    """Return whether an aspect is a timeseries in the newest bundled schemas; no aspect has changed its kind so far."""
    return profile(known_profiles()[-1]).is_timeseries(aspect)


class InvalidPointError(ValueError):
    """A point that DataHub would reject; the text is the reason."""


def document_id(urn: str, value: dict[str, Any]) -> bytes:
    """Return the 16 bytes that name a point: equal ones overwrite each other; a PointError where the server throws.

    Made of time, granularity, URN, messageId and the partition (without its type), as the server makes it.
    """
    time = value.get("timestampMillis")
    if type(time) is not int:
        raise InvalidPointError("a timeseries aspect requires timestampMillis, in milliseconds since 1970")
    parts = [str(time).encode()]
    if (granularity := value.get("eventGranularity")) is not None:
        parts.append(_encode(_encode(granularity).decode()))
    parts.append(_encode(urn))
    if (message := value.get("messageId")) is not None:
        parts.append(_encode(message))
    if (spec := value.get("partitionSpec")) is not None:
        parts.append(_encode_partition(spec))
    return md5(b"".join(parts), usedforsecurity=False).digest()


def _encode_partition(spec: dict[str, Any]) -> bytes:
    partition, window = spec.get("partition"), spec.get("timePartition")
    if partition is not None and window is not None:
        raise InvalidPointError("partitionSpec has both partition and timePartition: DataHub accepts only one of them")
    if partition is not None:
        return _encode({"partition": partition})
    if window is not None:
        return _encode({"timePartition": _encode(window).decode()})
    raise InvalidPointError("partitionSpec has neither partition nor timePartition")
