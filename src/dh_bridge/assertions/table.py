"""The table ``mappings/tables/assertions.yaml``: names of checks and their meaning."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from dh_bridge.bundled import convert_document
from dh_bridge.errors import MappingError

SCOPES = {
    "column": "DATASET_COLUMN",
    "rows": "DATASET_ROWS",
    "schema": "DATASET_SCHEMA",
    "size": "DATASET_STORAGE_SIZE",
    "unknown": "UNKNOWN",
}
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: SodaCL: metric(column) comparison
_CALL = re.compile(
    r"\s*([A-Za-z]\w*(?: \w+)*?)\s*(?:\(([^()]*)\)\s*)?((?:[<>=!]|between\b).*)?", re.DOTALL | re.IGNORECASE
)
_MAX_NAME_CHARS = 1000
_Name = Annotated[str, msgspec.Meta(pattern=r"^([a-z][a-z0-9_ ]*\*?|\*)$")]
_Aggregation = Literal[
    "ROW_COUNT", "COLUMNS", "COLUMN_COUNT", "IDENTITY", "MEAN", "MEDIAN", "UNIQUE_COUNT", "UNIQUE_PROPOTION", "NULL_COUNT",
    "NULL_PROPORTION", "STDDEV", "MIN", "MAX", "SUM", "_NATIVE_",
]  # fmt: skip
_Operator = Literal[
    "range", "percent_range", "rest_range", "percent_rest_range", "quantile_range", "age", "LESS_THAN", "LESS_THAN_OR_EQUAL_TO",
    "GREATER_THAN", "GREATER_THAN_OR_EQUAL_TO", "EQUAL_TO", "NOT_EQUAL_TO", "NULL", "NOT_NULL", "CONTAIN", "START_WITH", "END_WITH", "REGEX_MATCH", "IN",
    "NOT_IN", "IS_TRUE", "IS_FALSE", "_NATIVE_",
]  # fmt: skip
_Value = Literal["constant", "value", "text", "column", "set", "list", "rest_of_one"]
_Offer = Literal[
    "", "FIELD", "FIELD LENGTH", "FIELD NULL_COUNT", "FIELD NULL_PERCENTAGE", "FIELD UNIQUE_PERCENTAGE", "VOLUME", "SQL", "FRESHNESS",
]  # fmt: skip


class AssertionRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table; see the head of the YAML file."""

    names: list[_Name]
    scope: Literal["column", "rows", "schema", "size", "unknown"]
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


class RangeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the parameters that hold the ends of a range."""

    least: list[str]
    greatest: list[str]
    exclude_least: list[str]
    exclude_greatest: list[str]
    include: list[str]


class AssertionsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    packages: list[str]
    alerts: list[str]
    operators: dict[str, list[str]]
    range: RangeParameters
    column: list[str]
    severities: dict[str, Literal["LOW", "MEDIUM", "HIGH"]]
    statuses: dict[str, Literal["SUCCESS", "FAILURE", "ERROR", "SKIPPED"]]
    of_the_run: list[str]
    counts: dict[str, Literal["rowCount", "missingCount", "unexpectedCount"]]
    no_identity: list[str]
    checks: list[AssertionRow]
    compared: list[str] = []
    measured: list[str] = []
    how: list[str] = []


class CheckName(msgspec.Struct, frozen=True):
    """The name of a check, read: ``kind`` is what identity sees; the rest is SodaCL's ``metric(columns) comparison``."""

    kind: str
    rows: tuple[AssertionRow, ...]
    is_known: bool
    columns: tuple[str, ...] = ()
    comparison: str = ""


class AssertionTable:
    """The table, ready for look-ups; answers are remembered by name."""

    def __init__(self, document: Any, location: str = "") -> None:
        self.vocabulary = convert_document(document, AssertionsDocument, "assertions", location)
        self._exact: dict[str, list[AssertionRow]] = {}
        prefixes: dict[str, list[AssertionRow]] = {}
        for row in self.vocabulary.checks:
            for name in row.names:
                rows, key = (prefixes, name[:-1]) if name.endswith("*") else (self._exact, name)
                rows.setdefault(key, []).append(row)
        if not any(row.column is None and not row.zero and not row.given for row in prefixes.get("", ())):
            raise MappingError(
                "no row matches every check", location=location, remedy='add a row with the name "*" and no condition'
            )
        self._prefixes = sorted(prefixes.items(), key=lambda item: -len(item[0]))
        self.operators = {word: operator for operator, words in self.vocabulary.operators.items() for word in words}
        self.run_parameters = frozenset((*self.vocabulary.of_the_run, *self.vocabulary.counts))
        self.non_identity_parameters = self.run_parameters.union(self.vocabulary.no_identity)
        self.method_parameters = frozenset(self.vocabulary.how).union(
            self.vocabulary.column, *(row.fields for row in self.vocabulary.checks)
        )
        self.parse_name = lru_cache(maxsize=4096)(self._parse_name)

    def _parse_name(self, text: str) -> CheckName:
        """Return the name of a check, read (``text``: as the producer spells it)."""
        text = text.strip()[:_MAX_NAME_CHARS]
        kind = self._normalize(text)
        rows = self._matching_rows(kind)
        if rows is None:
            match = _CALL.fullmatch(text)
            if match is not None and (match[2] or match[3]) and match[1].lower() in self._exact:
                columns = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
                metric = self._exact[match[1].lower()]
                return CheckName(
                    kind, (*metric, *self._fallback_rows()), is_known=True, columns=columns, comparison=match[3] or ""
                )
            return CheckName(kind, self._fallback_rows(), is_known=False)
        return CheckName(kind, (*rows, *self._fallback_rows()), is_known=True)

    def _normalize(self, text: str) -> str:
        if _IDENTIFIER.fullmatch(text):
            if not text.isupper():
                text = _WORD_BOUNDARY.sub("_", text)
            text = text.lower()
            for package in self.vocabulary.packages:
                text = text.removeprefix(package)
            for alert in self.vocabulary.alerts:
                remainder = text.removeprefix(alert)
                if remainder != text and self._matching_rows(remainder) is not None:
                    return remainder
            return text
        return " ".join(text.lower().split())

    def _matching_rows(self, kind: str) -> tuple[AssertionRow, ...] | None:
        matches = list(self._exact.get(kind, ()))
        matches += (row for prefix, rows in self._prefixes if prefix and kind.startswith(prefix) for row in rows)
        return tuple(matches) if matches else None

    def _fallback_rows(self) -> tuple[AssertionRow, ...]:
        return tuple(self._prefixes[-1][1])
