from __future__ import annotations

import pytest

from dh_bridge.identity.subtypes import job_subtype, run_subtype


@pytest.mark.parametrize(
    ("job_type", "subtype"),
    [
        ("DAG", "DAG"),
        ("TASK", "Task"),
        ("QUERY", "Query"),
        ("APPLICATION", "Application"),
        ("SQL_JOB", "SQL Job"),
        ("RDD_JOB", "RDD Job"),
        ("MODEL", "Model"),
        ("SOURCE_CONNECTOR", "Source Connector"),
        ("sql", "SQL"),
        ("cdc-stream  task", "CDC Stream Task"),
        ("Etl", "ETL"),
        ("A\x00B\ud800", "A B\ufffd"),
        ("X" * 1000, "X" + "x" * 199),
        ("__", None),
        ("", None),
        (None, None),
    ],
)
def test_job_type_as_people_write_it(job_type, subtype):
    assert job_subtype(job_type) == subtype
    assert run_subtype(job_type) == (f"{subtype} Run" if subtype else None)
