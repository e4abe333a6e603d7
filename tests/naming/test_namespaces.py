"""Namespaces are brought to one form, and shown without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.naming import Naming
from dh_bridge.naming.namespaces import (
    canonical_namespace,
    namespace_variants,
    safe_namespace,
    split_host_port,
    split_hosts,
)
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())

FORMS = [
    (" postgres://h:5432 ", "postgres://h:5432"),
    ("POSTGRES://Host:5432", "postgres://host:5432"),
    ("postgresql://h", "postgres://h"),
    ("postgresql+psycopg2://h", "postgres://h"),
    ("mongodb+srv://h", "mongodb+srv://h"),
    ("mysql+pymysql://h", "mysql://h"),
    ("jdbc:postgresql://h:5432/Shop?user=x&password=y", "postgres://h:5432/Shop"),
    ("JDBC:mysql://h/db", "mysql://h/db"),
    ("postgres:/h:5433", "postgres://h:5433"),
    ("postgres://h:None", "postgres://h"),
    ("postgres://h:null", "postgres://h"),
    ("postgres://h:", "postgres://h"),
    ("postgres://h:None/db", "postgres://h/db"),
    ("postgres://a:None,b:5432", "postgres://a,b:5432"),
    ("postgres://h:5432/", "postgres://h:5432"),
    ("postgres://user:secret@h:5432", "postgres://h:5432"),
    ("postgres://user@h", "postgres://h"),
    ("postgres://user:p@ss@h:5432", "postgres://h:5432"),
    ("postgres://user:p/ss@h:5432/db", "postgres://h:5432/db"),
    ("postgres://user:p?ss@h:5432", "postgres://h:5432"),
    ("postgres://user:p@ss/w@h:5432", "postgres://h:5432"),
    ("postgres://user:pw@h:5432/db?mail=a@b", "postgres://h:5432/db"),
    ("postgres://h:5432/db?mail=a@b", "postgres://h:5432/db"),
    ("jdbc:oracle:thin:scott/tiger@h:1521/x", "oracle:thin:@h:1521/x"),
    ("snowflake://Org-Acct", "snowflake://Org-Acct"),
    ("SNOWFLAKE://u:p@Acct/DB", "snowflake://Acct/DB"),
    ("sqlserver://H:1433;databaseName=Db;user=sa;password=x;", "sqlserver://h:1433;databaseName=Db"),
    ("sqlserver://h;DATABASE=Db;", "sqlserver://h;database=Db"),
    ("sqlserver://h;encrypt=true", "sqlserver://h"),
    (r"mssql://H\INST:1433", r"mssql://h\inst:1433"),
    ("bigquery:", "bigquery"),
    ("bigquery://", "bigquery"),
    ("BigQuery", "bigquery"),
    ("inmemory://", "inmemory"),
    ("arn:aws:glue:us-east-1:123", "arn:aws:glue:us-east-1:123"),
    ("ARN:aws:glue:us-east-1:123", "arn:aws:glue:us-east-1:123"),
    ("S3://My.Bucket/", "s3://My.Bucket"),
    ("s3://bucket/warehouse", "s3://bucket/warehouse"),
    ("s3n://KEY:SECRET@bucket", "s3n://bucket"),
    ("hdfs://NameService:8020", "hdfs://NameService:8020"),
    ("file:/Data/x", "file:/Data/x"),
    ("file:///", "file://"),
    ("abfss://Cont@Acct.DFS.core.windows.net/", "abfss://Cont@acct.dfs.core.windows.net"),
    ("oci://Bucket@tenancy/", "oci://Bucket@tenancy"),
    ("wasbs://cont@Acct", "wasbs://cont@Acct"),
    ("duckdb:///Data/x.duckdb", "duckdb:///Data/x.duckdb"),
    ("oracle:thin:@//h:1521/SVC", "oracle:thin:@//h:1521/SVC"),
    ("", ""),
    (":", ""),
    ("://", ""),
]


@pytest.mark.parametrize(("namespace", "expected"), FORMS)
def test_namespace_has_one_form(namespace, expected):
    assert canonical_namespace(namespace).text == expected
    assert canonical_namespace(expected).text == expected


ROOTS = [
    ("s3://b/warehouse/x/", "s3://b", "warehouse/x"),
    ("s3://b", "s3://b", ""),
    ("file:/data/iceberg", "file", "data/iceberg"),
    ("file:///data/x", "file", "data/x"),
    ("file://host/share", "file://host", "share"),
    ("dbfs:/warehouse", "dbfs", "warehouse"),
    ("file:", "file:", ""),
    ("postgres://h/db", "", ""),
]


@pytest.mark.parametrize(("namespace", "root", "path"), ROOTS)
def test_file_namespace_has_a_root_and_a_path(namespace, root, path):
    found = canonical_namespace(namespace)
    assert (found.root, found.path) == (root, path)


UNDER = [
    ("s3://b/warehouse", "db/orders", "s3,b/warehouse/db/orders"),
    ("s3://b/warehouse", "/warehouse/db/orders", "s3,b/warehouse/db/orders"),
    ("s3://b/warehouse", "orders", "s3,b/warehouse/orders"),
    ("s3://b/warehouse", "/", "s3,b/warehouse"),
    ("s3://b/warehouse", "db.orders", "hive,db.orders"),
    ("hdfs://nn:8020/user/hive", "a/b", "hdfs,nn:8020/user/hive/a/b"),
    ("file:/data", "x/y.csv", "file,/data/x/y.csv"),
    ("file://host/share", "x/y.csv", "file,host/share/x/y.csv"),
    ("dbfs:/mnt", "x/y", "dbfs,/mnt/x/y"),
]


@pytest.mark.parametrize(("namespace", "name", "expected"), UNDER)
def test_path_name_is_joined_to_the_path_of_its_namespace(namespace, name, expected):
    assert NAMING(namespace, name).urn == f"urn:li:dataset:(urn:li:dataPlatform:{expected},PROD)"


SHOWN = [
    ("postgres://user:secret@h:5432", "postgres://h:5432"),
    ("postgres://user:se/cr@et@h:5432/db", "postgres://h:5432/db"),
    ("postgres://user:a@b?c@h", "postgres://h"),
    ("jdbc:oracle:thin:@h:1521/x", "jdbc:oracle:thin:@h:1521/x"),
    ("odd:user:secret@h", "odd:user:@h"),
    ("jdbc:postgresql://h/db?user=u&password=secret", "jdbc:postgresql://h/db?user=u"),
    ("jdbc:sqlserver://h;databaseName=d;password=secret;x=1", "jdbc:sqlserver://h;databaseName=d"),
    ("jdbc:oracle:thin:scott/secret@h:1521/x", "jdbc:oracle:thin:@h:1521/x"),
    ("s3n://KEY:secret@bucket", "s3n://bucket"),
    ("wasbs://c@a.blob.core.windows.net/x?sv=1&sig=secret", "wasbs://c@a.blob.core.windows.net/x?sv=1"),
    ("abfss://c@a.dfs.core.windows.net", "abfss://c@a.dfs.core.windows.net"),
    ("oci://Bucket@tenancy", "oci://Bucket@tenancy"),
    ("http://user:secret@nessie:19120/api", "http://nessie:19120/api"),
    ("jdbc:postgresql://h/db?ssl=true", "jdbc:postgresql://h/db?ssl=true"),
    ("mail@example.com", "mail@example.com"),
    ("file:/a/b@c", "file:/a/b@c"),
    ("hdfs://nn:8020/a@b=c", "hdfs://nn:8020/a@b=c"),
    ("hdfs://u:secret@nn:8020", "hdfs://nn:8020"),
    ("jdbc:teradata://h/DATABASE=d,PASSWORD=secret", "jdbc:teradata://h/DATABASE=d"),
    ("jdbc:db2://h:50000/D:password=secret;user=u;", "jdbc:db2://h:50000/D"),
    ("mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dsecret", "mssql+pyodbc:///"),
    ("jdbc:hive2://h/d;principal=hive/_HOST@EXAMPLE.COM", "jdbc:hive2://h/d;principal=hive/_HOST@EXAMPLE.COM"),
    ("jdbc:hive2://u:se;cr@et@h/d;principal=hive/_HOST@EXAMPLE.COM", "jdbc:hive2://EXAMPLE.COM"),
    ("s3://lake/a=1,b=2/key=3", "s3://lake/a=1,b=2/key=3"),
    ("plain", "plain"),
]


@pytest.mark.parametrize(("namespace", "expected"), SHOWN)
def test_namespace_is_shown_without_its_secrets(namespace, expected):
    assert safe_namespace(namespace) == expected
    assert NAMING(namespace, "x").safe_namespace == expected


@given(
    scheme=st.sampled_from(
        ["postgres", "postgresql", "jdbc:mysql", "s3n", "s3a", "http", "mongodb+srv", "redshift+psycopg2", "wasbs"]
    ),
    password=st.text(st.characters(categories=["L", "N", "P"], max_codepoint=0x2FF), max_size=8),
)
def test_no_password_reaches_what_is_shown_or_written(scheme, password):
    secret = f"{password}S3CR3T"
    named = NAMING(f"{scheme}://user:{secret}@host/x", "a.b.c")
    for text in (named.safe_namespace, named.urn or "", named.fqn or "", named.rule, repr(named)):
        assert "S3CR3T" not in text


def test_hosts_and_ports():
    assert split_hosts("a:1,b:2,") == ["a:1", "b:2"]
    assert split_host_port("a:1") == ("a", "1")
    assert split_host_port("a") == ("a", None)
    assert split_host_port("[::1]:5") == ("[::1]", "5")


def test_namespace_variants_cover_each_host_and_default_port():
    assert set(namespace_variants("kafka://a:9092,b:9093", 9092)) == {
        "kafka://a:9092,b:9093",
        "kafka://a:9092",
        "kafka://a",
        "kafka://b:9093",
    }
    assert set(namespace_variants("postgres://a/db", 5432)) == {"postgres://a/db", "postgres://a:5432/db"}
    assert list(namespace_variants("bigquery", None)) == ["bigquery"]


def test_ipv6_host_is_a_host():
    assert NAMING("postgres://[2001:db8::1]:5432", "a.b.c").fqn == "postgresql:`[2001:db8::1]:5432`.a.b.c"
