"""The table ``mappings/tables/assertions.yaml``: what the names of checks mean."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from dh_bridge.bundled import typed
from dh_bridge.errors import MappingError

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
_Name = Annotated[str, msgspec.Meta(pattern=r"^([a-z][a-z0-9_ ]*\*?|\*)$")]
_Aggregation = Literal[
    "ROW_COUNT", "COLUMNS", "COLUMN_COUNT", "IDENTITY", "MEAN", "MEDIAN", "UNIQUE_COUNT", "UNIQUE_PROPOTION", "NULL_COUNT",
    "NULL_PROPORTION", "STDDEV", "MIN", "MAX", "SUM", "_NATIVE_",
]  # fmt: skip
_Operator = Literal[
    "range", "percent_range", "rest_range", "percent_rest_range", "quantile_range", "age", "LESS_THAN", "LESS_THAN_OR_EQUAL_TO",
    "GREATER_THAN", "GREATER_THAN_OR_EQUAL_TO", "EQUAL_TO", "NOT_EQUAL_TO", "NULL", "NOT_NULL", "CONTAIN", "REGEX_MATCH", "IN",
    "NOT_IN", "IS_TRUE", "IS_FALSE", "_NATIVE_",
]  # fmt: skip
_Value = Literal["constant", "value", "text", "column", "set", "list", "rest_of_one"]
_Offer = Literal[
    "", "FIELD", "FIELD LENGTH", "FIELD NULL_COUNT", "FIELD NULL_PERCENTAGE", "FIELD UNIQUE_PERCENTAGE", "VOLUME", "SQL", "FRESHNESS",
]  # fmt: skip


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table; see the head of the YAML file."""

    names: list[_Name]
    scope: Literal["column", "rows", "schema", "size"]
    aggregation: _Aggregation
    operator: _Operator
    examples: list[Any] = []
    column: bool | None = None
    zero: bool = False
    given: list[str] = []
    parameters: dict[_Value, list[str] | str] = {}
    fields: list[str] = []
    logic: Literal["", "references", "expression"] = ""
    offers: _Offer = ""


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
    severities: dict[str, Literal["LOW", "MEDIUM", "HIGH"]]
    statuses: dict[str, Literal["SUCCESS", "FAILURE", "SKIPPED"]]
    of_the_run: list[str]
    counts: dict[str, Literal["rowCount", "missingCount", "unexpectedCount"]]
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

    def __init__(self, document: Any, where: str = "") -> None:
        self.words = typed(document, Document, "assertions", where)
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
