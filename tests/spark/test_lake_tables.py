"""The recipes of docs/spark.md for tables of a lake: MERGE into Delta and Iceberg, with a repeated batch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from realparts.fixtures import need_parts
from realparts.jars import SPARK41_DELTA, SPARK41_ICEBERG
from support.lake_tables import FORMATS, assert_equal_to_catalogue, lake_tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return format -> the rows of the tables after the stream."""
    need_parts(SPARK41_DELTA, SPARK41_ICEBERG)
    return lake_tables(Path(sys.executable), tmp_path_factory.mktemp("lake"), SPARK41_DELTA, SPARK41_ICEBERG)


@pytest.mark.parametrize("name", FORMATS)
def test_merged_table_holds_what_a_catalogue_holds(tables, name):
    assert_equal_to_catalogue(tables[name])
