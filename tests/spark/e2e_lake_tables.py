"""The recipes of docs/spark.md for tables of a lake under PySpark 3.5, in the environment `.venv-spark35`, which `make e2e` makes."""

from __future__ import annotations

import pytest
from realparts.fixtures import need_parts
from realparts.jars import SPARK35_DELTA, SPARK35_ICEBERG
from support.lake_tables import FORMATS, assert_equal_to_catalogue, lake_tables
from support.spark_environments import python_of


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return format -> the rows of the tables after the stream."""
    need_parts(SPARK35_DELTA, SPARK35_ICEBERG)
    return lake_tables(python_of(".venv-spark35"), tmp_path_factory.mktemp("lake"), SPARK35_DELTA, SPARK35_ICEBERG)


@pytest.mark.parametrize("name", FORMATS)
def test_merged_table_under_3_5_holds_what_a_catalogue_holds(tables, name):
    assert_equal_to_catalogue(tables[name])
