"""Reading back: the present aspects of entities, by OpenAPI's ``batchGet``, by rest.li's ``/entitiesV2`` where that is missing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import Present

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dh_bridge.sinks.rest.connection import Connection
    from dh_bridge.sinks.rest.responses import Answer

_BATCH = 100
"""Entities in one request; their aspects may be large."""
_MAX_FORBIDDEN = 32
"""Entities that may be refused before a single one was read: then it is no matter of single entities."""
_NO_DOOR = "No root resource defined"
"""What rest.li says where it has no such resource: that tells nothing of the entity."""


class Reader:
    """Reads over a connection; asks in batches until the server shows that it has none.

    ``forbidden`` are the entities that the token's user may not read (403); ``read`` returns nothing of them.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._batches = True
        self._any_read = False
        self.forbidden: set[str] = set()

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
            if answer.status == 403:
                return self._halves(kind, wanted, answer)
            if answer.status not in (404, 405):
                self._any_read = self._any_read or answer.fine
                return {one["urn"]: dict(_aspects(one)) for one in self._entities(answer)}
            self._batches = False
        return {urn: found for urn, names in wanted.items() if (found := self._entity(urn, names))}

    def _halves(
        self, kind: str, wanted: Mapping[str, Collection[str]], answer: Answer
    ) -> dict[str, dict[str, Present]]:
        """Read a batch that is refused, as it names an entity that may not be read, without that entity."""
        urns = list(wanted)
        if len(urns) == 1:
            self._forbid(urns[0], answer)
            return {}
        middle = len(urns) // 2
        first = self._read(kind, {urn: wanted[urn] for urn in urns[:middle]})
        return first | self._read(kind, {urn: wanted[urn] for urn in urns[middle:]})

    def _forbid(self, urn: str, answer: Answer) -> None:
        self.forbidden.add(urn)
        if not self._any_read and len(self.forbidden) > _MAX_FORBIDDEN:
            raise answer.error(self._connection.where)

    def _entity(self, urn: str, names: Collection[str]) -> dict[str, Present]:
        asked = f"?aspects=List({','.join(sorted(names))})" if names else ""
        answer = self._connection.send("GET", f"/entitiesV2/{quote(urn, safe='')}{asked}")
        if answer.status == 404 and (answer.ours or not answer.content) and _NO_DOOR not in answer.words:
            self._any_read = True
            return {}
        if answer.status == 403:
            self._forbid(urn, answer)
            return {}
        entity = self._json(answer)
        self._any_read = True
        aspects = entity.get("aspects") if isinstance(entity, dict) else None
        if not isinstance(aspects, dict):
            raise self._foreign("no entity")
        return dict(_aspects(aspects))

    def _entities(self, answer: Answer) -> list[dict[str, Any]]:
        found = self._json(answer)
        if isinstance(found, list) and all(isinstance(one, dict) and isinstance(one.get("urn"), str) for one in found):
            return found
        raise self._foreign("no list of entities")

    def _json(self, answer: Answer) -> Any:
        if not answer.fine:
            raise answer.error(self._connection.where)
        try:
            return load_json(answer.content)
        except ValueError as error:
            raise self._foreign("no JSON, or nested too deeply") from error

    def _foreign(self, what: str) -> SinkError:
        """Return the error of an answer that is not DataHub's: taken for an empty one, all would seem to be missing."""
        return SinkError(
            f"answers a question with something that is {what}",
            where=self._connection.where,
            now="is this the address of DataHub's metadata service?",
        )


def _aspects(entity: Mapping[str, Any]) -> Iterator[tuple[str, Present]]:
    """Yield name and value of each aspect, with what is known of who wrote it."""
    for name, held in entity.items():
        if not isinstance(held, dict) or not isinstance(held.get("value"), dict):
            continue
        metadata, stamp = _part(held, "systemMetadata"), _part(held, "auditStamp", "created")
        yield name, Present(held["value"], metadata.get("runId"), metadata.get("pipelineName"), stamp.get("actor"))


def _part(held: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the first of these parts that is there."""
    return next((part for name in names if isinstance(part := held.get(name), dict) and part), {})
