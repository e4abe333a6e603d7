"""Columns lose the quotes of their platform, wherever they are named."""

from __future__ import annotations

import pytest
from support.facet_cases import facet, pair, translate_events

from dh_bridge.naming import Naming
from dh_bridge.naming.names import unquote_identifier
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())
COLUMNS = [
    ("postgres://p", "crm.public.t", '"start_date"', "start_date"),
    ("postgres://p", "crm.public.t", '"Id"', "Id"),
    ("postgres://p", "crm.public.t", "`id`", "`id`"),
    ("mysql://m", "crm.t", "`order date`", "order date"),
    ("mysql://m", "crm.t", "`od``d`", "od`d"),
    ("bigquery", "p.d.t", "`id`", "id"),
    ("sqlserver://h", "crm.dbo.t", "[Order Date]", "Order Date"),
    ("sqlserver://h", "crm.dbo.t", "[a]]b]", "a]b"),
    ("mssql://h", "crm.dbo.t", '"Id"', "Id"),
    ("snowflake://a", "CRM.S.T", '"MixedCol"', "mixedcol"),
    ("oracle://o", "S.T", '"MixedCol"', "MixedCol"),
    ("oracle://o", "S.T", '"PLAIN"', "plain"),
    ("hive://h", "crm.t", "`dt`", "dt"),
    ("trino://t", "c.s.t", '"dt"."part"', "dt.part"),
    ("databricks://w", "c.s.t", "`a.b`", "a.b"),
    ("redshift://h", "crm.public.t", '"open', '"open'),
    ("s3://lake", "x.csv", '"id"', '"id"'),
    ("kafka://k", "clicks", "[0]", "[0]"),
    ("couchbase://c", "b.s.c", "`id`", "id"),
    ("neo4j://c", "Person", "`id`", "`id`"),
    ("postgres://p", "crm.public.t", "", ""),
    ("postgres://p", "crm.public.t", '""', '""'),
]


@pytest.mark.parametrize(("namespace", "name", "column", "expected"), COLUMNS)
def test_column_loses_the_quotes_of_its_platform(namespace, name, column, expected):
    assert NAMING(namespace, name).spell_column(column) == expected


def test_only_the_signs_of_the_system_open_a_quote():
    assert unquote_identifier('a."b"', '"') == "a.b"
    assert unquote_identifier("[b]", '"') == "[b]"


def fields_of(found, urn):
    (schema,) = found.all(urn, "schemaMetadata")
    return [field["fieldPath"] for field in schema["fields"]]


def test_schema_and_column_lineage_name_the_same_columns():
    source = {
        "namespace": "mysql://m:3306",
        "name": "crm.buyers",
        "facets": {"schema": facet(fields=[{"name": "`id`", "type": "int"}, {"name": "`order date`", "type": "date"}])},
    }
    lineage = facet(
        fields={
            "Id": {"inputFields": [{"namespace": "mysql://m:3306", "name": "crm.buyers", "field": "id"}]},
            '"Day"': {"inputFields": [{"namespace": "mysql://m:3306", "name": "crm.buyers", "field": "`order date`"}]},
        }
    )
    target = {
        "namespace": "postgres://p:5432",
        "name": "dwh.public.buyers",
        "facets": {
            "schema": facet(fields=[{"name": '"Id"', "type": "int"}, {"name": "Day", "type": "date"}]),
            "columnLineage": lineage,
        },
    }
    found = translate_events(pair(inputs=[source], outputs=[target]))
    left, right = (
        "urn:li:dataset:(urn:li:dataPlatform:mysql,crm.buyers,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:postgres,dwh.public.buyers,PROD)",
    )
    assert fields_of(found, left) == ["id", "order date"]
    assert fields_of(found, right) == ["Id", "Day"]
    text = "\n".join(
        str(proposal.value) for proposal in found.proposals if proposal.aspect_name == "dataJobInputOutput"
    )
    for column in (f"({left},id)", f"({left},order date)", f"({right},Id)", f"({right},Day)"):
        assert f"urn:li:schemaField:{column}" in text
