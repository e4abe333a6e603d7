"""The operation of a statement is told by its first characters, and remembered by them."""

from __future__ import annotations

from dh_bridge.translation.operation_types import _operation_of_start, operation_of_sql


def test_statements_that_begin_alike_are_remembered_once():
    start = f"MERGE INTO t -- {'x' * 4000}"
    before = _operation_of_start.cache_info().currsize
    assert {operation_of_sql(f"{start} {number}") for number in range(50)} == {operation_of_sql(start)}
    assert _operation_of_start.cache_info().currsize == before + 1
