"""Assertions: from checks as OpenLineage's facets report them to DataHub's assertions."""

from __future__ import annotations

from dh_bridge.assertions.check import (
    NON_SERIALIZABLE_PREFIX,
    Check,
    datasets_of_test,
    distinct_checks,
    meaningful_value,
    merge_checks,
)
from dh_bridge.assertions.errors import ErrorTable
from dh_bridge.assertions.identity import assertion_urn, assertion_urns
from dh_bridge.assertions.info import assertion_info, assertion_platform, dropped_parameters
from dh_bridge.assertions.reading import ParsedCheck, parse_check
from dh_bridge.assertions.result import (
    CheckOutcome,
    add_error_message,
    assertion_result,
    datahub_severity,
    evaluate_outcome,
    measured_value,
    parse_count,
    reported_outcome,
    supports_severity,
)
from dh_bridge.assertions.run_event import batch_spec, check_partition, dropped_context_keys, run_event
from dh_bridge.assertions.secret_values import redact_check_values
from dh_bridge.assertions.table import AssertionTable

__all__ = [
    "NON_SERIALIZABLE_PREFIX",
    "AssertionTable",
    "Check",
    "CheckOutcome",
    "ErrorTable",
    "ParsedCheck",
    "add_error_message",
    "assertion_info",
    "assertion_platform",
    "assertion_result",
    "assertion_urn",
    "assertion_urns",
    "batch_spec",
    "check_partition",
    "datahub_severity",
    "datasets_of_test",
    "distinct_checks",
    "dropped_context_keys",
    "dropped_parameters",
    "evaluate_outcome",
    "meaningful_value",
    "measured_value",
    "merge_checks",
    "parse_check",
    "parse_count",
    "redact_check_values",
    "reported_outcome",
    "run_event",
    "supports_severity",
]
