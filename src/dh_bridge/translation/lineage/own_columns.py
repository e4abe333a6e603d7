"""The columns that a dataset has by the schema of the same event, as lineage names them."""

from __future__ import annotations

from functools import cached_property


class OwnColumns:
    """Names of columns, as they were sent -> paths; None: nobody knows what there is."""

    def __init__(self, paths: dict[str, str] | None) -> None:
        self._paths = paths

    def called(self, name: str) -> str | None:
        """Return what the schema calls a column, or one inside of a column; None: there is no such column.

        SQL names columns in any case, and so does lineage that is read from SQL; a catalogue has one (Snowflake: ``ID``).
        """
        outer, _, rest = name.partition(".")
        if self._paths is None or name in self._paths or outer in self._paths:
            return name
        if (own := self._by_case.get(name.casefold())) is not None:
            return own
        own = self._by_case.get(outer.casefold()) if rest else None
        return f"{own}.{rest}" if own is not None else None

    @cached_property
    def _by_case(self) -> dict[str, str | None]:
        """Without case -> as it was sent; None where case tells columns apart."""
        found: dict[str, str | None] = {}
        paths = self._paths or {}
        for name, path in paths.items():
            other = found.setdefault(name.casefold(), name)
            if other is None or paths[other] != path:
                found[name.casefold()] = None
        return found
