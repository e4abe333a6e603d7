"""A lone COMPLETE without a ledger: which leaves of the standard facets arrive, and why the others do not."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from dh_bridge import Bridge, Settings

FACETS = Path(__file__).resolve().parents[1] / "golden" / "facets"
STANDARD = {
    "run": ("environmentVariables", "errorMessage", "executionParameters", "externalQuery", "extractionError",
            "jobDependencies", "nominalTime", "parent", "processing_engine", "tags", "test"),
    "job": ("documentation", "jobType", "ownership", "sourceCode", "sourceCodeLocation", "sql", "tags"),
    "dataset": ("catalog", "columnLineage", "dataQualityAssertions", "dataQualityMetrics", "dataSource", "datasetType",
                "documentation", "hierarchy", "inputStatistics", "lifecycleStateChange", "lineage", "outputStatistics",
                "ownership", "schema", "storage", "subset", "symlinks", "tags", "version"),
}  # fmt: skip
WITHHELD = {
    "duplicate-of:nominalStartTime",
    "duplicate-of:rendered predicate",
    "duplicate-of:transformations",
    "empty",
    "no-field:placeholder owner",
    "no-field:skipped",
    "no-field:the default of a description",
    "secret",
}
"""Why leaves of the standard facets are nowhere, whatever else is known of the run: DataHub holds their content elsewhere."""


def samples():
    """Yield the name and the last event of each sample of a standard facet, as an end."""
    for attach, keys in STANDARD.items():
        places = ("inputs", "outputs", "dataset") if attach == "dataset" else (attach,)
        for key, place in itertools.product(keys, places):
            for path in sorted(FACETS.glob(f"{key}.{place}*.events.json")):
                events = [event for event in json.loads(path.read_bytes()) if "run" in event]
                if events:
                    yield path.name, key, {**events[-1], "eventType": "COMPLETE"}


SAMPLES = list(samples())
"""Name of the file, key of the facet, its event."""


def start_of(event):
    """Return a START of the run that states nothing but the run."""
    found = copy.deepcopy(event)
    found.update(eventType="START", eventTime="2020-01-01T00:00:00Z", inputs=[], outputs=[])
    found["run"].pop("facets", None)
    found["job"].pop("facets", None)
    return found


def leaves(bridge, key, *events):
    """Return outcome and reason of each leaf of the facet in the last event."""
    report = bridge.translate(list(events), report=True).report
    last = [line for line in report.lines() if f"acets.{key}." in line["path"] and "._" not in line["path"]]
    return {line["path"]: (line["outcome"], line["reason"]) for line in last}


@pytest.fixture(scope="module")
def bridge():
    return Bridge(Settings(datahub_version="1.7"))


@pytest.mark.parametrize(("name", "key", "event"), SAMPLES, ids=[name for name, _, _ in SAMPLES])
def test_lone_end_loses_no_leaf_that_an_end_with_its_start_keeps(bridge, name, key, event):  # noqa: ARG001 - the id
    alone = leaves(bridge, key, event)
    assert alone
    assert alone == leaves(bridge, key, start_of(event), event)


def test_single_end_event_maps_nearly_all_standard_facets(bridge):
    lines = [stated for _, key, event in SAMPLES for stated in leaves(bridge, key, event).values()]
    outcomes = Counter(outcome for outcome, _ in lines)
    assert {reason for outcome, reason in lines if outcome == "dropped"} <= WITHHELD
    assert outcomes["mapped"] + outcomes["property"] >= 0.95 * len(lines)


def test_target_without_creates_drops_only_run_properties():
    bridge = Bridge(Settings(datahub_version="0.15.0"))
    bridge.options.can_create = False
    lost = {
        key
        for _, key, event in SAMPLES
        if any(reason == "policy:state=none" for _, reason in leaves(bridge, key, event).values())
    }
    assert lost <= {*STANDARD["run"], "inputStatistics", "outputStatistics", "subset"}
    assert {"environmentVariables", "errorMessage", "extractionError", "nominalTime", "parent"} <= lost
