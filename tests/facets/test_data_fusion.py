"""dataFusion (run), which the Google provider writes as dataFusionRun."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, of_run


@pytest.mark.parametrize("key", ["dataFusion", "dataFusionRun"])
def test_run_id_is_kept_and_the_arguments_are_one_redacted_json(key):
    arguments = {"input.path": "gs://lake/raw", "db.password": "pw"}
    found = of_run(key, facet(runId="r-1", runtimeArgs=arguments), report=True)
    properties = found.properties(DPI)
    assert properties["dataFusion.runId"] == "r-1"
    assert properties["dataFusion.runtimeArgs"] == '{"db.password":"[REDACTED]","input.path":"gs://lake/raw"}'
    target = "dataProcessInstanceProperties.customProperties[openlineage.dataFusion.runtimeArgs]"
    assert found.outcomes()[f'$.run.facets.{key}.runtimeArgs["input.path"]'] == ("property", target)


@pytest.mark.parametrize("arguments", [None, {}, []])
def test_no_arguments_are_nothing(arguments):
    assert "dataFusion.runtimeArgs" not in of_run("dataFusion", facet(runtimeArgs=arguments)).properties(DPI)
