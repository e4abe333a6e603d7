"""spark_version (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, pair, translate_events

BODY = facet(**{"spark-version": "3.3.0", "openlineage-spark-version": "0.20.0"})
KEYS = {"spark_version.spark-version", "spark_version.openlineage-spark-version"}


def versions(**run):
    return translate_events(pair(run={"spark_version": BODY, **run}), report=True)


def test_versions_are_kept_if_no_other_facet_has_them():
    properties = versions().properties(DPI)
    assert properties["spark_version.spark-version"] == "3.3.0"
    assert properties["spark_version.openlineage-spark-version"] == "0.20.0"


def test_versions_in_processing_engine_are_duplicates():
    found = versions(processing_engine=facet(name="spark", version="3.3.0", openlineageAdapterVersion="0.20.0"))
    assert not KEYS & found.properties(DPI).keys()
    stated = found.outcomes()
    leaf = "$.run.facets.spark_version.{}"
    assert stated[leaf.format("spark-version")] == ("dropped", "duplicate-of:processing_engine.version")
    reason = "duplicate-of:processing_engine.openlineageAdapterVersion"
    assert stated[leaf.format("openlineage-spark-version")] == ("dropped", reason)


@pytest.mark.parametrize(
    "engine", [facet(version="3.4.0"), facet(version=3), "<<non-serializable: x>>", [], facet(), facet(version=None)]
)
def test_another_version_is_no_duplicate(engine):
    assert versions(processing_engine=engine).properties(DPI).keys() >= KEYS
