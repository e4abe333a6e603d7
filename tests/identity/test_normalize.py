from __future__ import annotations

from urllib.parse import quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dh_bridge.datahub.urns import encode_part
from dh_bridge.identity.normalize import NameNormalizer, clean, cut_component, url_length
from dh_bridge.settings.identity import IdentitySettings


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("orders", "orders"),
        ("  nightly  ", "nightly"),
        ("a\n\tb", "a b"),
        ("a\x00\x7fb", "a b"),
        ("é\u2028\u2029\u241f\x85b", "é b"),
        ("\u00a0ü\u00a0", "ü"),
        ("bug🕷", "bug🕷"),
        ("a\ud800b", "a\ufffdb"),
        ("\n", "unknown"),
        ("\u241f", "unknown"),
        ("", "unknown"),
    ],
)
def test_name_is_one_line_without_outer_blanks(text, cleaned):
    assert clean(text, "unknown") == cleaned


@settings(deadline=None)
@given(st.text())
def test_cleaning_twice_changes_nothing(text):
    once = clean(text, "unknown")
    assert clean(once, "unknown") == once
    assert once


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_length_is_that_of_javas_url_encoder(text):
    assert url_length(text) == len(quote_plus(text, safe="*").replace("~", "%7E"))


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(40, 300))
def test_cut_name_fits_and_a_fitting_name_stays(text, room):
    short = cut_component(text, room)
    assert url_length(encode_part(short)) <= room
    assert (short == text) == (url_length(encode_part(text)) <= room)


def test_truncated_name_is_the_longest_prefix_plus_a_hash():
    short = cut_component("a" * 100, 40)
    assert short == "a" * 22 + "--2816597888e4a0d3"
    assert cut_component("a" * 99 + "b", 40)[:24] == short[:24]
    assert cut_component("a" * 99 + "b", 40) != short


def test_namespace_of_a_group_becomes_the_canonical_one():
    groups = {"airflow-prod": ["http://airflow:8081", " x "]}
    words = NameNormalizer(IdentitySettings(namespaces=groups))
    assert [words.namespace(text) for text in ("http://airflow:8081", "x", "airflow-prod", "http://airflow")] == [
        "airflow-prod",
        "airflow-prod",
        "airflow-prod",
        "http://airflow",
    ]


def test_no_namespace_is_the_default_one():
    assert NameNormalizer(IdentitySettings()).namespace(" ") == "default"


def test_case_is_kept_unless_lowercase_is_set():
    retained = NameNormalizer(IdentitySettings())
    assert (retained.namespace("NS"), retained.name("Job")) == ("NS", "Job")
    lower = NameNormalizer(IdentitySettings(lowercase=["namespace", "name"]))
    assert (lower.namespace("NS"), lower.name("Job")) == ("ns", "job")


def test_groups_are_compared_in_the_configured_case():
    groups = {"Airflow-Prod": ["HTTP://Airflow"]}
    words = NameNormalizer(IdentitySettings(namespaces=groups, lowercase=["namespace"]))
    assert {words.namespace(text) for text in ("http://airflow", "HTTP://AIRFLOW", "AIRFLOW-prod")} == {"Airflow-Prod"}


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("trino://ann:pw@host:8080", "trino://host:8080"),
        ("trino://:pw@host", "trino://host"),
        ("trino://ann:p@ss:w@host", "trino://host"),
        ("abfss://container@account.dfs.core.windows.net", "abfss://container@account.dfs.core.windows.net"),
        ("ann:pw@host", "ann:pw@host"),
    ],
)
def test_no_login_of_a_url_gets_into_an_urn(stated, written):
    words = NameNormalizer(IdentitySettings())
    assert words.namespace(stated) == written
    assert words.name(f"copy {stated} to s3://lake/a") == f"copy {written} to s3://lake/a"


def test_group_may_name_an_address_with_its_login():
    words = NameNormalizer(IdentitySettings(namespaces={"prod": ["trino://ann:pw@host"]}))
    assert [words.namespace(text) for text in ("trino://ann:other@host", "trino://host")] == ["prod", "prod"]
