"""The table ``mappings/tables/assertions.yaml``: what the names of checks mean."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge import bundled
from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCOPES = {
    "column": "DATASET_COLUMN",
    "rows": "DATASET_ROWS",
    "schema": "DATASET_SCHEMA",
    "size": "DATASET_STORAGE_SIZE",
}
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: SodaCL: metric(column) comparison
_CALL = re.compile(
    r"\s*([A-Za-z]\w*(?: \w+)*?)\s*(?:\(([^()]*)\)\s*)?((?:[<>=!]|between\b).*)?", re.DOTALL | re.IGNORECASE
)
_LONGEST = 1000


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table; see the head of the YAML file."""

    names: list[str]
    scope: str
    aggregation: str
    operator: str
    examples: list[Any]
    column: bool | None = None
    zero: bool = False
    given: list[str] = []
    parameters: dict[str, Any] = {}
    fields: list[str] = []
    logic: str = ""
    offers: str = ""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the parameters that hold the ends of a range."""

    least: list[str]
    greatest: list[str]
    exclude_least: list[str]
    exclude_greatest: list[str]
    include: list[str]


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    packages: list[str]
    alerts: list[str]
    operators: dict[str, list[str]]
    range: Range
    column: list[str]
    severities: dict[str, str]
    statuses: dict[str, str]
    of_the_run: list[str]
    counts: dict[str, str]
    no_identity: list[str]
    checks: list[Row]
    compared: list[str] = []
    measured: list[str] = []
    how: list[str] = []


class Named(msgspec.Struct, frozen=True):
    """The name of a check, read: ``kind`` is what identity sees; the rest is SodaCL's ``metric(columns) comparison``."""

    kind: str
    rows: tuple[Row, ...]
    known: bool
    columns: tuple[str, ...] = ()
    comparison: str = ""


class AssertionTable:
    """The table, ready for look-ups; answers are remembered by name."""

    def __init__(self, document: Mapping[str, Any], where: str = "") -> None:
        try:
            self.words = msgspec.convert(document, Document)
        except msgspec.ValidationError as error:
            raise MappingError(str(error), where=where, now="see mappings/schema/assertions.schema.json") from error
        self._exact: dict[str, list[Row]] = {}
        prefixes: dict[str, list[Row]] = {}
        for row in self.words.checks:
            for name in row.names:
                rows, key = (prefixes, name[:-1]) if name.endswith("*") else (self._exact, name)
                rows.setdefault(key, []).append(row)
        if not any(row.column is None and not row.zero and not row.given for row in prefixes.get("", ())):
            raise MappingError(
                "no row fits every check", where=where, now='add a row with the name "*" and no condition'
            )
        self._prefixes = sorted(prefixes.items(), key=lambda item: -len(item[0]))
        self.operators = {word: operator for operator, words in self.words.operators.items() for word in words}
        self.of_the_run = frozenset((*self.words.of_the_run, *self.words.counts))
        self.no_identity = self.of_the_run.union(self.words.no_identity)
        self.how = frozenset(self.words.how).union(self.words.column, *(row.fields for row in self.words.checks))
        self.named = lru_cache(maxsize=4096)(self._named)

    def _named(self, text: str) -> Named:
        """Return the name of a check, read (``text``: as the producer spells it)."""
        text = text.strip()[:_LONGEST]
        kind = self._normal(text)
        rows = self._rows(kind)
        if rows is None:
            call = _CALL.fullmatch(text)
            if call is not None and (call[2] or call[3]) and call[1].lower() in self._exact:
                columns = tuple(part.strip() for part in (call[2] or "").split(",") if part.strip())
                metric = self._exact[call[1].lower()]
                return Named(kind, (*metric, *self._unknown()), known=True, columns=columns, comparison=call[3] or "")
            return Named(kind, self._unknown(), known=False)
        return Named(kind, (*rows, *self._unknown()), known=True)

    def _normal(self, text: str) -> str:
        if _IDENTIFIER.fullmatch(text):
            if not text.isupper():
                text = _HUMP.sub("_", text)
            text = text.lower()
            for package in self.words.packages:
                text = text.removeprefix(package)
            for alert in self.words.alerts:
                rest = text.removeprefix(alert)
                if rest != text and self._rows(rest) is not None:
                    return rest
            return text
        return " ".join(text.lower().split())

    def _rows(self, kind: str) -> tuple[Row, ...] | None:
        found = list(self._exact.get(kind, ()))
        found += (row for prefix, rows in self._prefixes if prefix and kind.startswith(prefix) for row in rows)
        return tuple(found) if found else None

    def _unknown(self) -> tuple[Row, ...]:
        return tuple(self._prefixes[-1][1])


def load(overlay: Path | None = None) -> AssertionTable:
    """Return the bundled table, or the one in the user's ``overlay`` folder."""
    return AssertionTable(bundled.table("assertions", overlay), "tables/assertions.yaml")


@cache
def default_table() -> AssertionTable:
    """Return the bundled table, loaded once."""
    return load()
