"""Assertions: from checks as OpenLineage's facets report them to DataHub's assertions."""

from __future__ import annotations

from dh_bridge.translation.assertions.check import SPOILT, Check, distinct, merge, said
from dh_bridge.translation.assertions.errors import ErrorTable
from dh_bridge.translation.assertions.identity import assertion_urn, assertion_urns
from dh_bridge.translation.assertions.info import assertion_info, assertion_platform, untold_parameters
from dh_bridge.translation.assertions.reading import Reading, read
from dh_bridge.translation.assertions.result import (
    Outcome,
    assertion_result,
    count_of,
    ended_as,
    measured,
    outcome,
    severity_of,
    takes_severity,
    with_cause,
)
from dh_bridge.translation.assertions.run_event import batch_spec, check_partition, run_event, untold_context
from dh_bridge.translation.assertions.table import AssertionTable
from dh_bridge.translation.assertions.telling import without_values
from dh_bridge.translation.assertions.tested import datasets_of_test

__all__ = [
    "SPOILT",
    "AssertionTable",
    "Check",
    "ErrorTable",
    "Outcome",
    "Reading",
    "assertion_info",
    "assertion_platform",
    "assertion_result",
    "assertion_urn",
    "assertion_urns",
    "batch_spec",
    "check_partition",
    "count_of",
    "datasets_of_test",
    "distinct",
    "ended_as",
    "measured",
    "merge",
    "outcome",
    "read",
    "run_event",
    "said",
    "severity_of",
    "takes_severity",
    "untold_context",
    "untold_parameters",
    "with_cause",
    "without_values",
]
