"""The operation of a statement is found by its first characters, and cached by them."""

from __future__ import annotations

import pytest
from support.value_tables import TABLES

from dh_bridge.value_maps.operation_types import writes_whole_rows


def test_statements_that_begin_alike_are_remembered_once():
    start = f"MERGE INTO t -- {'x' * 4000}"
    types = TABLES.operation_types
    before = types.find_by_sql_start.cache_info().currsize
    assert {types.find_by_sql(f"{start} {number}") for number in range(50)} == {types.find_by_sql(start)}
    assert types.find_by_sql_start.cache_info().currsize == before + 1


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT 1",
        "create or replace view v as select 1",
        "REFRESH MATERIALIZED VIEW lake.s.mv",
        "insert into t select * from o",
        "INSERT INTO lake.s.t\nVALUES (1, 2)",
        'insert into "a ""b"" (c)"."d" (select 1)',
        "insert into lake . s . t ((select 1) union (select 2))",
        "-- (a)\nINSERT /* (b) */ INTO t TABLE o",
        "insert into t WITH q AS (select 1) SELECT * FROM q",
    ],
)
def test_statement_that_names_no_columns_writes_all_of_them(sql):
    assert writes_whole_rows(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "insert into t (a) select 1",
        "INSERT INTO lake.s.t(a, b) VALUES (1, 2)",
        'insert into t ("select") select 1',
        "insert into selection (valuesof) select 1",
        "UPDATE t SET a = 1",
        "MERGE INTO t USING o ON true WHEN MATCHED THEN UPDATE SET a = 1",
        "DELETE FROM t",
        "-- create table t\nupdate t set a = 'create table t'",
        "",
    ],
)
def test_statement_that_names_some_may_leave_others_out(sql):
    assert not writes_whole_rows(sql)


def test_hostile_statement_is_read_in_no_time():
    assert not writes_whole_rows('insert into "' + '""' * 100_000 + " . " * 1000)
