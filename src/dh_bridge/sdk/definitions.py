"""Checks that OpenLineage has no words for: DataHub's own kinds, each as it stands in assertionInfo.

Each writes the part of the aspect that belongs to its type; what a profile does not know is asked of ``needs``, which
raises a SettingsError with the version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from dh_bridge.datahub import urns
from dh_bridge.errors import AspectError, EventError
from dh_bridge.sdk.comparison import Comparison
from dh_bridge.sdk.plain import plain
from dh_bridge.translation import columns
from dh_bridge.translation.assertions.native import UNITS, field_spec, fixed_interval, sql_filter
from dh_bridge.translation.properties import kept_unmasked

Needs = Callable[[str, str], None]
"""``needs(path in assertionInfo, words for people)``."""
Change = Literal["absolute", "percentage", "ABSOLUTE", "PERCENTAGE"]
Severity = Literal["LOW", "MEDIUM", "HIGH"]


class Target(msgspec.Struct, frozen=True):
    """What a definition is about: the entity's URN, how its columns are spelt, its platform id (``postgres``)."""

    urn: str
    column: Callable[[str], str]
    platform: str

    @property
    def kind(self) -> str:
        """The entity type of the URN."""
        return urns.entity_type(self.urn)

    def only(self, *kinds: str) -> str:
        """Return the URN; an AspectError when it is of no such entity type."""
        if self.kind not in kinds:
            raise AspectError(
                f"{self.urn} is no {' or '.join(kinds)}", where="assertionInfo", now="check another entity"
            )
        return self.urn


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """Something happens in time: a dataset changes or, given a dataJob's URN, the job runs.

    One of ``cron`` (with ``timezone`` and ``window_start_offset_ms``, how long before each time the window begins),
    ``every`` (``(2, "DAY")``) or ``since_last_check``. ``filter``: SQL over the rows that count.
    """

    cron: str | None = None
    timezone: str = "UTC"
    window_start_offset_ms: int | None = None
    every: tuple[int, str] | None = None
    since_last_check: bool = False
    filter: str | None = None
    failure_severity: Severity | None = None

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:
        """Return ``type`` and ``freshnessAssertion``."""
        of_job = target.only("dataset", "dataJob") == target.urn and target.kind == "dataJob"
        if of_job and self.filter is not None:
            raise EventError("a job has no rows to filter", where="filter", now="leave it out")
        body = {
            "type": "DATA_JOB_RUN" if of_job else "DATASET_CHANGE",
            "entity": target.urn,
            "schedule": self._schedule(),
        }
        body |= _severity(self.failure_severity, "freshnessAssertion", needs)
        return {"type": "FRESHNESS", "freshnessAssertion": {**body, **sql_filter(self.filter)}}

    def _schedule(self) -> dict[str, Any]:
        if [self.cron is not None, self.every is not None, self.since_last_check].count(True) != 1:
            raise EventError("one schedule is needed", where="Freshness", now="give cron, every or since_last_check")
        if self.cron is not None:
            cron: dict[str, Any] = {"cron": self.cron, "timezone": self.timezone}
            if self.window_start_offset_ms is not None:
                cron["windowStartOffsetMs"] = self.window_start_offset_ms
            return {"type": "CRON", "cron": cron}
        if self.every is None:
            return {"type": "SINCE_THE_LAST_CHECK"}
        multiple, unit = self.every
        if unit.upper() not in UNITS:
            raise EventError(f"no unit of time: {unit!r}", where="every", now=f"one of {', '.join(UNITS)}")
        return fixed_interval(multiple, unit.upper())


class Segment(msgspec.Struct, frozen=True):
    """Rows are counted by segment: those with one value of ``column``, of the source's type ``native_type``.

    ``transformer``: ``TIMESTAMP_MS_TO_DATE``, ``FLOOR`` … or any expression of the source (then it is NATIVE).
    """

    column: str
    native_type: str
    transformer: str | None = None

    def wire(self, target: Target) -> dict[str, Any]:
        """Return the IncrementingSegmentSpec."""
        found: dict[str, Any] = {"field": _field_spec(self.column, self.native_type, target)}
        if self.transformer is not None:
            known = self.transformer in _TRANSFORMERS
            found["transformer"] = {"type": self.transformer} if known else _native(self.transformer)
        return found


_TRANSFORMERS = (
    *(f"TIMESTAMP_MS_TO_{unit}" for unit in ("MINUTE", "HOUR", "DATE", "MONTH", "YEAR")),
    *("FLOOR", "CEILING"),
)


class Volume(Comparison, frozen=True, kw_only=True):
    """How many rows there are, or by how many (``change``) they grow; of the newest ``segment`` only, if one is given."""

    change: Change | None = None
    segment: Segment | None = None
    filter: str | None = None
    failure_severity: Severity | None = None

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:
        """Return ``type`` and ``volumeAssertion``."""
        entity = target.only("dataset")
        what = "rowCountTotal" if self.change is None else "rowCountChange"
        body: dict[str, Any] = {}
        if self.segment is not None:
            what = f"incrementingSegment{what[0].upper()}{what[1:]}"
            body["segment"] = self.segment.wire(target)
        if self.change is not None:
            body["type"] = self.change.upper()
        body |= _with_parameters(self.compared())
        if self.failure_severity is not None:
            if self.segment is not None:
                raise EventError("segments take no severity", where="failure_severity", now="leave it out")
            body |= _severity(self.failure_severity, f"volumeAssertion.{what}", needs)
        kind = _shouted(what)
        return {
            "type": "VOLUME",
            "volumeAssertion": {"type": kind, "entity": entity, what: body, **sql_filter(self.filter)},
        }


class Sql(Comparison, frozen=True, kw_only=True):
    """The one number that ``statement`` returns, or by how much (``change``) it differs from last time."""

    statement: str
    change: Change | None = None
    failure_severity: Severity | None = None

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:
        """Return ``type`` and ``sqlAssertion``."""
        body: dict[str, Any] = {"type": "METRIC" if self.change is None else "METRIC_CHANGE"}
        body |= {"entity": target.only("dataset"), "statement": self.statement}
        if self.change is not None:
            body["changeType"] = self.change.upper()
        body |= _with_parameters(self.compared())
        return {"type": "SQL", "sqlAssertion": {**body, **_severity(self.failure_severity, "sqlAssertion", needs)}}


class Field(Comparison, frozen=True, kw_only=True):
    """Each value of a column, or a ``metric`` of it (``NULL_COUNT``, ``MEAN``, ``MAX_LENGTH`` …).

    ``native_type`` is the source's type. Of values: ``length`` compares how long they are, ``exclude_nulls`` leaves nulls
    out, at most ``fail_count`` or ``fail_percentage`` of them may differ.
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

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:
        """Return ``type`` and ``fieldAssertion``."""
        body: dict[str, Any] = {"type": "FIELD_VALUES" if self.metric is None else "FIELD_METRIC"}
        body["entity"] = target.only("dataset")
        spec = {"field": _field_spec(self.column, self.native_type, target)}
        if self.metric is not None:
            if self.length or self.fail_count is not None or self.fail_percentage is not None:
                raise EventError("a metric is one number", where="Field", now="leave length and thresholds out")
            severity = _severity(self.failure_severity, "fieldAssertion.fieldMetricAssertion", needs)
            body["fieldMetricAssertion"] = {**spec, "metric": self.metric, **self.compared(), **severity}
        else:
            severity = _severity(self.failure_severity, "fieldAssertion.fieldValuesAssertion", needs)
            body["fieldValuesAssertion"] = {**spec, **self._of_values(), **severity, "excludeNulls": self.exclude_nulls}
        return {"type": "FIELD", "fieldAssertion": {**body, **sql_filter(self.filter)}}

    def _of_values(self) -> dict[str, Any]:
        if self.fail_count is not None and self.fail_percentage is not None:
            raise EventError("one threshold is enough", where="Field", now="give fail_count or fail_percentage")
        transform = {"transform": {"type": "LENGTH"}} if self.length else {}
        threshold = {"type": "COUNT", "value": self.fail_count or 0}
        if self.fail_percentage is not None:
            threshold = {"type": "PERCENTAGE", "value": self.fail_percentage}
        return {**transform, **self.compared(), "failThreshold": threshold}


class Schema(msgspec.Struct, frozen=True):
    """The columns of a dataset: ``(name, native type)`` or ``(name, native type, description)`` each, in order."""

    fields: Sequence[tuple[str, ...]]
    compatibility: Literal["EXACT_MATCH", "SUPERSET", "SUBSET"] = "EXACT_MATCH"

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:  # noqa: ARG002 - the signature of all definitions
        """Return ``type`` and ``schemaAssertion``."""
        entity = target.only("dataset")
        if any(len(one) not in (2, 3) for one in self.fields):
            raise EventError("columns need a name and a type each", where="Schema", now='e.g. [("id", "bigint")]')
        wanted = [columns.Field(one[0], one[1], one[2] if len(one) > 2 else None) for one in self.fields]
        found = columns.schema_fields(wanted, platform=target.platform, column=target.column)
        if not found.fields or found.dropped:
            raise EventError("columns need a name and a type each", where="Schema", now='e.g. [("id", "bigint")]')
        name = urns.parse(entity)[1][1]
        schema = columns.schema_metadata(name, target.platform, found.fields)
        body = {"entity": entity, "schema": schema, "compatibility": self.compatibility}
        return {"type": "DATA_SCHEMA", "schemaAssertion": body}


class Custom(Comparison, frozen=True, kw_only=True):
    """Any other check, shown as a ``label``; on a ``column``, with its ``logic`` as text. The rest needs DataHub 1.7."""

    label: str
    column: str | None = None
    logic: str | None = None
    columns: Sequence[str] = ()
    scope: str | None = None
    aggregation: str | None = None
    native_type: str | None = None
    native_parameters: Mapping[str, Any] = {}

    def info(self, target: Target, needs: Needs) -> dict[str, Any]:
        """Return ``type`` and ``customAssertion``."""
        body: dict[str, Any] = {"type": self.label, "entity": target.only("dataset")}
        paths = dict.fromkeys(target.column(one) for one in (*((self.column,) if self.column else ()), *self.columns))
        fields = [urns.schema_field_urn(target.urn, path) for path in paths]
        more: dict[str, Any] = {"fields": fields} if self.columns else {}
        said = {"scope": self.scope, "aggregation": self.aggregation}
        more |= {key: value for key, value in said.items() if value is not None}
        if (self.operator, self.value, self.min, self.max) != (None, None, None, None):
            more |= self.compared()
        if self.native_type is not None:
            more["nativeType"] = self.native_type
        written = {key: kept_unmasked(key, value) for key, value in sorted(plain(self.native_parameters).items())}
        if written:
            more["nativeParameters"] = {key: value for key, value in written.items() if value is not None}
        for key in more:
            needs(f"customAssertion.{key}", f"{key} of a custom check")
        body |= {"field": fields[0]} if fields else {}
        return {"type": "CUSTOM", "customAssertion": body | more | ({"logic": self.logic} if self.logic else {})}


Definition = Freshness | Volume | Sql | Field | Schema | Custom


def _severity(severity: Severity | None, path: str, needs: Needs) -> dict[str, Any]:
    if severity is None:
        return {}
    needs(f"{path}.failureSeverityConfig", "failure_severity")
    return {"failureSeverityConfig": {"defaultSeverity": severity, "rules": []}}


def _with_parameters(compared: dict[str, Any]) -> dict[str, Any]:
    """Return operator and parameters; kinds that compare a number require both."""
    if "parameters" not in compared:
        raise EventError(f"{compared['operator']} compares no number", where="operator", now="give min, max or value")
    return compared


def _field_spec(column: str, native_type: str, target: Target) -> dict[str, str]:
    """Return the SchemaFieldSpec; its type is the name that DataHub's schemas have for the native one."""
    kind = columns.data_type(native_type, target.platform)
    return field_spec({"fieldPath": target.column(column), "type": kind, "nativeDataType": native_type})


def _native(expression: str) -> dict[str, str]:
    return {"type": "NATIVE", "nativeType": expression}


def _shouted(camel: str) -> str:
    return "".join(f"_{sign}" if sign.isupper() else sign for sign in camel).upper()
