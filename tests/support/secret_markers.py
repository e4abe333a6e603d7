"""Secrets of every shape, each with a marker of its own, and the places of events that they are planted in."""

from __future__ import annotations

import random
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from support.secret_kinds import LETTERS, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIME = "2026-01-15T10:00:00Z"

#: {} is the secret.
URLS = [
    "postgres://ann:{}@db:5432/shop", "mysql://:{}@db", "redis://default:{}@cache:6379/0", "mongodb+srv://ann:{}@c0.example.net/x",
    "amqp://ann:{}@mq/vhost", "https://ann:{}@example.com/x.git", "https://x-access-token:{}@github.com/acme/dbt.git",
    "jdbc:postgresql://db:5432/shop?user=ann&password={}", "jdbc:sqlserver://h:1433;user=sa;password={};encrypt=true",
    "jdbc:oracle:thin:ann/{}@h:1521/x", "jdbc:db2://h:50000/DB:user=a;password={};", "jdbc:teradata://h/USER=a,PASSWORD={},X=1",
    "jdbc:mysql://ann:{}@h/db?useSSL=true", "postgres%3A%2F%2Fann%3A{}%40db%3A5432%2Fshop", "snowflake://ann:{}@acme/db/s?warehouse=w",
    "https://acct.blob.core.windows.net/c?sv=2024&sig={}", "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&x=1",
    "https://h/p?access_token={}", "https://h/p?user=ann&api_key={}&x=1", "mssql+pyodbc:///?odbc_connect=PWD%3D{}",
]  # fmt: skip
WORDS = [
    "password={}", "password: {}", "Password={};Server=h", "PASSWORD='{}'", '{{"password": "{}"}}', "{{'client_secret': '{}'}}",
    "aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", "X-Api-Key: {}", "x-auth-token: {}", "AccountName=a;AccountKey={};x=y",
    "SharedAccessKey={}", "Authorization: Bearer {}", "Authorization: Basic {}", "curl -H 'Authorization: token {}' https://h",
    "Bearer {}", "load --db-password {} --rows 5", "load --api-key={}", "java -Dssl.trustStorePassword={} -Da=b", "export DB_PW={}",
    "FERNET_KEY={}", "api_key: {}", "client_secret => '{}'", "connect(host='h', passwd='{}')", "dsn: host=h password={} dbname=x",
    "Cookie: session={}; theme=dark", '{{\\"token\\": \\"{}\\"}}', "signing_key={}", "ssh_key: {}", "Secret Access Key: {}",
]  # fmt: skip
BLOCKS = [
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\n{}",
    "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
    "-----BEGIN PGP MESSAGE-----\n{}\n-----END PGP MESSAGE-----", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{}.c2lnbmF0dXJl",
]  # fmt: skip
STATEMENTS = [
    "ALTER ROLE u PASSWORD '{}'", "ALTER ROLE u PASSWORD $$x{}x$$", "ALTER ROLE u PASSWORD $tag${}$tag$", "CREATE USER u IDENTIFIED BY '{}'",
    "CREATE USER u IDENTIFIED BY {}", "CREATE USER u IDENTIFIED WITH plaintext_password BY '{}'", "ALTER LOGIN u WITH PASSWORD = N'{}'",
    "SET x.password = {}", "SET x.password = '{}'", "SET spark.hadoop.fs.s3a.secret.key={}; SELECT 1", "SET SESSION my.token = {}",
    "CREATE SECRET s (TYPE S3, KEY_ID 'A', SECRET '{}')", "COPY t FROM 's3://b' CREDENTIALS 'aws_access_key_id=A;aws_secret_access_key={}'",
    "COPY INTO t CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY = '{}')", "CREATE TABLE x USING jdbc OPTIONS ('password' = '{}')",
    "CREATE TABLE x WITH ('connector' = 'jdbc', 'password' = '{}')", "SELECT * FROM dblink('host=h password={}', 'select 1')",
    "SELECT pgp_sym_decrypt(c, '{}') FROM t", "SELECT aes_encrypt(c, '{}') FROM t", "SELECT * FROM mysql('h:3306', 'd', 't', 'u', '{}')",
    "SELECT * FROM s3('https://b/x.csv', 'AKID', '{}', 'CSV')", "SELECT * FROM postgresql('h:5432', 'd', 't', 'u', '{}')",
    "CREATE USER MAPPING FOR u SERVER s OPTIONS (user 'a', password '{}')", "-- password: {}\nSELECT 1", "/* token={} */ SELECT 1",
    "SELECT 1 -- postgres://ann:{}@db/x", "CREATE LINK l CONNECT TO u IDENTIFIED BY \"{}\" USING 'x'", "ATTACH 'host=h user=u password={}' AS p",
    "SELECT * FROM OPENROWSET('SQLNCLI', 'Server=s;UID=u;PWD={};', 'select 1')", "EXEC sp_addlogin 'ann', '{}'",
    "CREATE USER u PASSWORD = '{}' DEFAULT_ROLE = r", "SELECT '{}' AS password_x, 1 FROM (SELECT password('{}'))",
]  # fmt: skip
KEYS = [
    "password", "db.password", "spark.ssl.keyStorePassword", "FERNET_KEY", "SLACK_WEBHOOK", "SLACK_WEBHOOK_URL", "encryption_key",
    "signing_key", "ssh_key", "jwt", "cookie", "DB_PW", "DB_PASS", "client_secret", "AUTH_TOKEN", "gcp.credentials", "api_key", "apiKey",
    "private_key", "Authorization", "http.auth", "blob.sas", "fs.azure.account.key.shop.dfs.core.windows.net", "X-Amz-Signature",
    "connectionString", "sasl.jaas.config", "fs.s3a.secret.key", "storage_account_key", "SharedAccessKey", "PGPASSWORD", "MYSQL_PWD",
    "AWS_SECRET_ACCESS_KEY", "aws_session_token", "GH_PAT", "master_key", "secret_id", "SECRET_KEY", "session_key", "license_key",
    "webhook_secret", "X-Api-Key", "refresh_token", "keystore.passphrase", "hmac_secret", "consumer_key", "OPENAI_API_KEY",
]  # fmt: skip

_numbers = random.Random(7)  # noqa: S311 - the same markers in each run


class Planted(NamedTuple):
    """A secret in an event: where, in which shape, and the marker that is not to come out."""

    place: str
    shape: str
    marker: str
    event: dict[str, Any]


def marker() -> str:
    """Return letters and digits that nothing else has: a password as generators make it."""
    return (
        "".join(_numbers.choices(LETTERS, k=17))
        + _numbers.choice("23456789")
        + _numbers.choice("abc")
        + _numbers.choice("XYZ")
    )


def texts() -> list[tuple[str, str, str]]:
    """Return (shape, text, marker) of what may stand in any text."""
    found = []
    for shape in [*URLS, *WORDS, *BLOCKS]:
        secret = marker()
        found.append((shape, shape.replace("{{", "{").replace("}}", "}").replace("{}", secret), secret))
    found += [(f"token of {issuer}", f"{token}", secret) for issuer, token, secret in tokens(_numbers)]
    return found


def statements() -> list[tuple[str, str, str]]:
    """Return (shape, statement, marker)."""
    found = []
    for shape in STATEMENTS[:-1]:
        secret = marker()
        found.append((shape, shape.replace("{}", secret), secret))
    return found


_runs = count(1)


def event(**parts: Any) -> dict[str, Any]:
    """Return a COMPLETE event of a run of its own."""
    number = next(_runs)
    run = {"runId": f"00000000-0000-4000-8000-{number:012d}", "facets": parts.get("run", {})}
    job = {
        "namespace": parts.get("job_namespace", "spark-prod"), "name": parts.get("job_name", f"load_{number}"),
        "facets": parts.get("job", {}),
    }  # fmt: skip
    return {
        "eventType": parts.get("type", "COMPLETE"), "eventTime": TIME, "producer": parts.get("producer", "https://example.com/p"),
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent", "run": run, "job": job,
        "inputs": parts.get("inputs", []), "outputs": parts.get("outputs", []),
    }  # fmt: skip


def dataset(
    namespace: str = "postgres://db:5432", name: str = "", bag: str = "facets", **facets: Any
) -> dict[str, Any]:
    """Return a dataset."""
    return {"namespace": namespace, "name": name or f"shop.public.t{next(_runs)}", bag: facets}


def facet(**leaves: Any) -> dict[str, Any]:
    """Return a facet."""
    return {"_producer": "https://example.com/p", "_schemaURL": "https://example.com/s", **leaves}


def check(**leaves: Any) -> dict[str, Any]:
    """Return the assertions of an input, of one check."""
    return facet(assertions=[{"assertion": "not_null", "success": True, "column": "id", **leaves}])


Maker = "Callable[[str], dict[str, Any]]"
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "job description": lambda text: event(job={"documentation": facet(description=text)}),
    "dataset description": lambda text: event(outputs=[dataset(documentation=facet(description=text))]),
    "column description": lambda text: event(outputs=[dataset(schema=facet(fields=[{"name": "a", "type": "int", "description": text}]))]),
    "nested column description": lambda text: event(
        outputs=[dataset(schema=facet(fields=[{"name": "a", "type": "struct", "fields": [{"name": "b", "type": "int", "description": text}]}]))]
    ),
    "column name": lambda text: event(outputs=[dataset(schema=facet(fields=[{"name": text, "type": "int"}]))]),
    "column type": lambda text: event(outputs=[dataset(schema=facet(fields=[{"name": "a", "type": text}]))]),
    "member of a column": lambda text: event(outputs=[dataset(schema=facet(fields=[{"name": "a", "type": "int", "note": text}], note=text))]),
    "column of the lineage": lambda text: event(
        inputs=[dataset(name="shop.public.source")],
        outputs=[dataset(columnLineage=facet(note=text, fields={text: {"inputFields": [{"namespace": "postgres://db:5432", "name": "shop.public.source", "field": text}]}}))],
    ),
    "dataset of the lineage": lambda text: event(
        outputs=[dataset(columnLineage=facet(fields={"a": {"inputFields": [{"namespace": "postgres://db:5432", "name": f"shop.{text}", "field": "b"}]}}))],
    ),
    "lineage description": lambda text: event(
        inputs=[dataset(name="shop.public.source")],
        outputs=[dataset(columnLineage=facet(fields={"a": {"inputFields": [{"namespace": "postgres://db:5432", "name": "shop.public.source", "field": "b", "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": text}]}]}}))],
    ),
    "assertion name": lambda text: event(inputs=[dataset(bag="inputFacets", dataQualityAssertions=check(name=text))]),
    "assertion description": lambda text: event(inputs=[dataset(bag="inputFacets", dataQualityAssertions=check(description=text))]),
    "assertion expected": lambda text: event(inputs=[dataset(bag="inputFacets", dataQualityAssertions=check(expected=text, actual=text))]),
    "dataset name": lambda text: event(outputs=[dataset(name=f"shop.{text}")]),
    "dataset namespace": lambda text: event(outputs=[dataset(namespace=text)]),
    "job name": lambda text: event(job_name=f"load {text}"),
    "job namespace": lambda text: event(job_namespace=text),
    "source location": lambda text: event(job={"sourceCodeLocation": facet(type="git", url=text, repoUrl=text, path=text, branch=text)}),
    "source code": lambda text: event(job={"sourceCode": facet(language="python", sourceCode=text)}),
    "error message": lambda text: event(type="FAIL", run={"errorMessage": facet(message=text, programmingLanguage="java", stackTrace=f"at x\n{text}")}),
    "extraction error": lambda text: event(run={"extractionError": facet(totalTasks=1, failedTasks=1, errors=[{"errorMessage": text, "stackTrace": text, "task": text, "taskNumber": 1}])}),
    "Spark value": lambda text: event(run={"spark_properties": facet(properties={"spark.x": text})}),
    "unknown facet": lambda text: event(run={"acme": facet(stated=text, list=[text], deep={"a": [{"b": text}]})}, job={"acme": facet(stated=text)}),
    "environment variable": lambda text: event(run={"environmentVariables": facet(environmentVariables=[{"name": "X", "value": text}])}),
    "tag": lambda text: event(job={"tags": facet(tags=[{"key": "note", "value": text, "source": "x"}])}),
    "owner": lambda text: event(job={"ownership": facet(owners=[{"name": text, "type": "OWNER"}])}),
    "symlink": lambda text: event(outputs=[dataset(symlinks=facet(identifiers=[{"namespace": text, "name": "a.b", "type": "TABLE"}]))]),
    "data source": lambda text: event(outputs=[dataset(dataSource=facet(name=text, uri=text))]),
    "parent": lambda text: event(run={"parent": facet(run={"runId": "00000000-0000-4000-9000-000000000001"}, job={"namespace": "n", "name": text})}),
    "producer": lambda text: event(producer=text),
    "partition": lambda text: event(inputs=[dataset(bag="inputFacets", subset=facet(inputCondition={"type": "partition", "partitions": [{"identifier": text, "dimensions": {"d": text}}]}))]),
    "Airflow": lambda text: event(run={"airflow": facet(dag={"dag_id": "d", "description": text}, dagRun={"run_id": "r", "conf": {"x": text}}, task={"task_id": "t", "args": {"a": text}}, taskInstance={}, taskUuid="u")}),
    "dbt": lambda text: event(run={"dbt_run": facet(invocation_id=text), "dbt_node": facet(unique_id=text)}),
    "external query": lambda text: event(run={"externalQuery": facet(externalQueryId=text, source=text)}),
}  # fmt: skip
SQL_PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "SQL": lambda text: event(job={"sql": facet(query=text, dialect="spark")}),
    "SQL in an error": lambda text: event(run={"hive_query": facet(query=text, queryId="q")}),
}
KEY_PLACES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "Spark key": lambda key, text: event(run={"spark_properties": facet(properties={key: text})}),
    "key of an unknown facet": lambda key, text: event(run={"acme": facet(**{key: text})}, job={"acme": facet(deep={key: [text]})}),
    "name of an environment variable": lambda key, text: event(run={"environmentVariables": facet(environmentVariables=[{"name": key, "value": text}])}),
    "key of a DAG run's conf": lambda key, text: event(run={"airflowDagRun": facet(dagRun={"run_id": "r", "conf": {key: text}})}),
    "name of a parameter": lambda key, text: event(run={"executionParameters": facet(parameters=[{"key": key, "name": key, "value": text}])}),
    "key of a tag": lambda key, text: event(job={"tags": facet(tags=[{"key": key, "value": text, "source": "x"}])}),
}  # fmt: skip


def planted() -> Iterator[Planted]:
    """Yield every shape in every place that takes it."""
    for place, made in PLACES.items():
        for shape, text, secret in texts():
            yield Planted(place, shape, secret, made(text))
    for place, made in SQL_PLACES.items():
        for shape, text, secret in statements():
            yield Planted(place, shape, secret, made(text))
    for place, made_of in KEY_PLACES.items():
        for key in KEYS:
            secret = marker()
            yield Planted(place, key, secret, made_of(key, secret))
