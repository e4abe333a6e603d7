"""mappings/producers/: every row proves itself."""

from __future__ import annotations

import hashlib
import json

import jsonschema
import pytest
import yaml

from dh_bridge.bundled import MAPPINGS
from dh_bridge.errors import MappingError
from dh_bridge.identity import Identity
from dh_bridge.identity.producers import (
    ProducerFamilies,
    ProducerMapping,
    load_producer_mappings,
    uri_matcher,
)

FILES = sorted((MAPPINGS / "producers").glob("*.yaml"))
SCHEMA = json.loads((MAPPINGS / "schema" / "producers.schema.json").read_text(encoding="utf-8"))
EXAMPLES = [(path.stem, example) for path in FILES for example in yaml.safe_load(path.read_text("utf-8"))["examples"]]
# sha256, shortened, of how each producer names its jobs: a change moves entities. A new producer moves none.
NAMES = {
    "airflow": "fbf9240a0d31", "bigquery": "593daf107fd4", "clickhouse": "03179c7674df", "dagster": "799148674ab7",
    "databricks": "f13c34e18e43", "dbt": "3f09064fa5f7", "debezium": "4df94889b000", "dlt": "ddc713c23969",
    "druid": "e9e8af411c38", "feast": "eb5f0516591e", "fivetran": "dbf686b88d62", "flink": "086d50552993",
    "glue": "c401a08594f3", "great_expectations": "62d22e50b518", "hive": "103bd109f968", "kafka_connect": "a5564c148cc5",
    "mssql": "5766f349c848", "mysql": "017982052b76", "nifi": "ee4c368d8e79", "oracle": "4f6ae620cfa4",
    "postgres": "119532eaa339", "prefect": "79acc4e7f377", "presto": "42e995764dac", "redshift": "90a0227fb86b",
    "snowflake": "5d4bf1640828", "spark": "ed65dea084e2", "sqlmesh": "6d71bf7daed5", "teradata": "d1fc1b555b05",
    "trino": "1f2da28ef454",
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_row_keeps_to_its_schema_and_ends_with_examples(path):
    row = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(row)
    assert list(row)[-1] == "examples"


def test_schema_is_one_and_knows_the_keys_that_the_loader_knows():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(ProducerMapping.__struct_fields__)


@pytest.mark.parametrize(
    ("stem", "example"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_producer_examples_match_their_rows(stem, example):
    row = yaml.safe_load((MAPPINGS / "producers" / f"{stem}.yaml").read_text(encoding="utf-8"))
    job = Identity().job(example["namespace"], example["name"], example.get("producer"))
    assert (job.platform, job.flow_id, job.job_id) == (row["platform"], example["flow"], example["job"])
    if "display" in example:
        assert job.job_name == example["display"]


def test_no_producer_of_an_example_is_claimed_by_two_rows():
    found = list(load_producer_mappings())
    for _, example in EXAMPLES:
        uri = example.get("producer")
        if uri:
            assert len([stem for stem, row in found if ProducerFamilies([(stem, row)]).by_uri(uri)]) <= 1, uri


def test_no_scheme_and_no_name_forms_are_claimed_by_two_rows():
    found = list(load_producer_mappings())
    schemes = [scheme for _, row in found for scheme in row.schemes]
    shaped = [row.platform for _, row in found if row.names or row.otherwise == "whole"]
    assert len(schemes) == len(set(schemes))
    assert len(shaped) == len(set(shaped))


def test_names_of_producers_are_frozen():
    hashes = {}
    for stem, row in load_producer_mappings():
        names = [[name.pattern, name.flow, name.job] for name in row.names]
        stated = [row.platform, row.producers, row.schemes, names, row.otherwise]
        hashes[stem] = hashlib.sha256(json.dumps(stated).encode()).hexdigest()[:12]
    assert {stem: hashes.get(stem) for stem in NAMES} == NAMES


@pytest.mark.parametrize(
    ("uri", "platform"),
    [
        ("https://github.com/apache/airflow/tree/providers-openlineage/2.20.3", "airflow"),
        ("https://github.com/apache/airflow", "airflow"),
        ("HTTPS://GitHub.com/Apache/Airflow/", "airflow"),
        ("  https://github.com/apache/airflow  ", "airflow"),
        ("https://github.com/OpenLineage/OpenLineage/blob/v1-0-0/integration/spark", "spark"),
        ("https://github.com/OpenLineage/OpenLineage/tree/feature/x/integration/flink/flink2", "flink"),
        ("https://github.com/OpenLineage/openlineage/integration/prefect", "prefect"),
        ("https://github.com/sidequery/dlt-openlineage", "dlt"),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python", None),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/java", None),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/unknown", None),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/sparkling", None),
        ("https://github.com/apache/airflow-client-python", None),
        ("see https://github.com/apache/airflow", None),
        ("https://githubXcom/apache/airflow", None),
        ("openlineage-confluent/0.1.0", None),
        ("", None),
    ],
)
def test_producer_is_matched_by_full_uri_without_its_version(uri, platform):
    family = Identity().producer(uri)
    assert (family.platform if family else None) == platform


def test_no_producer_is_no_family():
    assert Identity().producer(None) is None


def test_family_is_looked_up_once():
    identity = Identity()
    uri = "https://github.com/apache/airflow"
    assert identity.producer(uri) is identity.producer(uri)


def test_single_event_producers_are_marked():
    singles = [stem for stem, row in load_producer_mappings() if row.single_event]
    assert singles == ["druid", "great_expectations"]


def test_producers_have_assertion_labels():
    labels = {stem: row.assertion_label for stem, row in load_producer_mappings() if row.assertion_label}
    assert labels == {
        "airflow": "Airflow SQL Check",
        "dbt": "dbt Test",
        "great_expectations": "Great Expectations",
    }


MINE = """
producer: Acme ETL
platform: acme
producers: ["acme:{*version}"]
schemes: [acme, airflow]
names: [{pattern: "(?P<job>[a-z]+)@(?P<flow>[a-z]+)"}]
examples: [{namespace: acme://x, name: a@b, flow: b, job: a}]
"""


def overlay(tmp_path, text, stem="zz_acme"):
    folder = tmp_path / "producers"
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_users_row_adds_a_producer_and_wins_over_ours(tmp_path):
    mine = Identity(overlay=overlay(tmp_path, MINE))
    job = mine.job("n", "load@shop", "acme:7")
    assert (job.platform, job.flow_id, job.job_id, job.job_name) == ("acme", "shop", "load", "load")
    assert mine.job("airflow://x", "dag", None).platform == "acme"
    assert mine.job("n", "dag", "https://github.com/apache/airflow").platform == "airflow"


def test_users_file_shadows_ours_of_its_name(tmp_path):
    mine = Identity(overlay=overlay(tmp_path, MINE, stem="airflow"))
    assert mine.producer("https://github.com/apache/airflow") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (MINE.replace("platform: acme", "platfrom: acme"), "platfrom"),
        (MINE.replace("examples:", "# "), "examples"),
        (MINE.replace("(?P<job>", "(?P<task>"), "task"),
        (MINE.replace("[a-z]+)@", "[a-z]+@"), "unterminated"),
        (MINE.replace("{*version}", "{*version"), "brace"),
        (MINE.replace("{*version}", "[x"), "acme"),
    ],
)
def test_broken_row_is_refused_at_the_start_with_its_file(tmp_path, text, what):
    with pytest.raises(MappingError) as caught:
        Identity(overlay=overlay(tmp_path, text))
    assert what in caught.value.problem
    assert "zz_acme.yaml" in caught.value.location
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("pattern", "uri", "fits"),
    [
        ("a/{part}/c", "a/b/c", True),
        ("a/{part}/c", "a/b/b/c", False),
        ("a/{*rest}/c", "a/b/b/c", True),
        ("a[/b]", "a", True),
        ("a[/{*x}]", "a/1/2", True),
        ("a.c", "abc", False),
        ("a+c", "A+C", True),
    ],
)
def test_four_signs_of_a_pattern(pattern, uri, fits):
    assert bool(uri_matcher(pattern, "here")(uri)) is fits
