"""Resolves names from SQL in any case: the event's datasets and schemas have the names of the catalogue.

Lineage that is read from SQL repeats its names: ``id`` of Snowflake's ``ID``, ``SALES.ORDERS`` of Postgres' ``sales.orders``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dh_bridge.naming.names import unquote_identifier

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.naming import Name

_QUOTES = '"`['


class SchemaColumns:
    """The columns of a dataset in the schema of the same event: names as they were sent -> paths; None if they are unknown."""

    def __init__(self, paths: dict[str, str] | None) -> None:
        self.paths = paths

    def resolve(self, name: str) -> str | None:
        """Return the name of a column, or of one inside a column, in the schema; None if there is no such column."""
        outer, _, inner = name.partition(".")
        if self.paths is None or name in self.paths or outer in self.paths:
            return name
        if (schema_name := self._names_by_casefold.get(name.casefold())) is not None:
            return schema_name
        if name[:1] and name[0] in _QUOTES and (unquoted_name := unquote_identifier(name, _QUOTES)) != name:
            return name if unquoted_name in self.paths else self._names_by_casefold.get(unquoted_name.casefold())
        schema_name = self._names_by_casefold.get(outer.casefold()) if inner else None
        return f"{schema_name}.{inner}" if schema_name is not None else None

    @cached_property
    def _names_by_casefold(self) -> dict[str, str | None]:
        """Name in case-folded form -> the name as it was sent; None if columns differ only in case."""
        names: dict[str, str | None] = {}
        paths = self.paths or {}
        for name, path in paths.items():
            for spelling in {name.casefold(), path.casefold()}:
                known_name = names.setdefault(spelling, name)
                if known_name is None or paths[known_name] != path:
                    names[spelling] = None
        return names


def resolve_source(namespace: str, name: str, ctx: FacetContext) -> Name:
    """Return the name of a dataset that columns were made of: the one of the event that differs by case alone, else its own."""
    if (namespace, name) in ctx.aliases:
        return ctx.aliases[namespace, name]
    folded_name = name.casefold()
    candidates = {
        id(candidate): candidate
        for (event_namespace, event_name), candidate in ctx.aliases.items()
        if event_namespace == namespace and event_name.casefold() == folded_name
    }
    return next(iter(candidates.values())) if len(candidates) == 1 else ctx.dataset_name(namespace, name)
