"""airflow_runArgs (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, pair, translate_events


def run_args(value=True, **run):  # noqa: FBT002 - the facet's own leaf
    return translate_events(pair(run={"airflow_runArgs": facet(externalTrigger=value), **run}))


def test_trigger_from_outside_is_the_weakest_hint():
    found = run_args()
    assert found.one(DPI, "dataProcessInstanceProperties")["type"] == "BATCH_AD_HOC"
    assert found.properties(DPI)["airflow_runArgs.externalTrigger"] == "true"
    scheduled = run_args(nominalTime=facet(nominalStartTime="2026-11-20T00:00:00Z"))
    assert scheduled.one(DPI, "dataProcessInstanceProperties")["type"] == "BATCH_SCHEDULED"


@pytest.mark.parametrize("value", [False, None, "true", 1, []])
def test_run_args_other_than_a_trigger_set_no_run_type(value):
    assert "type" not in run_args(value).one(DPI, "dataProcessInstanceProperties")
