"""The parameters of a request to the read API, and the parts that its answers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.entity import display_name
from dh_bridge.datahub.urns import parse_urn
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.catalog.store import Catalog

MAX_PAGE_SIZE = 200
_DEFAULT_PAGE_SIZE = 50
_PLATFORM_PREFIX = "urn:li:dataPlatform:"


class UnknownEntityError(ValueError):
    """The catalogue does not have the entity."""


class RequestParameters:
    """The parameters of the query, and the body.

    Args:
        query: The parameters by name.
        body: The body of a POST request.
    """

    def __init__(self, query: dict[str, str], body: bytes = b"") -> None:
        self._query = query
        self.body = body

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter; ``default`` if it is missing."""
        return self._query.get(name, default).strip()

    def required(self, name: str) -> str:
        """Return a parameter; a ValueError if it is missing."""
        value = self.text(name)
        if not value:
            raise ValueError(f"the parameter {name} is missing")
        return value

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """Return a parameter that is one of ``choices``; a ValueError if it is another."""
        value = self.text(name, default) or default
        if value not in choices:
            raise ValueError(f"{name}: unknown value {value!r} (use one of {', '.join(choices)})")
        return value

    def number(self, name: str, default: int, *, maximum: int) -> int:
        """Return a parameter that is a number from 0 to ``maximum``; larger numbers become the maximum."""
        text = self.text(name)
        if not text:
            return default
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            raise ValueError(f"{name}: expected a number, got {text!r}")
        return min(int(text), maximum)

    def page_token(self) -> str | None:
        """Return the token of the page; None for the first one."""
        return self.text("page") or None

    def page_size(self) -> int:
        """Return the number of rows of a page."""
        return max(1, self.number("limit", _DEFAULT_PAGE_SIZE, maximum=MAX_PAGE_SIZE))


class EntityLink(msgspec.Struct, frozen=True):
    """An entity as lists show it: ``platform`` is that of a dataset, or the orchestrator of a job."""

    urn: str
    type: str
    name: str
    platform: str


def entity_link(catalog: Catalog, urn: str) -> EntityLink:
    """Return an entity as lists show it."""
    return EntityLink(urn, entity_type(urn), display_name(catalog, urn), platform_of(urn))


def platform_of(urn: str) -> str:
    """Return the platform of a dataset, the orchestrator of a flow or job; an empty text for other entities."""
    try:
        kind, parts = parse_urn(urn)
    except AspectError:
        return ""
    if kind == "dataJob":
        return platform_of(parts[0])
    if kind == "dataFlow":
        return parts[0]
    return parts[0].removeprefix(_PLATFORM_PREFIX) if kind == "dataset" else ""


def require_entity(catalog: Catalog, urn: str) -> str:
    """Return the URN of an entity; an UnknownEntityError if the catalogue does not have it."""
    if catalog.connection.execute("SELECT 1 FROM entity WHERE urn = ?", (urn,)).fetchone() is None:
        raise UnknownEntityError(f"the catalogue has no entity {urn} (search for a part of its name)")
    return urn
