"""The user's rules: the most literal one wins, and each of its values does what it says."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dh_bridge.errors import SettingsError
from dh_bridge.naming import Naming
from dh_bridge.naming.patterns import NamingPattern
from dh_bridge.settings.naming import NamingRule, NamingSettings


def naming(*rules: NamingRule, **settings) -> Naming:
    return Naming(NamingSettings(rules=rules, **settings))


def rule(namespace: str, **stated) -> NamingRule:
    return NamingRule(namespace=namespace, **stated)


def urn(platform: str, name: str, env: str = "PROD") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{env})"


MATCHES = [
    ("postgres://db:5432", "postgres://db:5432", True),
    ("postgres://db:5432", "postgresql://DB:5432", True),
    ("postgresql://DB:5432", "postgres://db:5432", True),
    ("postgres://db:5432", "postgres://db", True),
    ("postgres://db", "postgres://db:5432", True),
    ("postgres://db", "postgres://db:5433", False),
    ("postgres://db:5432", "postgres://a:5432,db:5432", True),
    ("postgres://db:5432", "postgres://user:pw@db", True),
    ("postgresql+psycopg2://{host}", "postgresql+psycopg2://db", True),
    ("postgresql://{host}", "postgres://db", True),
    ("postgres://{host}:{port}", "postgres://db", True),
    ("postgres://{host}", "mysql://db", False),
    ("postgres://prod-{*rest}", "postgres://prod-eu:5432", True),
    ("postgres://prod-{*rest}", "postgres://dev-eu:5432", False),
    ("kafka://b2:9092", "kafka://b1:9092,b2:9092", True),
    ("food_delivery", "food_delivery", True),
    ("food_delivery", "food_delivery2", False),
    ("{*any}", "whatever://x", True),
    ("arn:aws:glue:us-east-1:{account}", "arn:aws:glue:us-east-1:1234", True),
    ("Mixed_Case", "Mixed_Case", True),
    ("postgres://[::1]:5432", "postgres://[::1]:5432", True),
]


@pytest.mark.parametrize(("pattern", "namespace", "about"), MATCHES)
def test_rule_is_compared_with_every_spelling_of_the_namespace(pattern, namespace, about):
    named = naming(rule(pattern, env="QA"))(namespace, "a.b.c")
    assert named.env == ("QA" if about else "PROD")
    assert (f"naming.rules[0] {pattern}" in named.rule) == about


def test_rule_can_be_about_the_empty_namespace():
    """Flink sends it for every table whose connector names no place: files, and those of catalogues."""
    table = "default_catalog.default_database.orders"
    found = naming(rule("", name=table, platform="file", rename="/data/orders"), rule("", env="QA"))
    assert found("", table).urn == urn("file", "/data/orders")
    assert found("", "hive.shop.orders").urn == urn("unknown", "hive.shop.orders", "QA")
    assert found("food", "orders").urn == urn("unknown", "food/orders")
    assert found("", "orders").rule == "unknown namespace; naming.rules[1] ''"


def test_rule_with_the_most_literal_text_wins_in_any_order():
    rules = [
        rule("postgres://{*any}", platform_instance="all"),
        rule("postgres://eu-1:5432", platform_instance="one"),
        rule("postgres://eu-{*rest}", platform_instance="some"),
        rule("postgres://eu-1:5432", name="shop.tmp.{*table}", env="QA"),
    ]
    for order in (rules, rules[::-1]):
        named = naming(*order)
        assert named("postgres://eu-1:5432", "shop.public.t").instance == "one"
        assert named("postgres://eu-2:5432", "shop.public.t").instance == "some"
        assert named("postgres://us:5432", "shop.public.t").instance == "all"
        assert named("postgres://eu-1:5432", "shop.tmp.t").env == "QA"


def test_platform_instance_prefixes_name_and_containers():
    named = naming(rule("postgres://{*any}", platform_instance="pg_eu"))("postgres://h:5432", "shop.public.Orders")
    assert named.urn == urn("postgres", "pg_eu.shop.public.Orders")
    assert named.dataset_name == "shop.public.Orders"
    assert named.containers[1] == "urn:li:container:15196eb4dd3bff42cac191ce142c7f92"


def test_env_moves_the_containers_that_hash_it():
    named = naming(env="DEV")("postgres://h:5432", "shop.public.Orders")
    assert named.urn == urn("postgres", "shop.public.Orders", "DEV")
    assert named.containers[1] == "urn:li:container:cf117fa96d12e87a3ce80a8e8d29d3de"
    assert naming(env="DEV")("mongodb://h", "shop.o").containers == naming()("mongodb://h", "shop.o").containers


def test_bigquery_ignores_an_instance_and_adds_a_note():
    named = naming(rule("bigquery", platform_instance="x"))("bigquery", "p.d.t")
    assert (named.urn, named.instance, named.notes) == (urn("bigquery", "p.d.t"), None, ("instance-ignored",))


@pytest.mark.parametrize("system", ["dynamodb", "kinesis"])
def test_instance_replaces_the_account_of_aws_streams_and_tables(system):
    arn = f"arn:aws:{system}:us-east-1:123456789012"
    assert naming()(arn, "x").urn == urn(system, "123456789012.us-east-1.x")
    assert naming()(arn, "x").instance == "123456789012"
    assert naming(rule(arn, platform_instance="eu"))(arn, "x").urn == urn(system, "eu.us-east-1.x")
    bare = f"{system}://{system}.us-east-1.amazonaws.com"
    assert naming()(bare, "x").urn == urn(system, "us-east-1.x")
    assert naming()(bare, "x").containers == ()
    assert naming(rule(bare, parts={"account": "42"}))(bare, "x").urn == urn(system, "42.us-east-1.x")


CASES = [
    ("snowflake://a", "DB.S.T", "keep", urn("snowflake", "DB.S.T"), "Col"),
    ("snowflake://a", "DB.S.T", None, urn("snowflake", "db.s.t"), "col"),
    ("snowflake://a", "DB.S.T", "lower", urn("snowflake", "db.s.t"), "col"),
    ("postgres://h", "Db.S.T", "lower", urn("postgres", "db.s.t"), "Col"),
    ("oracle://h", "X.HR.Mixed", "lower", urn("oracle", "hr.mixed"), "Col"),
    ("food_delivery", "A.B", "lower", urn("unknown", "food_delivery/a.b"), "Col"),
    ("kafka://h", "Topic", "upper", urn("kafka", "TOPIC"), "Col"),
    ("salesforce", "A.b", "lower", urn("salesforce", "a.b"), "Col"),
]


@pytest.mark.parametrize(("namespace", "name", "case", "expected", "column"), CASES)
def test_case_by_rule(namespace, name, case, expected, column):
    named = naming(rule("{*any}", case=case))(namespace, name)
    assert named.urn == expected
    assert named.spell_column("Col") == column


DEFAULTS = [
    ("postgres://h", "public.orders", {}, urn("postgres", "shop.public.orders")),
    ("postgres://h", "orders", {"default_schema": "public"}, urn("postgres", "shop.public.orders")),
    ("postgres://h", "a.b.c", {}, urn("postgres", "a.b.c")),
    ("postgres://h", "None.public.t", {}, urn("postgres", "shop.public.t")),
    ("postgres:/h:5433", ".public.foo", {}, urn("postgres", "shop.public.foo")),
    ("postgresql+psycopg2://localhost", "app.orders", {}, urn("postgres", "shop.app.orders")),
    ("mysql://h", "orders", {}, urn("mysql", "shop.orders")),
    ("trino://h", "s.orders", {}, urn("trino", "shop.s.orders")),
    ("bigquery", "ds.orders", {}, urn("bigquery", "shop.ds.orders")),
    ("snowflake://a", "PUBLIC.T", {}, urn("snowflake", "shop.public.t")),
    ("oracle://h", "HR.T", {}, urn("oracle", "hr.t")),
    ("databricks://h", "s.t", {}, urn("databricks", "shop.s.t")),
    ("s3://b", "orders", {}, urn("s3", "b/orders")),
    ("kafka://b", "orders", {}, urn("kafka", "orders")),
    ("acme://x", "orders", {}, urn("unknown", "acme://x/orders")),
]


@pytest.mark.parametrize(("namespace", "name", "more", "expected"), DEFAULTS)
def test_defaults_complete_a_name(namespace, name, more, expected):
    named = naming(rule("{*any}", default_database="shop", **more))(namespace, name)
    assert (named.urn, named.level) == (expected, "table")
    assert "missing-part" not in named.notes


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("postgres://h", "shop.orders", urn("postgres", "shop.public.orders")),
        ("postgres://h", 'shop."Orders.2024"', urn("postgres", "shop.public.Orders.2024")),
        ("postgres://h/shop", "orders", urn("postgres", "shop.public.orders")),
        ("postgres://h", "shop.sales.orders", urn("postgres", "shop.sales.orders")),
        ("sqlserver://h", "shop.orders", urn("mssql", "shop.public.orders")),
        ("mysql://h", "shop.orders", urn("mysql", "shop.orders")),
    ],
)
def test_schema_completes_the_name_of_a_database_and_a_table(namespace, name, expected):
    """Spark writes ``database.table`` of a JDBC table that it was given without its schema."""
    named = naming(rule("{*any}", default_schema="public"))(namespace, name)
    assert (named.urn, named.level) == (expected, "table")


def test_completed_name_has_its_containers_and_fqn():
    named = naming(rule("postgres://{*any}", default_database="shop"))("postgres://h", "public.orders")
    assert named.fqn == "postgresql:`h:5432`.shop.public.orders"
    assert named.containers == naming()("postgres://h", "shop.public.orders").containers


def test_default_that_is_not_enough_changes_nothing():
    with_rule, without = naming(rule("postgres://{*any}", default_database="shop")), naming()
    assert with_rule("postgres://h", "orders").endpoint == without("postgres://h", "orders").endpoint


def test_databases_can_be_mapped():
    named = naming(rule("fabric-warehouse://{*any}", database_map={"Sales": "ws-guid.item-guid"}))
    assert named("fabric-warehouse://x", "Sales.dbo.Orders").urn == urn(
        "fabric-onelake", "ws-guid.item-guid.dbo.Orders"
    )
    assert named("fabric-warehouse://x", "Other.dbo.Orders").urn == urn("fabric-onelake", "Other.dbo.Orders")


def test_rule_parts_fill_in_missing_namespace_parts():
    named = naming(
        rule("snowflake", parts={"account": "org-acct"}), rule("spanner://p:i", parts={"instance": "regional-eu.i"})
    )
    assert named("snowflake", "A.B.C").fqn == "snowflake:org-acct.A.B.C"
    assert named("spanner://p:i", "db.s.t").urn == urn("spanner", "p.regional-eu.i.db.s.t")


PLATFORMS = [
    ("mysql://h", "Shop.Orders", "mariadb", urn("mariadb", "Shop.Orders"), "mysql", "mysql:`h:3306`.Shop.Orders"),
    ("postgres://h", "d.s.T", "redshift", urn("redshift", "d.s.T"), "postgres", "postgresql:`h:5432`.d.s.T"),
    ("postgres://h", "D.S.T", "snowflake", urn("snowflake", "d.s.t"), "postgres", "postgresql:`h:5432`.D.S.T"),
    ("fabric-warehouse://x", "Sales.dbo.T", "mssql", urn("mssql", "Sales.dbo.T"), "fabric_warehouse", None),
    ("food_delivery", "public.orders", "postgres", urn("postgres", "public.orders"), None, None),
    ("food_delivery", "A.B.C", "snowflake", urn("snowflake", "a.b.c"), None, None),
    ("food_delivery", "x y/z", "in-house", urn("in-house", "x y/z"), None, None),
    ("salesforce", "a.b", "in-house", urn("in-house", "a.b"), "salesforce", None),
    ("kafka://b", "t", "redpanda", urn("redpanda", "t"), "kafka", "kafka:`b:9092`.t"),
    ("kafka://b", "t", "snowflake", urn("snowflake", "t"), "kafka", "kafka:`b:9092`.t"),
]


@pytest.mark.parametrize(("namespace", "name", "platform", "expected", "system", "fqn"), PLATFORMS)
def test_platform_by_rule_brings_its_own_naming(namespace, name, platform, expected, system, fqn):
    named = naming(rule(namespace, platform=platform))(namespace, name)
    assert named.endpoint == expected
    assert named.platform == platform
    assert named.fqn == fqn
    assert named.notes == (("unread-name",) if system == "salesforce" else ())
    if named.level == "table" and named.system is not None and system != named.system:
        assert named.containers == naming()(f"{named.system}://h", name).containers


def test_unknown_namespace_gets_platform_and_database_by_rule():
    named = naming(rule("food_delivery", platform="postgres", default_database="food", platform_instance="eu"))
    assert named("food_delivery", "public.orders").urn == urn("postgres", "eu.food.public.orders")


@pytest.mark.parametrize(
    ("namespace", "name"), [("s3://minio:9000", "/lake/raw/orders/dt=1"), ("s3://minio:9000/lake", "raw/orders")]
)
def test_bucket_of_an_unknown_server_is_the_first_folder(namespace, name):
    named = naming(rule("s3://minio:9000[/{*bucket}]", platform="s3"))
    assert named(namespace, name).urn == urn("s3", "lake/raw/orders")


RENAMES = [
    ("elasticsearch://h", "logs-2024.01.01", {"name": "logs-{*date}", "rename": "logs"}, urn("elasticsearch", "logs")),
    (
        "s3://lake",
        "raw/crm/orders/2025-01-15/x.csv",
        {"name": "raw/{source}/{table}/{*rest}", "rename": "raw/{source}/{table}"},
        urn("s3", "lake/raw/crm/orders"),
    ),
    ("s3://lake", "raw/crm/orders/x.csv", {"path_depth": 2}, urn("s3", "lake/raw/crm")),
    ("s3://lake", "a", {"path_depth": 2}, urn("s3", "lake/a")),
    ("s3://lake", "delta/orders", {"select": "delta"}, urn("delta-lake", "lake/delta/orders")),
    ("http://rest:8181", "sales.orders", {"select": "iceberg"}, urn("iceberg", "sales.orders")),
    ("oracle://h", "ORCL.HR.T", {"variants": {"with-database"}}, urn("oracle", "orcl.hr.t")),
    (
        "awsathena://athena.us-east-1.amazonaws.com",
        "mine.sales.orders",
        {"name": "mine.{*rest}", "rename": "AwsDataCatalog.{*rest}"},
        urn("athena", "sales.orders"),
    ),
]


@pytest.mark.parametrize(("namespace", "name", "stated", "expected"), RENAMES)
def test_names_paths_and_systems_by_rule(namespace, name, stated, expected):
    assert naming(rule(namespace, **stated))(namespace, name).endpoint == expected


def test_catalogue_by_rule_makes_the_second_part_a_database():
    place = "awsathena://athena.us-east-1.amazonaws.com"
    assert naming()(place, "mine.sales").level == "table"
    own = rule(place, name="mine.{*rest}", rename="AwsDataCatalog.{*rest}")
    assert naming(own)(place, "mine.sales").level == "database"


def test_hive_metastore_source_has_other_containers():
    named = naming(rule("hive://h", variants={"hive-metastore"}))("hive://h", "sales.orders")
    assert named.containers[0] == "urn:li:container:1d0c71c4254f1f0f4e37a5454c1b088b"
    assert named.urn == urn("hive", "sales.orders")


def test_several_addresses_are_one_location():
    locations = {"hdfs://prod:8020": ("hdfs://10.0.0.1:8020", "hdfs://nn-{*any}")}
    named = naming(rule("hdfs://prod:8020", env="QA"), locations=locations)
    for namespace in ("hdfs://prod:8020", "hdfs://10.0.0.1:8020", "hdfs://nn-7:8020"):
        assert named(namespace, "/x").urn == urn("hdfs", "prod:8020/x", "QA")
    assert named("hdfs://other:8020", "/x").urn == urn("hdfs", "other:8020/x")


def test_alias_in_a_host_list_matches_with_the_default_port():
    locations = {"postgres://main:5432": ("postgres://replica:5432",)}
    assert naming(locations=locations)("postgres://replica,x", "a.b.c").fqn == "postgresql:`main:5432`.a.b.c"


def test_project_numbers_are_linted_and_mapped():
    assert naming()("bigquery", "123456.d.t").notes == ("project-number",)
    named = naming(project_numbers={"123456": "my-proj"})("bigquery", "123456.d.t")
    assert (named.urn, named.fqn, named.notes) == (urn("bigquery", "my-proj.d.t"), "bigquery:my-proj.d.t", ())


def test_hdfs_authority_can_be_a_databricks_workspace():
    assert naming()("hdfs://ws", "/mnt/x").notes == ("hdfs-or-dbfs",)
    named = naming(locations={"dbfs://ws": ("hdfs://ws",)})("hdfs://ws", "/mnt/x")
    assert (named.urn, named.fqn, named.notes) == (urn("dbfs", "/mnt/x"), "dbfs:ws.mnt/x", ())


CONTAINER = "abfss://c@acct.dfs.core.windows.net"
BLOB = "wasbs://c@acct.blob.core.windows.net"


@pytest.mark.parametrize(
    ("variant", "namespace", "name", "expected"),
    [
        (None, CONTAINER, "a/b", urn("abs", "c/a/b")),
        ("azure-authority", CONTAINER, "a/b", urn("abs", "c@acct.dfs.core.windows.net/a/b")),
        ("azure-authority", BLOB, "/a", urn("abs", "c@acct.blob.core.windows.net/a")),
        ("azure-adls", CONTAINER, "a/b", urn("adls", "c/a/b")),
        (None, "file", "/data/x", urn("file", "/data/x")),
        ("local-files-bare", "file", "/data/x", urn("file", "data/x")),
    ],
)
def test_variants_are_the_names_of_connectors_that_disagree(variant, namespace, name, expected):
    assert naming(rule("{*any}", variants={variant} - {None}))(namespace, name).urn == expected


SWITCHES = [
    ({"urn_to_lower": True}, "kafka://b", "Topic", urn("kafka", "topic")),
    ({"urn_to_lower": True}, "Unknown", "Name", urn("unknown", "unknown/name")),
]


@pytest.mark.parametrize(("stated", "namespace", "name", "expected"), SWITCHES)
def test_compatibility_switches(stated, namespace, name, expected):
    assert naming(**stated)(namespace, name).urn == expected


def test_instance_keeps_its_case_when_urns_are_lowered():
    named = naming(rule("kafka://b", platform_instance="EU"), urn_to_lower=True)
    assert named("kafka://b", "Topic").urn == urn("kafka", "EU.topic")


def test_dataset_in_memory_has_a_name_by_choice():
    retained = Naming(NamingSettings(), keep_in_memory=True)
    assert retained("inmemory://", "step 1").urn == urn("unknown", "inmemory:///step 1")


def test_memory_and_queries_have_no_dataset():
    assert naming()("memory://pandas", "dataframe").skip == "policy:inmemory"
    assert naming()("inmemory://", "x").rule == "inmemory: inmemory + {*name}"
    assert naming()("azurekusto://c.kusto.windows.net", "db/COMPLEX").skip == "policy:query"


def test_unknown_namespaces_are_kept_dropped_or_refused():
    retained = naming()("food_delivery", "public.orders")
    assert (retained.urn, retained.notes, retained.system) == (
        urn("unknown", "food_delivery/public.orders"),
        ("unknown-namespace",),
        None,
    )
    assert naming(unknown="drop")("food_delivery", "x").skip == "filtered: naming.unknown"
    refused = naming(unknown="fail")("food_delivery", "x")
    assert refused.endpoint is None
    assert str(refused.refusal).startswith("food_delivery: no naming system matches this namespace (")
    assert naming(unknown="fail")("kafka://b", "x").urn == urn("kafka", "x")
    assert naming()("s3://minio:9000/lake", "raw/orders").urn == urn("unknown", "s3://minio:9000/lake/raw/orders")


BROKEN = [
    ({"namespace": "x{"}, r"naming.rules\[0\].namespace"),
    ({"namespace": "x{a}]"}, "bracket"),
    ({"namespace": "{a}[x"}, "bracket"),
    ({"namespace": "x", "name": "{a}{a}"}, r"naming.rules\[0\].name.*twice"),
    ({"namespace": "x", "rename": "{"}, r"naming.rules\[0\].rename"),
    ({"namespace": "x", "rename": "{nosuch}"}, r"naming.rules\[0\].rename: unknown part: nosuch .*define none"),
    ({"namespace": "x", "name": "{a}", "rename": "{a}[.{b}]"}, r"unknown part: b \(the patterns of the rule define a;"),
    ({"namespace": "x://{_}", "rename": "{_}"}, r"naming.rules\[0\].rename: unknown part: _"),
    ({"namespace": "x", "variants": {"nope"}}, r"naming.rules\[0\].variants.*nope"),
    (
        {"namespace": "x", "select": "nope"},
        r"naming.rules\[0\].select: unknown opt-in system: nope \(use one of delta, ",
    ),
    ({"namespace": "x", "parts": {"nope": "1"}}, r"naming.rules\[0\].parts: unknown part: nope \(use one of account, "),
]


@pytest.mark.parametrize(("stated", "message"), BROKEN)
def test_broken_rule_is_refused_at_the_start_by_its_key(stated, message):
    with pytest.raises(SettingsError, match=message):
        naming(NamingRule(**stated))


def test_rename_uses_parts_of_both_patterns_and_defaults():
    stated = rule("postgres://{host}", name="{schema}.{table}", rename="{host}.{schema}.{*table}_{kind=raw}")
    assert naming(stated)("postgres://db", "s.t").urn == urn("postgres", "db.s.t_raw")


def test_every_part_of_a_system_can_be_set_by_a_rule():
    for system in naming().systems():
        given = {name for row in system.namespaces for name in NamingPattern(row.pattern, "", namespace=True).names}
        naming(rule("x", parts=dict.fromkeys(given | {"table"}, "1")))


def test_broken_location_is_refused_at_the_start_by_its_key():
    with pytest.raises(SettingsError, match=r"naming.locations.x:"):
        naming(locations={"x": ("{",)})


@pytest.mark.parametrize(
    "stated",
    [{"env": "LIVE"}, {"rules": [{"namespace": "x", "instance": "y"}]}, {"rules": [{"case": "lower"}]}, {"ruls": []}],
)
def test_settings_refuse_what_they_do_not_know(stated):
    with pytest.raises(ValidationError):
        NamingSettings.model_validate(stated)


def test_every_setting_has_a_description():
    for model in (NamingSettings, NamingRule):
        assert all(field.description for field in model.model_fields.values())
