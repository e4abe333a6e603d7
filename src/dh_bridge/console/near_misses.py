"""Near misses: datasets whose names nearly match, of the file itself, or of the file and DataHub.

Nothing is sent to a server unless somebody asks for the comparison with it; it only reads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import msgspec

from dh_bridge.catalog.listing import LIST_URNS, urn_range
from dh_bridge.delivery import open_target, rest_options
from dh_bridge.review.near import existing_respellings, near_misses
from dh_bridge.sinks.abilities import missing_urns
from dh_bridge.sinks.base import METADATA_SERVICE_TARGET, strip_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.review.near import NearMiss
    from dh_bridge.sinks.abilities import Readable

_MAX_MISSES = 500
"""Near misses of an answer, at most; the rest is counted."""
_MAX_COMPARED_DATASETS = 500
"""Datasets that are compared with a server at once: the newest."""
_NEWEST_DATASETS = """
    SELECT urn FROM entity WHERE type = 'dataset' AND urn > ? AND urn < ?
        AND EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id) ORDER BY id DESC
"""


class NearMissRow(msgspec.Struct, frozen=True):
    """Two datasets with nearly the same name, and how they differ; ``other`` may be known to DataHub alone."""

    urn: str
    other: str
    differs: str


class NearMisses(msgspec.Struct, frozen=True):
    """Near misses, those that differ least first; ``more`` were found beyond the list. ``compared`` of ``datasets`` were looked at; ``missing``: DataHub lacks them."""

    misses: list[NearMissRow]
    more: int
    compared: int
    datasets: int
    missing: int = 0


def server_address(source: ConsoleSource) -> str | None:
    """Return the address of the DataHub that the settings or the environment name; None if they name none."""
    server = rest_options(source.settings, METADATA_SERVICE_TARGET, os.environ)["server"]
    return strip_credentials(str(server)) if server else None


def answer_near_misses(source: ConsoleSource, _parameters: RequestParameters) -> NearMisses:
    """Return datasets of the file with nearly the same name; the answer is cached while the file does not change."""
    with source.read_catalog() as catalog:
        urns = [urn for (urn,) in catalog.connection.execute(LIST_URNS, urn_range("dataset"))]
    return source.cached("near misses", lambda: _near_misses_within(urns))


def _near_misses_within(urns: list[str]) -> NearMisses:
    """Return each pair once."""
    pairs: dict[frozenset[str], NearMiss] = {}
    for miss in near_misses(urns, urns):
        pairs.setdefault(frozenset((miss.urn, miss.found)), miss)
    return _answer(pairs.values(), compared=len(urns), datasets=len(urns))


def answer_compare_with_server(source: ConsoleSource, _parameters: RequestParameters) -> NearMisses:
    """Return the near misses of the newest datasets that DataHub lacks; its server is only read."""
    if server_address(source) is None:
        raise ValueError("no DataHub is named (set rest.server or DATAHUB_GMS_URL, and start the console again)")
    with source.read_catalog() as catalog:
        urns = [urn for (urn,) in catalog.connection.execute(_NEWEST_DATASETS, urn_range("dataset"))]
    compared = urns[:_MAX_COMPARED_DATASETS]
    target = open_target(METADATA_SERVICE_TARGET, source.settings)
    with target.sink as sink:
        server = cast("Readable", sink)
        missing = missing_urns(server, compared)
        misses = list(near_misses(sorted(missing), existing_respellings(sorted(missing), server)))
    return _answer(misses, compared=len(compared), datasets=len(urns), missing=len(missing))


def _answer(misses: Iterable[NearMiss], *, compared: int, datasets: int, missing: int = 0) -> NearMisses:
    rows = [NearMissRow(miss.urn, miss.found, miss.differs) for miss in misses]
    rows.sort(key=lambda row: (row.differs.count(","), row.urn, row.other))
    return NearMisses(rows[:_MAX_MISSES], max(0, len(rows) - _MAX_MISSES), compared, datasets, missing)
