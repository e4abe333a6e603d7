"""The result of a check: ``assertionRunEvent.result``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.translation.assertions.bounds import number
from dh_bridge.translation.assertions.check import Check, said
from dh_bridge.translation.assertions.parameters import as_compared
from dh_bridge.translation.assertions.reading import read
from dh_bridge.translation.properties import capped, kept_unmasked

if TYPE_CHECKING:
    from dh_bridge.datahub.profiles import Profile
    from dh_bridge.translation.assertions.errors import ErrorTable
    from dh_bridge.translation.assertions.info import Kind
    from dh_bridge.translation.assertions.table import AssertionTable

Outcome = Literal["SUCCESS", "FAILURE", "ERROR", "SKIPPED", "UNKNOWN"]
WarnAs = Literal["failure", "success"]

_MOST_LONG = 2**63 - 1
_MOST_FLOAT = 3.4028234e38  # the field is a 32-bit float
_MESSAGES = ("error_message", "exception_message")
_NO_VALUE = "the test reported a failure without a value: it errored or was skipped"


def outcome(check: Check, platform: str, table: AssertionTable) -> Outcome:
    """Return how a check ended; SKIPPED and UNKNOWN (nothing readable was said) are no result.

    A dbt test that fails without a value, or without a failing row where none is allowed, did not run: it errored, or its
    model failed. Entries older than the facet's version 1-1-0 never have a value; they are told by the leaves of
    1-1-0. Of a check that a test tells of as well, the test's word counts only where the check's own is missing.
    """
    if check.status is not None and (check.source == "test" or check.success is None):
        word = table.words.statuses.get(check.status.strip().lower())
        success = None if word not in ("SUCCESS", "FAILURE") else word == "SUCCESS"
        if word is None or word == "SKIPPED":
            return "SKIPPED" if word else "UNKNOWN"
    else:
        success = check.success
    if success is None:
        return "UNKNOWN"
    if success:
        return "SUCCESS"
    valued = check.source == "test" or any(
        said(leaf) is not None for leaf in (check.severity, check.name, check.expected)
    )
    return "ERROR" if platform == "dbt" and valued and _found_nothing(check) else "FAILURE"


def _found_nothing(check: Check) -> bool:
    """Return whether nothing was counted: events that follow dbt's log call it 0, of which no limit is exceeded."""
    if said(check.actual) is None:
        return True
    limit = (check.expected or "").strip()
    return number(check.actual) == 0 and (limit == "0" or limit.startswith(">"))


def severity_of(word: Any, table: AssertionTable) -> str | None:
    """Return DataHub's severity (HIGH, LOW) for a producer's word."""
    return table.words.severities.get((said(word) or "").strip().lower())


def ended_as(ended: Outcome, severity: str | None, warn_as: WarnAs) -> Outcome:
    """Return what a result is called: a failure of low severity may be a success by setting."""
    return "SUCCESS" if ended == "FAILURE" and severity == "LOW" and warn_as == "success" else ended


def assertion_result(  # noqa: PLR0913 - what the result is made of
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
    kind: Kind = "auto",
) -> dict[str, Any] | None:
    """Return the result's JSON; None when the check has none (skipped, or nothing readable was said).

    ``row_count`` and ``missing_count`` are what the same run measured of the dataset and of the column, ``error`` why it failed;
    ``kind`` is the form in which its info is written.
    """
    ended = outcome(check, platform, table)
    if ended not in ("SUCCESS", "FAILURE", "ERROR"):
        return None
    severity = severity_of(check.severity, table)
    ended = ended_as(ended, severity, warn_as)
    result: dict[str, Any] = {"type": ended}
    if ended == "FAILURE" and severity is not None and takes_severity(profile):
        result["severity"] = severity
    result.update(_counts(check, platform if ended != "ERROR" else "", table, row_count, missing_count))
    actual = measured(check, platform, table, kind)
    if actual is not None and ended != "ERROR":
        result["actualAggValue"] = actual
    native, cause = _native(check, table), {}
    if ended == "ERROR":
        cause = {"error": errors.error(_message(check) or error or _NO_VALUE)}
        native = with_cause(native, cause["error"])
    if native:
        result["nativeResults"] = native
    if external_url is not None and external_url.startswith(("http://", "https://")):
        result["externalUrl"] = external_url
    return result | cause


def takes_severity(profile: Profile) -> bool:
    """Return whether a result may have a typed severity.

    DataHub 1.5.0 drops it without a word, 1.5.0.19 knows it, and the profile 1.5 stands for both.
    """
    return profile.at_least(1, 6)


def with_cause(native: dict[str, str], error: dict[str, Any]) -> dict[str, str]:
    """Return the native results with the message of the result's error, unless they have it: DataHub's pages show no errors."""
    message = error["properties"]["message"]
    if message in native.values():
        return native
    return dict(sorted({**native, "error.message" if "error" in native else "error": message}.items()))


def measured(check: Check, platform: str, table: AssertionTable, kind: Kind = "auto") -> float | None:
    """Return the number that was measured, in the unit of what it is compared with; None for what DataHub's float cannot hold.

    dbt measures failures, whatever its test is about; DataHub's own types compare shares as the producers do.
    """
    found = number(check.actual)
    if found is None or abs(found) > _MOST_FLOAT:
        return None
    if platform == "dbt":
        return found
    reading = read(check, platform, table)
    return found if kind == "native" and reading.offers else as_compared(reading.rule, found)


def _message(check: Check) -> str | None:
    """Return what a producer says of the error, where it says anything."""
    found = (said(check.params.get(key)) for key in _MESSAGES)
    return next((message for message in found if isinstance(message, str)), None)


def _counts(
    check: Check, platform: str, table: AssertionTable, row_count: int | None, missing_count: int | None
) -> dict[str, int]:
    found: dict[str, Any] = {"rowCount": row_count, "missingCount": missing_count, "unexpectedCount": check.failures}
    for key, field in table.words.counts.items():
        if found[field] is None:
            found[field] = check.params.get(key)
    if found["unexpectedCount"] is None and platform == "dbt":
        # what dbt measures is the number of failures
        found["unexpectedCount"] = check.actual
    counts = {field: count_of(value) for field, value in found.items()}
    return {field: value for field, value in counts.items() if value is not None}


def count_of(value: Any) -> int | None:
    """Return a count that DataHub's long holds, None for what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= _MOST_LONG else None
    found = number(value)
    return int(found) if found is not None and found.is_integer() and 0 <= found < 2.0**63 else None


def _native(check: Check, table: AssertionTable) -> dict[str, str]:
    """Return what was said of the result, as text: nothing of it is lost where no typed field takes it."""
    found = {
        "severity": check.severity,
        "expected": check.expected,
        "actual": check.actual,
        "status": check.status,
        "contentType": check.content_type,
        **{key: value for key, value in check.params.items() if key in table.of_the_run},
    }
    written = {key: kept_unmasked(key, said(value)) for key, value in found.items()}
    return {key: capped(value) for key, value in sorted(written.items()) if value is not None}
