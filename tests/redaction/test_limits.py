"""Texts with more names, literals or commands than are looked at one by one: what is not looked at is hidden."""

# ruff: noqa: S608 - texts, which no database runs
from __future__ import annotations

import time

import pytest

from dh_bridge.redaction import redact, redact_sql
from dh_bridge.redaction.arguments import mask_inserted_values

SECRET = "hunter2x"  # noqa: S105 - the secret of these tests
ROW = "('a'), "
MANY_LITERALS = f"INSERT INTO t (a) VALUES {ROW * 20_000}; "


@pytest.mark.parametrize("function", [redact, redact_sql])
@pytest.mark.parametrize(
    "statement",
    [
        f"ALTER USER ann PASSWORD '{SECRET}'",
        f"ALTER USER ann PASSWORD $${SECRET}$$",
        f"ALTER USER ann PASSWORD $q${SECRET}$q$",
        f"ALTER USER ann PASSWORD $q${SECRET}",
        f"ALTER USER ann PASSWORD '{SECRET}",
        f'CREATE USER ann IDENTIFIED BY "{SECRET}"',
        f"CREATE USER ann IDENTIFIED BY {SECRET}",
        f"-- password {SECRET}\nSELECT 1",
        f"/* connect ann/{SECRET}@dw */ SELECT 1",
        f"EXECUTE IMMEDIATE 'ALTER USER ann PASSWORD ''{SECRET}'''",
    ],
)
def test_secret_behind_many_literals_is_hidden(statement, function):
    masked_text = function(MANY_LITERALS + statement)
    assert SECRET not in masked_text
    assert function(masked_text) == masked_text


def test_literals_of_short_statements_stay():
    text = f"INSERT INTO t (token_id) VALUES {ROW * 5_000}"
    assert redact(text) == text


@pytest.mark.parametrize("depth", range(6))
def test_secret_in_statements_in_statements_is_hidden(depth):
    statement = f"ALTER USER ann PASSWORD '{SECRET}'"
    for _ in range(depth):
        statement = "EXECUTE IMMEDIATE '{}'".format(statement.replace("'", "''"))
    assert SECRET not in redact(statement)
    assert SECRET not in redact_sql(statement)


@pytest.mark.parametrize(
    "text",
    [
        f"{'curl x; ' * 5_000}curl -u ann:{SECRET} https://h",
        f"mysql {'a ' * 2_000}-p{SECRET}",
        f"{'password ' * 30_000}<password>{SECRET}</password>",
        f"{'password ' * 30_000}\nENV DB_PASSWORD {SECRET}",
        "SELECT 1 WHERE api_key IN ({}, '{}')".format(", ".join(f"'k{number:05}x'" for number in range(5_000)), SECRET),
        f"SELECT aes_encrypt(c{'(' * 2_000}{')' * 2_000}, '{SECRET}') password",
        f"INSERT INTO t ({', '.join(f'column_{number}' for number in range(900))}, password) VALUES ({'1, ' * 900}'{SECRET}')",
    ],
    ids=["commands", "arguments", "mentions", "directives", "list", "brackets", "columns"],
)
def test_secret_behind_a_limit_is_hidden(text):
    masked_text = redact(text)
    assert SECRET not in masked_text
    assert redact(masked_text) == masked_text


def test_rows_of_a_later_statement_are_read_by_its_own_columns():
    text = f"INSERT INTO a (token, b) VALUES ('{SECRET}', 'b') INSERT INTO c (d, password) VALUES ('d', '{SECRET}')"
    assert mask_inserted_values(text) == text.replace(SECRET, "***")
    inner = f"INSERT INTO a (b, password) VALUES ('insert into c (d) values', '{SECRET}')"
    assert mask_inserted_values(inner) == inner.replace(SECRET, "***")


def test_statements_without_a_value_are_read_once():
    text = "insert into t (password) values ('') " * 5_000
    begun = time.process_time()
    mask_inserted_values(text)
    assert time.process_time() - begun < 2
