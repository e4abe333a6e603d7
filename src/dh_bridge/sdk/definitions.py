"""Definitions of assertions that OpenLineage does not have: DataHub's own types, in the form of assertionInfo.

Each writes the part of the aspect for its type; ``needs`` raises a SettingsError with the version if the DataHub version lacks
a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from dh_bridge import columns
from dh_bridge.assertions.native import TIME_UNITS, field_spec, fixed_interval, sql_filter
from dh_bridge.datahub import urns
from dh_bridge.errors import AspectError, EventError
from dh_bridge.model.properties import masked_property_text
from dh_bridge.sdk.comparison import Comparison
from dh_bridge.sdk.plain import to_plain

RequireField = Callable[[str, str], None]
"""``needs(path in assertionInfo, label for messages)``."""
Change = Literal["absolute", "percentage", "ABSOLUTE", "PERCENTAGE"]
Severity = Literal["LOW", "MEDIUM", "HIGH"]


class AssertionTarget(msgspec.Struct, frozen=True):
    """The subject of a definition: the entity's URN, the spelling of its columns, its platform id (``postgres``)."""

    urn: str
    spell_column: Callable[[str], str]
    platform: str

    @property
    def kind(self) -> str:
        """The entity type of the URN."""
        return urns.entity_type(self.urn)

    def require_kind(self, *kinds: str) -> str:
        """Return the URN; an AspectError if it has another entity type."""
        if self.kind not in kinds:
            raise AspectError(
                f"{self.urn} is not a {' or '.join(kinds)}",
                location="assertionInfo",
                remedy="use an entity of this type",
            )
        return self.urn


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """Something happens in time: a dataset changes or, for the URN of a dataJob, the job runs.

    One of ``cron`` (with ``timezone`` and ``window_start_offset_ms``, how long before each time the window begins), ``every``
    (``(2, "DAY")``) or ``since_last_check``. ``filter``: SQL over the rows that count.
    """

    cron: str | None = None
    timezone: str = "UTC"
    window_start_offset_ms: int | None = None
    every: tuple[int, str] | None = None
    since_last_check: bool = False
    filter: str | None = None
    failure_severity: Severity | None = None

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:
        """Return ``type`` and ``freshnessAssertion``."""
        is_job = target.require_kind("dataset", "dataJob") == target.urn and target.kind == "dataJob"
        if is_job and self.filter is not None:
            raise EventError("a job has no rows to filter", location="filter", remedy="remove it")
        content = {
            "type": "DATA_JOB_RUN" if is_job else "DATASET_CHANGE",
            "entity": target.urn,
            "schedule": self._schedule(),
        }
        content |= _severity_config(self.failure_severity, "freshnessAssertion", require_field)
        return {"type": "FRESHNESS", "freshnessAssertion": {**content, **sql_filter(self.filter)}}

    def _schedule(self) -> dict[str, Any]:
        if [self.cron is not None, self.every is not None, self.since_last_check].count(True) != 1:
            raise EventError(
                "exactly one schedule is required", location="Freshness", remedy="pass cron, every or since_last_check"
            )
        if self.cron is not None:
            cron: dict[str, Any] = {"cron": self.cron, "timezone": self.timezone}
            if self.window_start_offset_ms is not None:
                cron["windowStartOffsetMs"] = self.window_start_offset_ms
            return {"type": "CRON", "cron": cron}
        if self.every is None:
            return {"type": "SINCE_THE_LAST_CHECK"}
        multiple, unit = self.every
        if unit.upper() not in TIME_UNITS:
            raise EventError(
                f"unknown unit of time {unit!r}", location="every", remedy=f"use one of {', '.join(TIME_UNITS)}"
            )
        return fixed_interval(multiple, unit.upper())


class Segment(msgspec.Struct, frozen=True):
    """Rows are counted by segment: those with one value of ``column``, of the source's type ``native_type``.

    ``transformer``: ``TIMESTAMP_MS_TO_DATE``, ``FLOOR`` … or any expression of the source (then it is NATIVE).
    """

    column: str
    native_type: str
    transformer: str | None = None

    def to_json(self, target: AssertionTarget) -> dict[str, Any]:
        """Return the IncrementingSegmentSpec."""
        spec: dict[str, Any] = {"field": _field_spec(self.column, self.native_type, target)}
        if self.transformer is not None:
            is_standard = self.transformer in _TRANSFORMERS
            spec["transformer"] = {"type": self.transformer} if is_standard else _native_transformer(self.transformer)
        return spec


_TRANSFORMERS = (
    *(f"TIMESTAMP_MS_TO_{unit}" for unit in ("MINUTE", "HOUR", "DATE", "MONTH", "YEAR")),
    *("FLOOR", "CEILING"),
)


class Volume(Comparison, frozen=True, kw_only=True):
    """The number of rows, or its growth (``change``); of the newest ``segment`` only, if one is given."""

    change: Change | None = None
    segment: Segment | None = None
    filter: str | None = None
    failure_severity: Severity | None = None

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:
        """Return ``type`` and ``volumeAssertion``."""
        entity = target.require_kind("dataset")
        field_name = "rowCountTotal" if self.change is None else "rowCountChange"
        content: dict[str, Any] = {}
        if self.segment is not None:
            field_name = f"incrementingSegment{field_name[0].upper()}{field_name[1:]}"
            content["segment"] = self.segment.to_json(target)
        if self.change is not None:
            content["type"] = self.change.upper()
        content |= _require_parameters(self.to_json())
        if self.failure_severity is not None:
            if self.segment is not None:
                raise EventError("a segment cannot have a severity", location="failure_severity", remedy="remove it")
            content |= _severity_config(self.failure_severity, f"volumeAssertion.{field_name}", require_field)
        kind = _to_upper_snake(field_name)
        return {
            "type": "VOLUME",
            "volumeAssertion": {"type": kind, "entity": entity, field_name: content, **sql_filter(self.filter)},
        }


class Sql(Comparison, frozen=True, kw_only=True):
    """The number that ``statement`` returns, or its difference (``change``) from the last time."""

    statement: str
    change: Change | None = None
    failure_severity: Severity | None = None

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:
        """Return ``type`` and ``sqlAssertion``."""
        content: dict[str, Any] = {"type": "METRIC" if self.change is None else "METRIC_CHANGE"}
        content |= {"entity": target.require_kind("dataset"), "statement": self.statement}
        if self.change is not None:
            content["changeType"] = self.change.upper()
        content |= _require_parameters(self.to_json())
        return {
            "type": "SQL",
            "sqlAssertion": {**content, **_severity_config(self.failure_severity, "sqlAssertion", require_field)},
        }


class Field(Comparison, frozen=True, kw_only=True):
    """Each value of a column, or a ``metric`` of it (``NULL_COUNT``, ``MEAN``, ``MAX_LENGTH`` …).

    ``native_type`` is the source's type. For values: ``length`` compares their length, ``exclude_nulls`` ignores nulls, and at
    most ``fail_count`` or ``fail_percentage`` of them may differ.
    """

    column: str
    native_type: str
    metric: str | None = None
    length: bool = False
    exclude_nulls: bool = True
    fail_count: int | None = None
    fail_percentage: int | None = None
    filter: str | None = None
    failure_severity: Severity | None = None

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:
        """Return ``type`` and ``fieldAssertion``."""
        content: dict[str, Any] = {"type": "FIELD_VALUES" if self.metric is None else "FIELD_METRIC"}
        content["entity"] = target.require_kind("dataset")
        spec = {"field": _field_spec(self.column, self.native_type, target)}
        if self.metric is not None:
            if self.length or self.fail_count is not None or self.fail_percentage is not None:
                raise EventError(
                    "a metric cannot be combined with length or thresholds",
                    location="Field",
                    remedy="remove length, fail_count and fail_percentage",
                )
            severity = _severity_config(self.failure_severity, "fieldAssertion.fieldMetricAssertion", require_field)
            content["fieldMetricAssertion"] = {**spec, "metric": self.metric, **self.to_json(), **severity}
        else:
            severity = _severity_config(self.failure_severity, "fieldAssertion.fieldValuesAssertion", require_field)
            content["fieldValuesAssertion"] = {
                **spec,
                **self._values_spec(),
                **severity,
                "excludeNulls": self.exclude_nulls,
            }
        return {"type": "FIELD", "fieldAssertion": {**content, **sql_filter(self.filter)}}

    def _values_spec(self) -> dict[str, Any]:
        if self.fail_count is not None and self.fail_percentage is not None:
            raise EventError(
                "fail_count and fail_percentage exclude each other", location="Field", remedy="pass only one of them"
            )
        transform = {"transform": {"type": "LENGTH"}} if self.length else {}
        threshold = {"type": "COUNT", "value": self.fail_count or 0}
        if self.fail_percentage is not None:
            threshold = {"type": "PERCENTAGE", "value": self.fail_percentage}
        return {**transform, **self.to_json(), "failThreshold": threshold}


class Schema(msgspec.Struct, frozen=True):
    """The columns of a dataset: ``(name, native type)`` or ``(name, native type, description)`` each, in order."""

    fields: Sequence[tuple[str, ...]]
    compatibility: Literal["EXACT_MATCH", "SUPERSET", "SUBSET"] = "EXACT_MATCH"

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:  # noqa: ARG002 - the signature of all definitions
        """Return ``type`` and ``schemaAssertion``."""
        entity = target.require_kind("dataset")
        if any(len(column) not in (2, 3) for column in self.fields):
            raise EventError(
                "each column requires a name and a type", location="Schema", remedy='e.g. [("id", "bigint")]'
            )
        given_fields = [
            columns.SchemaFacetField(column[0], column[1], column[2] if len(column) > 2 else None)
            for column in self.fields
        ]
        rendered_schema = columns.schema_fields(
            given_fields, platform=target.platform, spell_column=target.spell_column
        )
        if not rendered_schema.fields or rendered_schema.dropped_count:
            raise EventError(
                "each column requires a name and a type", location="Schema", remedy='e.g. [("id", "bigint")]'
            )
        name = urns.parse_urn(entity)[1][1]
        schema = columns.schema_metadata(name, target.platform, rendered_schema.fields)
        content = {"entity": entity, "schema": schema, "compatibility": self.compatibility}
        return {"type": "DATA_SCHEMA", "schemaAssertion": content}


class Custom(Comparison, frozen=True, kw_only=True):
    """Any other assertion, shown as a ``label``; on a ``column``, with its ``logic`` as text. The rest needs DataHub 1.7."""

    label: str
    column: str | None = None
    logic: str | None = None
    columns: Sequence[str] = ()
    scope: str | None = None
    aggregation: str | None = None
    native_type: str | None = None
    native_parameters: Mapping[str, Any] = {}

    def info(self, target: AssertionTarget, require_field: RequireField) -> dict[str, Any]:
        """Return ``type`` and ``customAssertion``."""
        content: dict[str, Any] = {"type": self.label, "entity": target.require_kind("dataset")}
        paths = dict.fromkeys(
            target.spell_column(column) for column in (*((self.column,) if self.column else ()), *self.columns)
        )
        fields = [urns.schema_field_urn(target.urn, path) for path in paths]
        optional_fields: dict[str, Any] = {"fields": fields} if self.columns else {}
        texts = {"scope": self.scope, "aggregation": self.aggregation}
        optional_fields |= {key: value for key, value in texts.items() if value is not None}
        if (self.operator, self.value, self.min, self.max) != (None, None, None, None):
            optional_fields |= self.to_json()
        if self.native_type is not None:
            optional_fields["nativeType"] = self.native_type
        parameters = {
            key: masked_property_text(key, value) for key, value in sorted(to_plain(self.native_parameters).items())
        }
        if parameters:
            optional_fields["nativeParameters"] = {key: value for key, value in parameters.items() if value is not None}
        for key in optional_fields:
            require_field(f"customAssertion.{key}", f"{key} of a custom check")
        content |= {"field": fields[0]} if fields else {}
        return {
            "type": "CUSTOM",
            "customAssertion": content | optional_fields | ({"logic": self.logic} if self.logic else {}),
        }


Definition = Freshness | Volume | Sql | Field | Schema | Custom


def _severity_config(severity: Severity | None, path: str, require_field: RequireField) -> dict[str, Any]:
    if severity is None:
        return {}
    require_field(f"{path}.failureSeverityConfig", "failure_severity")
    return {"failureSeverityConfig": {"defaultSeverity": severity, "rules": []}}


def _require_parameters(comparison: dict[str, Any]) -> dict[str, Any]:
    """Return operator and parameters; kinds that compare a number require both."""
    if "parameters" not in comparison:
        raise EventError(
            f"{comparison['operator']} does not compare numbers", location="operator", remedy="pass min, max or value"
        )
    return comparison


def _field_spec(column: str, native_type: str, target: AssertionTarget) -> dict[str, str]:
    """Return the SchemaFieldSpec; its type is the name that DataHub's schemas have for the native one."""
    kind = columns.data_type(native_type, target.platform)
    return field_spec({"fieldPath": target.spell_column(column), "type": kind, "nativeDataType": native_type})


def _native_transformer(expression: str) -> dict[str, str]:
    return {"type": "NATIVE", "nativeType": expression}


def _to_upper_snake(camel: str) -> str:
    return "".join(f"_{char}" if char.isupper() else char for char in camel).upper()
