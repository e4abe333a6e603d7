"""Reading back: the present aspects of entities, by OpenAPI's ``batchGet``, by rest.li's ``/entitiesV2`` where that is missing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import Present

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dh_bridge.sinks.rest.answers import Answer
    from dh_bridge.sinks.rest.connection import Connection

_BATCH = 100
"""Entities in one request; their aspects may be large."""


class Reader:
    """Reads over a connection; asks in batches until the server shows that it has none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._batches = True

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return the present aspects: ``wanted`` names URNs and their aspects, none meaning all; a SinkError as emit's."""
        by_type: dict[str, list[str]] = {}
        for urn in wanted:
            by_type.setdefault(urn.split(":", 3)[2], []).append(urn)
        found: dict[str, dict[str, Present]] = {}
        for kind, urns in by_type.items():
            rest = iter(urns)
            while batch := list(islice(rest, _BATCH)):
                found |= self._read(kind, {urn: wanted[urn] for urn in batch})
        return found

    def _read(self, kind: str, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        if self._batches:
            body = [{"urn": urn, **{name: {} for name in sorted(names)}} for urn, names in wanted.items()]
            path = f"/openapi/v3/entity/{kind}/batchGet?systemMetadata=true"
            answer = self._connection.send("POST", path, orjson.dumps(body))
            if answer.status not in (404, 405):
                return {one["urn"]: dict(_aspects(one)) for one in self._json(answer) if isinstance(one, dict)}
            self._batches = False
        return {urn: found for urn, names in wanted.items() if (found := self._entity(urn, names))}

    def _entity(self, urn: str, names: Collection[str]) -> dict[str, Present]:
        asked = f"?aspects=List({','.join(sorted(names))})" if names else ""
        answer = self._connection.send("GET", f"/entitiesV2/{quote(urn, safe='')}{asked}")
        if answer.status == 404:
            return {}
        entity = self._json(answer)
        return dict(_aspects(entity.get("aspects", {}) if isinstance(entity, dict) else {}))

    def _json(self, answer: Answer) -> Any:
        where = self._connection.where
        if not answer.fine:
            raise answer.error(where)
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError as error:
            raise SinkError("answers a question with something that is no JSON", where=where) from error


def _aspects(entity: Mapping[str, Any]) -> Iterator[tuple[str, Present]]:
    """Yield name and value of each aspect, with what is known of who wrote it."""
    for name, held in entity.items():
        if not isinstance(held, dict) or not isinstance(held.get("value"), dict):
            continue
        metadata = held.get("systemMetadata") or {}
        stamp = held.get("auditStamp") or held.get("created") or {}
        yield name, Present(held["value"], metadata.get("runId"), metadata.get("pipelineName"), stamp.get("actor"))
