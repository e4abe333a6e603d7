"""Secrets do not reach a property, and what is no secret stays readable."""

from __future__ import annotations

import json

import pytest
from support.sample_events import dataset, event, lines
from support.value_tables import TABLES

from dh_bridge import Bridge, Settings, translate
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.redaction import (
    REDACTED,
    is_redacted,
    is_secret_name,
    mask_values,
    redact,
    redact_json,
    redact_sql,
    redaction_mode,
)

SECRET = "hunter2hunter2"  # noqa: S105 - what the tests look for
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{SECRET}.c2ln"
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----"

NAMES = [
    "password", "db.password", "spark.ssl.keyStorePassword", "passwd", "passphrase", "pwd", "client_secret", "AUTH_TOKEN", "gcp.credentials",
    "api_key", "api-key", "apiKey", "access.key", "fs.s3a.access.key", "private_key", "Authorization", "http.auth", "blob.sas",
    "spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net", "fs.azure.sas.lake.shop.blob.core.windows.net",
    "X-Amz-Signature", "connection_string", "connectionString", "sasl.jaas.config", "kerberos.keytab", "token.value",
]  # fmt: skip
PLAIN = [
    "author",
    "authors",
    "path",
    "keyspace",
    "primary_key",
    "columns.key",
    "basis",
    "compass_point",
    "owner",
    "monkey",
    "sas_dataset",
    "passenger_count",
    "params.pass_value",  # what a check of Airflow expects
]


@pytest.mark.parametrize("name", NAMES)
def test_secret_names_are_recognised(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "compass_point"])
def test_name_that_only_resembles_one_is_not(name):
    assert not is_secret_name(name)


STATED = {
    f'psql "host=db user=ann password={SECRET} dbname=shop"': 'psql "host=db user=ann password=*** dbname=shop"',
    f"connect(host='db', password='{SECRET}')": "connect(host='db', password=***)",
    f'{{"user": "ann", "apiKey": "{SECRET}", "n": 1}}': '{"user": "ann", "apiKey": ***, "n": 1}',
    f"{{'client_secret': '{SECRET} x', 'a': 'b'}}": "{'client_secret': ***, 'a': 'b'}",
    f"Command 'load --db-password {SECRET} --rows 5' failed": "Command 'load --db-password *** --rows 5' failed",
    f"options:\n--db-password {SECRET}\n--rows 5": "options:\n--db-password ***\n--rows 5",
    f"exec '--db-password {SECRET}'": "exec '--db-password ***'",
    f"AWS_SECRET_ACCESS_KEY={SECRET}\nAWS_REGION=eu": "AWS_SECRET_ACCESS_KEY=***\nAWS_REGION=eu",
    f"at postgres://ann:{SECRET}@db/shop": "at postgres://ann:***@db/shop",
    f"-Djavax.net.ssl.trustStorePassword={SECRET} -Da=b": "-Djavax.net.ssl.trustStorePassword=*** -Da=b",
    f"Password={SECRET};Server=h": "Password=***;Server=h",
    f"curl -H 'Authorization: Bearer {SECRET}' https://h": "curl -H 'Authorization: Bearer ***' https://h",
}
PROSE = [
    "password authentication failed for user ann",
    "Unexpected token: expected ';' but found 'x'",
    "KeyError: 'password'",
    'no "token" in the answer, and "secret": null',
    "pass --token or --key, see --help",
    "password=***, user=ann",
    '{"api_key":"[REDACTED]","n":1}',
    "rows=5 order_key=7",
]


@pytest.mark.parametrize("stated", STATED)
def test_secrets_in_program_output_are_masked(stated):
    assert redact(stated) == STATED[stated]
    with redaction_mode("off"):
        assert redact(stated) == stated


@pytest.mark.parametrize("stated", PROSE)
def test_prose_about_secrets_stays(stated):
    assert redact(stated) == stated


@pytest.mark.parametrize("stated", STATED)
def test_secrets_in_kept_properties_are_masked(stated):
    facets = {"spark_properties": {"properties": {"spark.told": stated}}, "acme": {"told": stated, "more": [stated]}}
    assert SECRET.encode() not in b"".join(lines(translate([event("START"), event("COMPLETE", run_facets=facets)])))


STATEMENTS = {
    f"CREATE SECRET s (TYPE S3, KEY_ID 'AKIA', SECRET '{SECRET}')": "CREATE SECRET s (TYPE S3, KEY_ID 'AKIA', SECRET '***')",
    f"COPY INTO t CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY = '{SECRET}')": "COPY INTO t CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY = '***')",
    f"CREATE USER u IDENTIFIED BY '{SECRET}'": "CREATE USER u IDENTIFIED BY '***'",
    f"ALTER LOGIN u WITH PASSWORD = N'{SECRET}'": "ALTER LOGIN u WITH PASSWORD = N'***'",
    f"CREATE TABLE x USING jdbc OPTIONS ('password' = '{SECRET}')": "CREATE TABLE x USING jdbc OPTIONS ('password' = '***')",
    f"CALL dblink('host=h password={SECRET}', 'one')": "CALL dblink('host=h password=***', 'one')",
    f"-- don't\nALTER ROLE u PASSWORD '{SECRET}''s'": "-- don't\nALTER ROLE u PASSWORD '***'",
}
HARMLESS = [
    "SELECT a.token, 'x' AS secret FROM a JOIN b ON a.token=b.token WHERE a.token_type = 'refresh'",
    "SELECT 'reset password' AS x, 'y', order_key FROM t WHERE key = 'k'",
    'SELECT 1 FROM a WHERE "a"."token" = "b"."token"',
    "/* password 'x",
    "SELECT 'unfinished password ",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_literals_of_sql_that_are_secrets_are_masked(statement):
    assert redact_sql(statement) == STATEMENTS[statement]
    with redaction_mode("off"):
        assert redact_sql(statement) == statement
    facets = {"sql": {"query": statement}}
    for profile in ("0.15.0", "1.7"):
        found = Bridge(Settings(datahub_version=profile, optional_metadata=["queries"])).translate(
            event("COMPLETE", job_facets=facets)
        )
        assert SECRET.encode() not in b"".join(lines(found))


@pytest.mark.parametrize("statement", HARMLESS)
def test_columns_and_other_literals_of_sql_stay(statement):
    assert redact_sql(statement) == statement


def test_errors_of_runs_and_checks_are_masked():
    errors = [{"errorMessage": f"secret={SECRET}", "stackTrace": f"token='{SECRET}'", "task": "t", "taskNumber": 1}]
    facets = {
        "errorMessage": {
            "message": f"password={SECRET}",
            "programmingLanguage": "X",
            "stackTrace": f"--token {SECRET}",
        },
        "extractionError": {"totalTasks": 1, "failedTasks": 1, "errors": errors},
    }
    written = b"".join(lines(translate([event("START"), event("FAIL", run_facets=facets)]))).decode()
    assert written.count("***") == 4
    assert SECRET not in written
    assert TABLES.assertion_errors.build_error(f"password={SECRET}")["properties"] == {"message": "password=***"}


def test_only_the_last_two_segments_of_a_name_count():
    assert is_secret_name("a.password.value")
    assert not is_secret_name("password.of.nobody.here")


SHAPES = {
    "user and password of a URL": (f"postgres://ann:{SECRET}@db:5432/x", "postgres://ann:***@db:5432/x"),
    "a password with an at sign": (f"postgres://ann:a@{SECRET}@db/x", "postgres://ann:***@db/x"),
    "a password without a user": (f"redis://:{SECRET}@cache:6379", "redis://:***@cache:6379"),
    "a token that clones a repository": (
        f"https://ghp_{SECRET}{SECRET}@github.com/o/r.git",
        "https://***@github.com/o/r.git",
    ),
    "a URL of Oracle's": (f"jdbc:oracle:thin:ann/{SECRET}@//db:1521/x", "jdbc:oracle:thin:ann/***@//db:1521/x"),
    "a JDBC URL": (f"jdbc:mysql://ann:{SECRET}@db/x?ssl=true", "jdbc:mysql://ann:***@db/x?ssl=true"),
    "two URLs in one text": (f"s3://a:{SECRET}@b s3://c:{SECRET}@d", "s3://a:***@b s3://c:***@d"),
    "a query parameter": (f"https://h/p?user=ann&password={SECRET}&x=1", "https://h/p?user=ann&password=***&x=1"),
    "a signed URL": (f"https://h/p?X-Amz-Signature={SECRET}&b=2", "https://h/p?X-Amz-Signature=***&b=2"),
    "a shared access signature": (f"https://h/p?sv=1&sig={SECRET}", "https://h/p?sv=1&sig=***"),
    "a parameter behind a semicolon": (
        f"jdbc:sqlserver://h;user=a;password={SECRET};x=1",
        "jdbc:sqlserver://h;user=a;password=***;x=1",
    ),
    "a login of Oracle's": (f"jdbc:oracle:thin:ann/{SECRET}@h:1521/x", "jdbc:oracle:thin:ann/***@h:1521/x"),
    "the first property of DB2's": (f"jdbc:db2://h/d:password={SECRET};user=a;", "jdbc:db2://h/d:password=***;user=a;"),
    "a property of Teradata's": (
        f"jdbc:teradata://h/USER=a,PASSWORD={SECRET},X=1",
        "jdbc:teradata://h/USER=a,PASSWORD=***,X=1",
    ),
    "what ODBC is given": (f"mssql+pyodbc:///?odbc_connect=PWD%3D{SECRET}", "mssql+pyodbc:///?odbc_connect=***"),
    "a private key": (f"before {KEY} after", f"before {REDACTED} after"),
    "a private key that breaks off": (f"-----BEGIN PRIVATE KEY-----{SECRET}", REDACTED),
    "a JSON web token": (f"Bearer {JWT} end", f"Bearer {REDACTED} end"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_secret_is_known_by_its_shape(case):
    text, left = SHAPES[case]
    assert redact(text) == left
    assert SECRET not in json.dumps(redact_json({"a": [{"b": text}]}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "a@b.example",
        "https://h:8080/p?x=1",
        "jdbc:oracle:thin:@//h/x",
        "select a from t where b = 'c'",
        "10:30",
        "********",
    ],
)
def test_texts_without_secrets_are_unchanged(text):
    assert redact(text) == text


def test_json_is_redacted_by_name_and_by_shape():
    stated = {
        "password": SECRET,
        "n": {"api_key": [SECRET, 7, True, None]},
        "masked": {"password": "***"},
        "empty": {"password": ""},
        "x": 1,
    }
    assert redact_json(stated) == {
        "password": REDACTED, "n": {"api_key": [REDACTED, REDACTED, True, None]}, "masked": {"password": "***"},
        "empty": {"password": ""}, "x": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        ("password", "value"), ("secrets", "db", "prod"), ("a", "b", "tokens", 0, "c", "d"), ("api", "key"), ("access", 0, "key"),
        ("x.private", "key"), ("http.auth", "user", "name"), ("connection", "string"), ("a", "credentials", "list", 0, 1, "b"),
        ("spark.hadoop.fs.s3a.access.key",), ("sasl", "jaas", "config"),
    ],
)  # fmt: skip
def test_every_key_on_a_json_path_can_mark_a_secret(path):
    for secret in (SECRET, 4711):
        found, expected = secret, REDACTED
        for step in reversed(path):
            found = [*[None] * step, found] if isinstance(step, int) else {step: found, "plain": "x", "flag": True}
            expected = [*[None] * step, expected] if isinstance(step, int) else {step: expected}
        redacted = redact_json(found)
        assert str(secret) not in json.dumps(redacted)
        for step in path:
            assert isinstance(redacted, list) or redacted["flag"] is True
            redacted, expected = redacted[step], expected[step]
        assert redacted == expected == REDACTED


@pytest.mark.parametrize(
    "found",
    [
        {"public": {"key": "x"}}, {"columns": {"key": "x"}}, {"primary": {"key": "x"}}, {"key": {"api": "x"}},
        {"author": {"name": "x"}}, {"string": {"connection": "x"}}, {"auths": {"a": "x"}}, {"path": {"pas": {"s": "x"}}},
    ],
)  # fmt: skip
def test_names_that_only_resemble_one_hide_nothing_below_them(found):
    assert redact_json(found) == found


def test_nested_secret_in_a_property_is_hidden_and_reported():
    deep = {"list": [{"secrets": {"db": {"prod": SECRET}}, "api": {"key": SECRET}, "x": "seen"}]}
    strange = {"vault": {"tokens": {"of": {"ann": SECRET}}}, "x": "seen"}
    found = translate(event(run_facets={"spark_properties": {"properties": deep}, "strange": strange}), report=True)
    assert SECRET not in repr([one.value for one in found.proposals])
    redacted = {line["path"].rpartition("facets.")[2]: line["reason"] for line in found.report.lines()}
    inner = "spark_properties.properties.list[0]"
    assert {path: redacted[path] for path in (f"{inner}.secrets.db.prod", f"{inner}.api.key", f"{inner}.x")} == {
        f"{inner}.secrets.db.prod": "secret", f"{inner}.api.key": "secret", f"{inner}.x": None,
    }  # fmt: skip
    assert redacted["strange.vault.tokens.of.ann"] == "secret"
    assert redacted["strange.x"] is None


def test_properties_by_path_are_hidden_below_a_secret_name_too():
    stated = {"secrets": {"db": {"prod": SECRET, "n": 4711, "on": True, "list": [{"x": SECRET}]}}, "x": {"y": "seen"}}
    found = translate(event("COMPLETE", run_facets={"dbt_version": stated}), report=True)
    values = repr([one.value for one in found.proposals])
    assert SECRET not in values
    assert "4711" not in values
    assert "seen" in values
    redacted = {line["path"].rpartition("facets.")[2]: line["reason"] for line in found.report.lines()}
    below = "dbt_version.secrets.db"
    assert [redacted[f"{below}.{leaf}"] for leaf in ("prod", "n", "list[0].x")] == ["secret"] * 3
    assert redacted["dbt_version.x.y"] is None


def test_list_property_name_and_inner_key_mark_a_secret():
    stated = event(run_facets={"hive_properties": {"properties": {"x": 1}, "connection": [{"string": SECRET}]}})
    assert SECRET not in repr([one.value for one in translate(stated).proposals])


@pytest.mark.parametrize(
    ("value", "keys", "expected"),
    [
        (SECRET, ("password",), True), (5, ("a.token",), True), (SECRET, ("a", "b.password.c"), True), (JWT, ("a",), True),
        (KEY, (), True), ("***", ("password",), False), ("", ("password",), False), (True, ("password",), False),
        (None, ("password",), False), ({}, ("password",), False), ([], ("password",), False), (SECRET, ("a",), False),
        (REDACTED, ("a",), True), (f"Bearer {JWT}", ("a",), False), (5, ("a",), False),
    ],
)  # fmt: skip
def test_whether_nothing_of_a_value_is_left(value, keys, expected):
    assert is_redacted(value, *keys) is expected
    with redaction_mode("off"):
        assert not is_redacted(value, *keys)


@pytest.mark.parametrize("place", ["run", "job", "dataset", "input"])
@pytest.mark.parametrize(
    "key", ["anything", "tags", "spark_properties", "airflow", "catalog", "dataSource", "parent", "documentation"]
)
def test_no_secret_of_any_facet_reaches_a_property(place, key):
    facet = {
        key: {
            "password": SECRET, "uri": f"postgres://ann:{SECRET}@db/x", "properties": {"spark.password": SECRET, "k": KEY},
            "dag": {"owner": "ann", "conf": {"token": SECRET}}, "list": [f"https://h?sig={SECRET}", {"jwt": JWT}],
        }
    }  # fmt: skip
    parts = {
        "run": {"run_facets": facet},
        "job": {"job_facets": facet},
        "dataset": {"inputs": [dataset("d.s.a", facets=facet)]},
        "input": {"inputs": [dataset("d.s.a", inputFacets=facet)]},
    }
    for kind in ("START", "COMPLETE"):
        assert SECRET.encode() not in b"".join(lines(translate(event(kind, **parts[place]))))


@pytest.mark.parametrize(
    "namespace", [f"postgres://ann:{SECRET}@db:5432", f"mysql://:{SECRET}@db", f"https://h?token={SECRET}"]
)
def test_no_secret_of_a_namespace_reaches_a_proposal(namespace):
    stated = event(inputs=[dataset("d.s.a", namespace)], outputs=[dataset("d.s.b", namespace)])
    found = b"".join(lines(translate(stated)))
    assert SECRET.encode() not in found


# -- the setting -----------------------------------------------------------------------------------------------------

URL = f"postgres://ann:{SECRET}@db/x"


def facet_of(**leaves):
    return {"_producer": "https://x", "_schemaURL": "https://x", **leaves}


#: where a value of every kind is kept, each by another way through the facets
KEPT_BY = {
    "an open facet": {"spark_jobDetails": facet_of(jobDescription=URL)},
    "an unknown facet": {"acme": facet_of(password=SECRET, nested={"token": SECRET, "url": URL})},
    "a list of names and values": {
        "acme": facet_of(
            params=[{"name": "db_password", "value": SECRET}], login={"key": "token", "value": {"a": SECRET}}
        )
    },
    "a name and its value in an open facet": {
        "spark_jobDetails": facet_of(jobGroup={"name": "token", "value": SECRET})
    },
    "a tag": {"tags": facet_of(tags=[{"key": "db_password", "value": SECRET, "source": "x"}])},
    "environment variables": {
        "environmentVariables": facet_of(environmentVariables=[{"name": "DB_PASSWORD", "value": SECRET}])
    },
    "Spark properties": {"spark_properties": facet_of(properties={"spark.password": SECRET, "spark.url": URL})},
    "Hive properties": {"hive_properties": facet_of(properties={"hive.token": SECRET})},
    "the conf of a DAG run": {"airflow": facet_of(dagRun={"run_id": "r", "conf": {"password": SECRET}})},
    "the conf of a DAG run's own run": {
        "airflowDagRun": facet_of(dagRun={"run_id": "r", "conf": {"password": SECRET}})
    },
    "runtime arguments": {"dataFusionRun": facet_of(runtimeArgs={"api_key": SECRET})},
    "an error": {"errorMessage": facet_of(message=URL, programmingLanguage="x", stackTrace=f"at {URL}")},
}


def written(facets, **settings):
    bridge = Bridge(Settings(**settings))
    found = bridge.translate([event("START", run_facets=facets), event("COMPLETE", run_facets=facets)], report=True)
    assert not found.rejected
    text = "\n".join(ndjson_line(one).decode() for one in found.proposals)
    return text, {line["path"]: line["reason"] for line in found.report.lines()}


@pytest.mark.parametrize("facets", KEPT_BY.values(), ids=list(KEPT_BY))
def test_off_hides_nothing_and_is_forgotten_with_its_call(facets):
    assert SECRET in written(facets, redaction="off")[0]
    assert SECRET not in written(facets)[0]
    assert SECRET in written(facets, redaction="off")[0]


@pytest.mark.parametrize("kind", ["a list of names and values", "a tag"])
def test_value_hidden_by_its_name_field_is_reported_as_secret(kind):
    _, reasons = written(KEPT_BY[kind])
    assert "secret" in {reason for path, reason in reasons.items() if path.endswith("[0].value")}
    _, reasons = written(KEPT_BY[kind], redaction="off")
    assert "secret" not in reasons.values()


CONFIGURATIONS = {
    "spark_properties": (facet_of(properties={"spark.master": "yarn-x", "spark.n": 17171}), ".properties"),
    "hive_properties": (facet_of(properties={"hive.queue": "yarn-x", "n": 17171}), ".properties"),
    "airflow": (facet_of(dagRun={"run_id": "r", "conf": {"day": "yarn-x", "n": 17171}}), ".dagRun.conf"),
    "airflowDagRun": (facet_of(dagRun={"run_id": "r", "conf": {"day": "yarn-x", "n": 17171}}), ".dagRun.conf"),
    "dataFusionRun": (facet_of(runtimeArgs={"day": "yarn-x", "n": 17171}), ".runtimeArgs"),
}


@pytest.mark.parametrize("key", CONFIGURATIONS)
def test_strict_mode_keeps_configuration_names_only(key):
    body, path = CONFIGURATIONS[key]
    text, reasons = written({key: body}, redaction="strict")
    assert "yarn-x" not in text
    assert "17171" not in text
    plain, _ = written({key: body})
    assert "yarn-x" in plain
    assert "17171" in plain
    noted = [where for where, reason in reasons.items() if reason == "policy:redaction"]
    assert len(noted) == 2
    assert all(where.startswith(f"$.run.facets.{key}{path}") for where in noted)
    name = "spark.n" if key == "spark_properties" else "n"
    assert f'{name}\\\\\\"' in text or f'\\"{name}\\"' in text


def test_strict_mode_leaves_empty_values_unmasked():
    assert mask_values({"a": "x", "b": "", "c": None, "d": {}, "e": [1], "f": 0}) == {
        "a": REDACTED, "b": "", "c": None, "d": {}, "e": REDACTED, "f": REDACTED,
    }  # fmt: skip


def test_strict_hides_secrets_too():
    assert SECRET not in written(KEPT_BY["an unknown facet"], redaction="strict")[0]
    assert "run-x" in written({"acme": facet_of(kind="run-x")}, redaction="strict")[0]


@pytest.mark.parametrize(("setting", "reason"), [("default", "secret"), ("off", None), ("strict", "secret")])
def test_hidden_values_are_reported_by_the_redaction_mode(setting, reason):
    stated = {"acme": facet_of(password=SECRET, list=[{"token": SECRET}, URL], word=JWT)}
    _, reasons = written(stated, redaction=setting)
    path = "$.run.facets.acme"
    assert {reasons[f"{path}.password"], reasons[f"{path}.list[0].token"], reasons[f"{path}.word"]} == {reason}
    assert reasons[f"{path}.list[1]"] is None, "of a URL only the password is gone"
