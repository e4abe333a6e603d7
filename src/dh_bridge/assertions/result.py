"""The result of a check: ``assertionRunEvent.result``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.assertions.bounds import parse_number
from dh_bridge.assertions.check import Check, meaningful_value
from dh_bridge.assertions.parameters import convert_to_limit_unit
from dh_bridge.assertions.reading import parse_check
from dh_bridge.model.properties import masked_property_text, truncate

if TYPE_CHECKING:
    from dh_bridge.assertions.errors import ErrorTable
    from dh_bridge.assertions.info import AssertionType
    from dh_bridge.assertions.table import AssertionTable
    from dh_bridge.datahub.profiles import Profile

CheckOutcome = Literal["SUCCESS", "FAILURE", "ERROR", "SKIPPED", "UNKNOWN"]
WarnAs = Literal["failure", "success"]

_MAX_LONG = 2**63 - 1
_MAX_FLOAT = 3.4028234e38  # the field is a 32-bit float
_MESSAGE_KEYS = ("error_message", "exception_message")
_NO_VALUE_MESSAGE = "the test reported a failure without a value: it errored or was skipped"
_NO_CAUSE_MESSAGE = "the test reported an error without a cause"


def evaluate_outcome(check: Check, platform: str, table: AssertionTable) -> CheckOutcome:
    """Return how a check ended. SKIPPED and UNKNOWN (the status is not readable) are no result.

    A dbt test that fails without a value, or without a failing row where none is allowed, did not run: it errored, or its
    model failed. Entries older than the facet's version 1-1-0 never have a value; the fields of
    1-1-0 identify them. A failure whose status is an error is an ERROR for each producer. If a test reports the check as well,
    the status of the test decides between SUCCESS and FAILURE only if the check has neither.
    """
    if check.status is not None and (check.source == "test" or check.success is None):
        status = table.vocabulary.statuses.get(check.status.strip().lower())
        is_success: bool | None = status == "SUCCESS"
        if status is None:
            return "UNKNOWN"
        if status in ("SKIPPED", "ERROR"):
            return status
    else:
        is_success = check.success
    if is_success is None:
        return "UNKNOWN"
    if is_success:
        return "SUCCESS"
    if states_error(check, table):
        return "ERROR"
    has_value = check.source == "test" or any(
        meaningful_value(value) is not None for value in (check.severity, check.name, check.expected)
    )
    return "ERROR" if platform == "dbt" and has_value and _has_no_failures(check) else "FAILURE"


def states_error(check: Check, table: AssertionTable) -> bool:
    """Return whether the status of the check means that it could not be evaluated."""
    return table.vocabulary.statuses.get((check.status or "").strip().lower()) == "ERROR"


def _has_no_failures(check: Check) -> bool:
    """Return whether nothing was counted: events that follow dbt's log call it 0, of which no limit is exceeded."""
    if meaningful_value(check.actual) is None:
        return True
    limit = (check.expected or "").strip()
    return parse_number(check.actual) == 0 and (limit == "0" or limit.startswith(">"))


def datahub_severity(producer_severity: Any, table: AssertionTable) -> str | None:
    """Return DataHub's severity (HIGH, LOW) for the producer's severity."""
    return table.vocabulary.severities.get((meaningful_value(producer_severity) or "").strip().lower())


def reported_outcome(outcome: CheckOutcome, severity: str | None, warn_as: WarnAs) -> CheckOutcome:
    """Return the type of a result: by setting, a failure of low severity is a success."""
    return "SUCCESS" if outcome == "FAILURE" and severity == "LOW" and warn_as == "success" else outcome


def assertion_result(  # noqa: PLR0913 - the parts of the result
    check: Check,
    *,
    profile: Profile,
    platform: str,
    table: AssertionTable,
    errors: ErrorTable,
    row_count: int | None = None,
    missing_count: int | None = None,
    external_url: str | None = None,
    warn_as: WarnAs = "failure",
    error: str | None = None,
    kind: AssertionType = "auto",
) -> dict[str, Any] | None:
    """Return the result's JSON; None if the check has no result (it was skipped, or its status is not readable).

    ``row_count`` and ``missing_count`` are measurements of the dataset and the column in the same run, ``error`` is the reason of a
    failure; ``kind`` is the form of its assertionInfo.
    """
    outcome = evaluate_outcome(check, platform, table)
    if outcome not in ("SUCCESS", "FAILURE", "ERROR"):
        return None
    severity = datahub_severity(check.severity, table)
    outcome = reported_outcome(outcome, severity, warn_as)
    result: dict[str, Any] = {"type": outcome}
    if outcome == "FAILURE" and severity is not None and supports_severity(profile):
        result["severity"] = severity
    result.update(_build_counts(check, platform if outcome != "ERROR" else "", table, row_count, missing_count))
    actual = measured_value(check, platform, table, kind)
    if actual is not None and outcome != "ERROR":
        result["actualAggValue"] = actual
    native_results, error_fields = _native_results(check, table), {}
    if outcome == "ERROR":
        default_message = _NO_CAUSE_MESSAGE if states_error(check, table) else _NO_VALUE_MESSAGE
        error_fields = {"error": errors.build_error(_error_message(check) or error or default_message)}
        native_results = add_error_message(native_results, error_fields["error"])
    if native_results:
        result["nativeResults"] = native_results
    if external_url is not None and external_url.startswith(("http://", "https://")):
        result["externalUrl"] = external_url
    return result | error_fields


def supports_severity(profile: Profile) -> bool:
    """Return whether a result may have a typed severity.

    DataHub 1.5.0 drops it without an error, 1.5.0.19 has it, and the profile 1.5 covers both.
    """
    return profile.is_at_least(1, 6)


def add_error_message(native_results: dict[str, str], error: dict[str, Any]) -> dict[str, str]:
    """Return the native results with the message of the result's error, unless they have it: DataHub's pages show no errors."""
    message = error["properties"]["message"]
    if message in native_results.values():
        return native_results
    return dict(sorted({**native_results, "error.message" if "error" in native_results else "error": message}.items()))


def measured_value(check: Check, platform: str, table: AssertionTable, kind: AssertionType = "auto") -> float | None:
    """Return the measured number, in the unit of the expected one; None if DataHub's float cannot store it.

    dbt measures failures, for every kind of test; DataHub's own types compare fractions as the producers do.
    """
    value = parse_number(check.actual)
    if value is None or abs(value) > _MAX_FLOAT:
        return None
    if platform == "dbt":
        return value
    parsed_check = parse_check(check, platform, table)
    return value if kind == "native" and parsed_check.offers else convert_to_limit_unit(parsed_check.rule, value)


def _error_message(check: Check) -> str | None:
    """Return the producer's text about the error, if it has one."""
    values = (meaningful_value(check.params.get(key)) for key in _MESSAGE_KEYS)
    return next((message for message in values if isinstance(message, str)), None)


def _build_counts(
    check: Check, platform: str, table: AssertionTable, row_count: int | None, missing_count: int | None
) -> dict[str, int]:
    raw_counts: dict[str, Any] = {
        "rowCount": row_count,
        "missingCount": missing_count,
        "unexpectedCount": check.failures,
    }
    for key, field in table.vocabulary.counts.items():
        if raw_counts[field] is None:
            raw_counts[field] = check.params.get(key)
    if raw_counts["unexpectedCount"] is None and platform == "dbt":
        # what dbt measures is the number of failures
        raw_counts["unexpectedCount"] = check.actual
    counts = {field: parse_count(value) for field, value in raw_counts.items()}
    return {field: value for field, value in counts.items() if value is not None}


def parse_count(value: Any) -> int | None:
    """Return a count within DataHub's long, None for other values."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= _MAX_LONG else None
    numeric = parse_number(value)
    return int(numeric) if numeric is not None and numeric.is_integer() and 0 <= numeric < 2.0**63 else None


def _native_results(check: Check, table: AssertionTable) -> dict[str, str]:
    """Return the details of the result as text, for values that no typed field holds."""
    values = {
        "severity": check.severity,
        "expected": check.expected,
        "actual": check.actual,
        "status": check.status,
        "contentType": check.content_type,
        **{key: value for key, value in check.params.items() if key in table.run_parameters},
    }
    property_texts = {key: masked_property_text(key, meaningful_value(value)) for key, value in values.items()}
    return {key: truncate(value) for key, value in sorted(property_texts.items()) if value is not None}
