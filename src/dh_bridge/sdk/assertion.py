"""An assertion, and its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.assertions import (
    Check,
    add_error_message,
    assertion_platform,
    check_partition,
    datahub_severity,
    measured_value,
    redact_check_values,
    reported_outcome,
    run_event,
    supports_severity,
)
from dh_bridge.assertions.bounds import parse_number
from dh_bridge.datahub import urns
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.errors import AspectError, EventError
from dh_bridge.json_safe import error_text
from dh_bridge.model.properties import limit_properties, masked_property_text
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.pipeline import RunAggregator
from dh_bridge.redaction import redact, redact_json, redaction_mode
from dh_bridge.sdk.arguments import require_exception, require_mapping, require_texts
from dh_bridge.sdk.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.assertions import CheckOutcome, ErrorTable
    from dh_bridge.sdk.recorder import Recorder
    from dh_bridge.sdk.references import ResolvedDataset
    from dh_bridge.sdk.run import Run

ENTITY = "assertion"
_BATCH_KEYS = ("id", "query", "limit", "properties")


class Assertion:
    """An assertion on a dataset; :meth:`~dh_bridge.sdk.pipeline.Pipeline.assertion` makes it and documents the arguments.

    ``urn`` is that of the assertion, ``entity`` that of the dataset, ``info`` the JSON of its assertionInfo. ``dropped`` has a
    line, as in the report of events, for each parameter and property that was too large, or that may be a value of a column
    with a sensitive name.
    """

    def __init__(  # noqa: PLR0913 - the parts of a check
        self,
        recorder: Recorder,
        urn: str,
        dataset: ResolvedDataset,
        check: Check,
        info: dict[str, Any],
        platform: str,
        instance: str | None,
        dropped_paths: Iterable[str] = (),
        secret_paths: Iterable[str] = (),
    ) -> None:
        self.urn = urn
        self.entity = dataset.urn
        self.info = info
        self.dropped = [*_report_lines(urn, dropped_paths), *_report_lines(urn, secret_paths, "secret")]
        self._recorder = recorder
        self._tables = recorder.options.tables
        self._dataset_ref = dataset
        self._check = check
        self._platform = platform
        self._platform_instance = assertion_platform(platform, instance)

    def proposals(self) -> Iterator[Proposal]:
        """Yield the proposals that make the dataset, the definition and the platform of the assertion known."""
        if self._dataset_ref.pair is not None:
            yield from self._dataset_proposals(*self._dataset_ref.pair)
        yield upsert(ENTITY, self.urn, "assertionInfo", self.info)
        yield upsert(ENTITY, self.urn, "dataPlatformInstance", self._platform_instance)

    def _dataset_proposals(self, namespace: str, name: str) -> list[Proposal]:
        event = {
            "eventTime": "1970-01-01T00:00:00Z",  # nothing of it is written
            "dataset": {"namespace": namespace, "name": name},
        }
        options = self._recorder.options
        with redaction_mode(options.settings.redaction):
            aggregator = RunAggregator(options)
            aggregator.add(parse_event(json.dumps(event).encode(), self.urn))
            return aggregator.close()

    def report(  # noqa: PLR0913 - the attributes of a result
        self,
        success: bool | None = None,  # noqa: FBT001 - the word of the public interface
        *,
        actual: Any = None,
        run_id: str | Run | None = None,
        time: int | None = None,
        partition: Any = None,
        where: str | None = None,
        url: str | None = None,
        rows: int | None = None,
        missing: int | None = None,
        unexpected: int | None = None,
        severity: str | None = None,
        batch: str | Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        error: BaseException | str | tuple[str, str] | None = None,
        results: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Write a result: ``success``, or ``error`` if the assertion could not be evaluated.

        ``actual``: the measured value; a number, other values are stored as text. ``run_id``: that of the run that checked, or
        a :class:`~dh_bridge.sdk.run.Run`. ``time``: milliseconds since 1970, now by default. ``partition``: the part of the
        dataset that was checked, as JSON or text (``[{"country": "IN"}]``); ``where``: as a predicate; the whole table without
        either. ``rows``, ``missing`` and ``unexpected`` are counts. ``severity``: ``error``, ``warn`` or ``info``. ``batch``:
        its id, or ``id``, ``query``, ``limit`` and ``properties``. ``context``: parameters of the run; ``results``: any other
        results. ``error``: message, exception, or (AssertionResultErrorType, message).

        A failure of low severity is a SUCCESS with the setting ``assertions.warn_as: success``. Return a line, as in the report
        of events, for each key of ``context``, ``results`` and the batch's properties that was too large, and for values that
        may be those of a column with a sensitive name. Values of numpy and pandas are converted. The same run, time and
        partition overwrite an earlier result. An AspectError if the checked entity is no dataset: DataHub stores results for
        datasets only.
        """
        self._require_dataset()
        require_texts(url=url, severity=severity)
        outcome = _check_outcome(success, error)
        native_results = {
            key: value for key, value in to_plain(require_mapping("results", results)).items() if value is not None
        }
        parameters = to_plain(require_mapping("context", context))
        with redaction_mode(self._recorder.options.settings.redaction):
            result = self._result_type(outcome, severity, native_results)
            result |= _counts(rowCount=rows, missingCount=missing, unexpectedCount=unexpected)
            measurement, secret_paths = self._measurement(to_plain(actual), native_results)
            result |= self._with_error(measurement, url, error)
            event = run_event(
                self.urn, self.entity, time=self._recorder.now_micros() // 1000 if time is None else _millis(time),
                run_id=None if run_id is None else str(getattr(run_id, "run_id", run_id)),
                result=result, context=parameters, batch=_batch_spec(batch), partition=self._partition(partition, where),
            )  # fmt: skip
            batch_properties = to_plain(batch.get("properties") or {}) if isinstance(batch, Mapping) else {}
            dropped_paths = [
                *_dropped_paths("results", native_results, result.get("nativeResults", {})),
                *_dropped_paths("context", parameters, event.get("runtimeContext", {})),
                *_dropped_paths("batch.properties", batch_properties, _batch_properties(event)),
            ]
        self._recorder.send([upsert(ENTITY, self.urn, "assertionRunEvent", event)])
        return [*_report_lines(self.urn, dropped_paths), *_report_lines(self.urn, secret_paths, "secret")]

    def _require_dataset(self) -> None:
        if urns.entity_type(self.entity) != "dataset":
            raise AspectError(
                f"{self.entity} is not a dataset",
                location="assertionRunEvent asserteeUrn",
                remedy="report results of datasets only",
            )

    def _result_type(
        self, outcome: CheckOutcome, severity_name: str | None, native_results: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the result's type, and the typed severity of a failure.

        Otherwise, and before 1.6, the severity is one of the native results.
        """
        if severity_name is None:
            return {"type": outcome}
        severity = datahub_severity(severity_name, self._tables.assertions)
        if severity is None:
            raise EventError(
                f"unknown severity {severity_name!r}", location="severity", remedy="use error, warn or info"
            )
        outcome = reported_outcome(outcome, severity, self._recorder.options.settings.assertions.warn_as)
        if outcome == "FAILURE" and supports_severity(self._recorder.options.profile):
            return {"type": outcome, "severity": severity}
        native_results["severity"] = severity_name
        return {"type": outcome}

    def _measurement(self, actual: Any, native_results: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the measured value, a number in its field, and the fields that are hidden because they may be values.

        The original form is among the ``native_results`` if the field does not have it.
        """
        reported_check = msgspec.structs.replace(
            self._check, actual=actual, params={**self._check.params, **native_results}
        )
        visible_check, hidden_fields = redact_check_values(reported_check, self._platform, self._tables.assertions)
        native_results.update((key, visible_check.params[key]) for key in list(native_results))
        result: dict[str, Any] = {}
        kind = self._recorder.options.settings.assertions.type
        value = measured_value(reported_check, self._platform, self._tables.assertions, kind)
        if value is not None:
            result["actualAggValue"] = value
        if actual is not None and (value is None or value != parse_number(actual)):
            native_results["actual"] = str(actual) if isinstance(actual, float) else visible_check.actual
        if texts := _bounded_texts(native_results):
            result["nativeResults"] = texts
        path_by_field = {f"params.{key}": f"results.{key}" for key in native_results} | {"actual": "actual"}
        return result, [path_by_field[field] for field in hidden_fields if field in path_by_field]

    def _with_error(self, measurement: dict[str, Any], url: str | None, error: Any) -> dict[str, Any]:
        """Return the measured value, the link, and the error of an assertion, whose message is a native result, too."""
        link = {} if url is None else {"externalUrl": redact(url)}
        if error is None:
            return measurement | link
        cause = _error_json(error, self._tables.assertion_errors)
        native_results = add_error_message(measurement.get("nativeResults", {}), cause)
        return {**measurement, "nativeResults": native_results, **link, "error": cause}

    def _partition(self, partition: Any, predicate: str | None) -> dict[str, Any] | None:
        if partition is not None and predicate is not None:
            raise EventError(
                "partition and where exclude each other", location="report", remedy="pass only one of them"
            )
        if partition is not None:
            text = redact(partition) if isinstance(partition, str) else json.dumps(redact_json(to_plain(partition)))
            return {"partition": text, "type": "PARTITION"}
        return check_partition(Check("", params={"where": predicate}) if predicate is not None else self._check)


def _check_outcome(success: Any, error: Any) -> CheckOutcome:
    """Return the result of an assertion; a text would always be true."""
    if (success is None) is (error is None):
        raise EventError(
            "expected either success or error", location="report", remedy="e.g. report(True) or report(error=…)"
        )
    if success is None:
        return "ERROR"
    if to_plain(success) not in (True, False):
        raise EventError(
            f"expected true or false, got {success!r}", location="success", remedy="e.g. report(True) or report(False)"
        )
    return "SUCCESS" if success else "FAILURE"


def _millis(time: Any) -> int:
    millis = to_plain(time)
    if not isinstance(millis, int) or isinstance(millis, bool):
        raise EventError(f"expected a time, got {time!r}", location="time", remedy="pass whole milliseconds since 1970")
    return millis


def _counts(**counts: int | None) -> dict[str, int]:
    counts_by_field = {field: to_plain(count) for field, count in counts.items() if count is not None}
    for field, count in counts_by_field.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63:
            raise EventError(
                f"expected a count, got {count!r}", location=field, remedy="pass a whole number, 0 or more"
            )
    return counts_by_field


def _error_json(error: BaseException | str | tuple[str, str], errors: ErrorTable) -> dict[str, Any]:
    if isinstance(error, tuple) and len(error) == 2:
        kind, message = error
        require_texts(error=message)
        return {**errors.build_error(message), "type": kind}
    if isinstance(error, str):
        return errors.build_error(error)
    require_exception(error)
    error_json = errors.build_error(f"{type(error).__name__}: {error_text(error)}")
    return {**error_json, "properties": {"exception": type(error).__name__, **error_json["properties"]}}


def _batch_spec(batch: str | Mapping[str, Any] | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    members: dict[str, Any] = {"id": batch} if isinstance(batch, str) else to_plain(require_mapping("batch", batch))
    if unknown := sorted(members.keys() - set(_BATCH_KEYS)):
        raise EventError(f"unknown key {', '.join(unknown)}", location="batch", remedy=f"use {', '.join(_BATCH_KEYS)}")
    batch_spec: dict[str, Any] = {
        "customProperties": _bounded_texts(require_mapping("batch.properties", members.get("properties")))
    }
    for key, field in (("id", "nativeBatchId"), ("query", "query")):
        if members.get(key) is not None:
            batch_spec[field] = masked_property_text(field, members[key])
    if members.get("limit") is not None:
        batch_spec["limit"] = members["limit"]
    return batch_spec


def _bounded_texts(values: Mapping[str, Any]) -> dict[str, str]:
    return limit_properties(_all_texts(values))


def _all_texts(values: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: masked_property_text(key, value) for key, value in sorted(values.items())}
    return {key: value for key, value in texts.items() if value is not None}


def _batch_properties(event: dict[str, Any]) -> dict[str, str]:
    """Return the properties of the batch that a run event holds."""
    properties: dict[str, str] = event.get("batchSpec", {}).get("customProperties", {})
    return properties


def _dropped_paths(prefix: str, values: Mapping[str, Any], texts: Mapping[str, str]) -> list[str]:
    return [f"{prefix}.{key}" for key in sorted(_all_texts(values).keys() - texts)]


def _report_lines(urn: str, paths: Iterable[str], reason: str = "too-large") -> list[dict[str, Any]]:
    """Return lines as in the report of events: dropped fields, because of their size by default."""
    return [
        {"event": urn, "path": f"$.{path}", "outcome": "dropped", "target": None, "reason": reason} for path in paths
    ]
