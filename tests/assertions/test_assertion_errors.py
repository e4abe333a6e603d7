"""Messages of checks that could not be evaluated: every row of the table by its examples."""

from __future__ import annotations

import json

import pytest
from support.value_tables import TABLES, document

from dh_bridge.assertions import Check, ErrorTable, assertion_result, batch_spec
from dh_bridge.bundled import AVRO_SCHEMAS
from dh_bridge.datahub import schemas
from dh_bridge.datahub.profiles import profile
from dh_bridge.errors import MappingError

TABLE, ERRORS = document("assertion_errors"), TABLES.assertion_errors
EXAMPLES = [(example, row["type"]) for row in TABLE["errors"] for example in row["examples"]]


@pytest.mark.parametrize(("message", "kind"), EXAMPLES)
def test_example_has_the_type_of_its_row(message, kind):
    assert ERRORS(message) == kind
    assert ERRORS(message.upper()) == kind


@pytest.mark.parametrize("version", ["0.15.0", "1.7"])
def test_error_types_of_datahub_are_all_in_the_table(version):
    file = schemas.load_index(version).aspects["assertionRunEvent"]
    text = json.loads((AVRO_SCHEMAS / file).read_text(encoding="utf-8"))
    known = next(
        kind["symbols"]
        for name, kind in schemas.named_types(text).items()
        if name.endswith(".AssertionResultErrorType")
    )
    assert {row["type"] for row in TABLE["errors"]} | {TABLE["otherwise"]} == set(known)


def test_error_table_has_no_duplicate_phrases():
    words = [word.lower() for row in TABLE["errors"] for word in row["words"]]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("message", ["", "who knows", "the connectionerrors of others", "x" * 100_000])
def test_any_other_message_is_an_unknown_error(message):
    assert ERRORS(message) == "UNKNOWN_ERROR"


def test_message_is_kept_without_its_secrets():
    found = ERRORS.build_error("could not connect to postgres://ann:s3cret@db/shop " + "x" * 9000)
    assert found["type"] == "SOURCE_CONNECTION_ERROR"
    message = found["properties"]["message"]
    assert "s3cret" not in message
    assert len(message) == 4000


def test_table_that_is_none_is_refused():
    with pytest.raises(MappingError, match="errors"):
        ErrorTable({"otherwise": "UNKNOWN_ERROR"}, "mine.yaml")


@pytest.mark.parametrize("key", ["error_message", "exception_message"])
def test_dbt_test_error_has_the_type_of_its_message(key):
    message = 'Database Error: relation "orders" does not exist'
    check = Check("not_null", success=False, severity="error", params={key: message})
    result = assertion_result(check, profile=profile("0.15.0"), platform="dbt", table=TABLES.assertions, errors=ERRORS)
    assert result["type"] == "ERROR"
    assert result["error"] == {"type": "SOURCE_QUERY_FAILED", "properties": {"message": message}}


@pytest.mark.parametrize(
    ("batch", "limit"),
    [
        ({"limit": 10}, 10),
        ({"reader_options": {"nrows": 7}}, 7),
        ({"limit": 0}, None),
        ({"limit": True}, None),
        ({"n": 2**31}, None),
    ],
)
def test_limit_of_a_batch_is_kept(batch, limit):
    found = batch_spec({"batch_kwargs": batch})
    assert (found or {}).get("limit") == limit
