"""Thousands of secrets in texts: none of the clear ones survives, and texts without a secret stay as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.secret_kinds import groups, planted_texts

from dh_bridge.redaction import is_redacted, is_secret_name, redact, redact_json, redact_sql
from dh_bridge.redaction.statements import is_statement

PLANTED = list(planted_texts())
LEAST = 4_000
MOST_SURVIVORS = 0.05
HARMLESS = [
    line.replace("\\n", "\n")
    for line in (Path(__file__).parent / "harmless_texts.txt").read_text(encoding="utf-8").splitlines()
]


def survivors(group=None):
    return [one for one in PLANTED if group in (None, one.group) and one.marker in redact(one.text)]


def test_at_most_one_secret_of_twenty_survives():
    found = survivors()
    share = len(found) / len(PLANTED)
    assert len(PLANTED) > LEAST
    assert len({one.marker for one in PLANTED}) > LEAST - 400  # a token is planted in three texts
    assert share <= MOST_SURVIVORS, f"{len(found)} of {len(PLANTED)}: {dict(Counter(one.group for one in found))}"


@pytest.mark.parametrize("group", [name for name in [*groups(), "tokens"] if name != "debatable"])
def test_no_clear_secret_survives(group):
    assert [one.text for one in survivors(group)] == []


@pytest.mark.parametrize("group", [*groups(), "tokens"])
def test_masked_text_is_masked_once(group):
    texts = [redact(one.text) for one in PLANTED if one.group == group]
    assert [text for text in texts if redact(text) != text] == []


def test_secrets_of_statements_are_masked_in_leaves_of_sql_too():
    found = [one.text for one in PLANTED if one.group == "sql" and one.marker in redact_sql(one.text)]
    assert found == []


@pytest.mark.parametrize("text", HARMLESS)
def test_text_without_a_secret_stays(text):
    assert redact(text) == text
    if is_statement(text):
        assert redact_sql(text) == text


def test_corpus_of_harmless_texts_is_large():
    assert len(set(HARMLESS)) > 200


@pytest.mark.parametrize(
    ("document", "key"),
    [({"auth": "kerberos"}, "auth"), ({"http.auth": "oauth2"}, "http.auth"), ({"PWD": "/opt/airflow"}, "PWD")],
)
def test_mechanism_and_directory_are_kept_in_json(document, key):
    assert redact_json(document) == document
    assert not is_redacted(document[key], key)


@pytest.mark.parametrize("document", [{"auth": "hunter2x"}, {"PWD": "hunter2x"}, {"password": "kerberos"}])
def test_other_values_of_these_names_are_hidden_in_json(document):
    assert "[REDACTED]" in redact_json(document).values()


@pytest.mark.parametrize(
    "pair",
    [
        ("s3://lake/t/token=1/part-0", "s3://lake/t/token=2/part-0"),
        ("hdfs://nn/w/auth=ldap/day=1", "hdfs://nn/w/auth=saml/day=1"),
        ("shop.dim_token_a", "shop.dim_token_b"),
        ("arn:aws:secretsmanager:eu:1:secret:prod/db1-AbC1eF", "arn:aws:secretsmanager:eu:1:secret:prod/db2-AbC1eF"),
        ("hvs.customer_orders_2024_by_region", "hvs.customer_orders_2025_by_region"),
    ],
)
def test_two_datasets_keep_two_names(pair):
    assert redact(pair[0]) != redact(pair[1])


@pytest.mark.parametrize("name", ["basic.auth.user.info", "value.converter.basic.auth.user.info"])
def test_user_and_password_of_the_schema_registry_are_a_secret(name):
    assert is_secret_name(name)
    assert not is_secret_name("user.info")
    assert redact_json({name: "ann:x"}) == {name: "[REDACTED]"}


def test_text_with_too_many_secret_names_is_cut_with_a_reason():
    text = "password=x1y2z3w4 " * 50_000
    masked = redact(text)
    assert masked.endswith("[REDACTED: the rest of this text, which has more than 4,000 names of secrets]")
    assert "x1y2z3w4" not in masked
    assert redact(masked) == masked


def test_many_mentions_hide_nothing():
    text = "the token of the user, " * 20_000
    assert redact(text) == text
