"""Names as SQL has them, in any case: an event's own datasets and schemas have those of the catalogue.

Lineage that is read from SQL repeats its names: ``id`` of Snowflake's ``ID``, ``SALES.ORDERS`` of Postgres' ``sales.orders``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.naming import Name


class Columns:
    """The columns of a dataset by the schema of the same event: names, as they were sent -> paths; None: nobody knows."""

    def __init__(self, paths: dict[str, str] | None) -> None:
        self.paths = paths

    def called(self, name: str) -> str | None:
        """Return what the schema calls a column, or one inside of a column; None: there is no such column."""
        outer, _, rest = name.partition(".")
        if self.paths is None or name in self.paths or outer in self.paths:
            return name
        if (own := self._by_case.get(name.casefold())) is not None:
            return own
        own = self._by_case.get(outer.casefold()) if rest else None
        return f"{own}.{rest}" if own is not None else None

    @cached_property
    def _by_case(self) -> dict[str, str | None]:
        """Without case -> as it was sent; None where case tells columns apart."""
        found: dict[str, str | None] = {}
        paths = self.paths or {}
        for name, path in paths.items():
            other = found.setdefault(name.casefold(), name)
            if other is None or paths[other] != path:
                found[name.casefold()] = None
        return found


def source_of(namespace: str, name: str, at: Place) -> Name:
    """Return the name of a dataset that columns were made of: the one of the event that differs by case alone, else its own."""
    if (namespace, name) in at.aliases:
        return at.aliases[namespace, name]
    wanted = name.casefold()
    same = {id(one): one for (of, said), one in at.aliases.items() if of == namespace and said.casefold() == wanted}
    return next(iter(same.values())) if len(same) == 1 else at.endpoint(namespace, name)
