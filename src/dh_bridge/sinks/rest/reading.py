"""Reads present aspects: by OpenAPI's ``batchGet``, or by rest.li's ``/entitiesV2`` if that is missing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import StoredAspect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dh_bridge.sinks.rest.connection import GmsConnection
    from dh_bridge.sinks.rest.responses import GmsResponse

_ENTITIES_PER_REQUEST = 100
"""Entities in one request; their aspects may be large."""
_MAX_FORBIDDEN = 32
"""Entities that may be rejected before a single one was read: then the reason is not a single entity."""
_NO_RESOURCE_MESSAGE = "No root resource defined"
"""rest.li's error for a missing resource, which is not about the entity."""


class AspectReader:
    """Reads over a connection; in batches unless the server does not support them.

    ``forbidden_urns`` are the entities that the token may not read (403); ``read`` returns nothing of them.
    """

    def __init__(self, connection: GmsConnection) -> None:
        self._connection = connection
        self._has_batches = True
        self._has_read = False
        self.forbidden_urns: set[str] = set()

    def read(self, aspects_by_urn: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return the present aspects; in ``aspects_by_urn``, no names stand for all. Raises a SinkError as emit does."""
        by_type: dict[str, list[str]] = {}
        for urn in aspects_by_urn:
            by_type.setdefault(urn.split(":", 3)[2], []).append(urn)
        stored_aspects: dict[str, dict[str, StoredAspect]] = {}
        for entity_type, urns in by_type.items():
            remaining = iter(urns)
            while batch := list(islice(remaining, _ENTITIES_PER_REQUEST)):
                stored_aspects |= self._read_batch(entity_type, {urn: aspects_by_urn[urn] for urn in batch})
        return stored_aspects

    def _read_batch(
        self, entity_type: str, aspects_by_urn: Mapping[str, Collection[str]]
    ) -> dict[str, dict[str, StoredAspect]]:
        if self._has_batches:
            body = [{"urn": urn, **{name: {} for name in sorted(names)}} for urn, names in aspects_by_urn.items()]
            path = f"/openapi/v3/entity/{entity_type}/batchGet?systemMetadata=true"
            response = self._connection.send("POST", path, orjson.dumps(body))
            if response.status == 403:
                return self._read_halves(entity_type, aspects_by_urn, response)
            if response.status not in (404, 405):
                self._has_read = self._has_read or response.is_success
                return {entity["urn"]: dict(_stored_aspects(entity)) for entity in self._parse_entities(response)}
            self._has_batches = False
        return {urn: aspects for urn, names in aspects_by_urn.items() if (aspects := self._read_entity(urn, names))}

    def _read_halves(
        self, entity_type: str, aspects_by_urn: Mapping[str, Collection[str]], response: GmsResponse
    ) -> dict[str, dict[str, StoredAspect]]:
        """Read a rejected batch without the entity that may not be read."""
        urns = list(aspects_by_urn)
        if len(urns) == 1:
            self._forbid(urns[0], response)
            return {}
        middle = len(urns) // 2
        first_half = self._read_batch(entity_type, {urn: aspects_by_urn[urn] for urn in urns[:middle]})
        return first_half | self._read_batch(entity_type, {urn: aspects_by_urn[urn] for urn in urns[middle:]})

    def _forbid(self, urn: str, response: GmsResponse) -> None:
        self.forbidden_urns.add(urn)
        if not self._has_read and len(self.forbidden_urns) > _MAX_FORBIDDEN:
            raise response.to_error(self._connection.location)

    def _read_entity(self, urn: str, names: Collection[str]) -> dict[str, StoredAspect]:
        query = f"?aspects=List({','.join(sorted(names))})" if names else ""
        response = self._connection.send("GET", f"/entitiesV2/{quote(urn, safe='')}{query}")
        if (
            response.status == 404
            and (response.is_restli_error or not response.content)
            and _NO_RESOURCE_MESSAGE not in response.message
        ):
            self._has_read = True
            return {}
        if response.status == 403:
            self._forbid(urn, response)
            return {}
        entity = self._parse_json(response)
        self._has_read = True
        aspects = entity.get("aspects") if isinstance(entity, dict) else None
        if not isinstance(aspects, dict):
            raise self._unexpected_response("not an entity")
        return dict(_stored_aspects(aspects))

    def _parse_entities(self, response: GmsResponse) -> list[dict[str, Any]]:
        entities = self._parse_json(response)
        if isinstance(entities, list) and all(
            isinstance(entity, dict) and isinstance(entity.get("urn"), str) for entity in entities
        ):
            return entities
        raise self._unexpected_response("not a list of entities")

    def _parse_json(self, response: GmsResponse) -> Any:
        if not response.is_success:
            raise response.to_error(self._connection.location)
        try:
            return load_json(response.content)
        except ValueError as error:
            raise self._unexpected_response("not JSON, or nested too deeply") from error

    def _unexpected_response(self, description: str) -> SinkError:
        """Return the error of a response that is not DataHub's.

        If it counted as empty, all aspects would seem to be missing.
        """
        return SinkError(
            f"unexpected response: {description}",
            location=self._connection.location,
            remedy="check that this is the address of DataHub's metadata service",
        )


def _stored_aspects(entity: Mapping[str, Any]) -> Iterator[tuple[str, StoredAspect]]:
    """Yield name and value of each aspect, with its run, pipeline and actor if they are known."""
    for name, content in entity.items():
        if not isinstance(content, dict) or not isinstance(content.get("value"), dict):
            continue
        metadata, audit_stamp = _first_part(content, "systemMetadata"), _first_part(content, "auditStamp", "created")
        yield (
            name,
            StoredAspect(
                content["value"], metadata.get("runId"), metadata.get("pipelineName"), audit_stamp.get("actor")
            ),
        )


def _first_part(content: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the first of these parts that exists."""
    return next((part for name in names if isinstance(part := content.get(name), dict) and part), {})
