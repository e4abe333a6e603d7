"""Whatever the sender writes, naming neither crashes nor makes a URN that DataHub refuses."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dh_bridge.datahub.urns import is_urn, parse_urn
from dh_bridge.naming import Naming
from dh_bridge.naming.patterns import tokenize
from dh_bridge.settings.naming import NamingRule, NamingSettings

PLAIN = Naming(NamingSettings())
RULES = Naming(
    NamingSettings(
        env="DEV",
        urn_to_lower=True,
        rules=(
            NamingRule(
                namespace="{*any}", platform_instance="inst", default_database="db", default_schema="s", path_depth=2
            ),
            NamingRule(namespace="x://{host}", platform="oracle", case="upper", database_map={"a": "b"}),
        ),
    )
)
SCHEMES = sorted(
    {row.pattern.partition(":")[0].partition("{")[0] for system in PLAIN.systems() for row in system.namespaces}
)
MARKS = st.sampled_from(
    [
        ".",
        "/",
        ":",
        "@",
        ",",
        ";",
        "?",
        "=",
        '"',
        "`",
        "[",
        "]",
        "\\",
        "$",
        "*",
        "(",
        ")",
        "\u241f",
        " ",
        "\n",
        "None",
        "null",
        "%2C",
        "ß",
        "注",
    ]
)
WORDS = st.one_of(
    MARKS,
    st.text(max_size=4),
    st.sampled_from(["table", "colls", "topic", "h", "5432", "AwsDataCatalog", "20240131", "dt=1"]),
)
NAMES = st.lists(WORDS, max_size=12).map("".join)
FILLED = st.sampled_from(
    [
        "".join(
            token if isinstance(token, str) else "x" if isinstance(token, tuple) else ""
            for token in tokenize(row.pattern, "")
        )
        for system in PLAIN.systems()
        for row in system.namespaces
    ]
)
NAMESPACES = st.one_of(
    st.tuples(st.sampled_from(SCHEMES), NAMES).map("".join), st.tuples(FILLED, NAMES).map("".join), NAMES, FILLED
)
SELECTS = st.sampled_from([None, "iceberg", "delta"])


@pytest.mark.parametrize("naming", [PLAIN, RULES], ids=["plain", "rules"])
@given(namespace=NAMESPACES, name=NAMES, select=SELECTS)
@example(namespace="", name="", select=None)
@example(namespace=" ", name="\t", select=None)
@example(namespace="postgres://h", name="...", select=None)
@example(namespace="s3://", name="/", select="delta")
@example(namespace="x", name="\u241f,()", select=None)
@settings(max_examples=400, deadline=None)
def test_any_text_has_a_valid_urn_or_a_reason(naming, namespace, name, select):
    named = naming(namespace, name, select=select)
    assert (named.urn is None) == (named.endpoint is None) == (named.skip is not None)
    assert (named.namespace, named.name) == (namespace, name)
    assert all(is_urn(urn) for urn in named.containers)
    if named.urn is not None and named.endpoint is not None:
        assert is_urn(named.urn)
        assert is_urn(named.endpoint)
        assert named.endpoint.startswith("urn:li:dataset:")
    assert named.spell_column(name) is not None
    assert naming(namespace, name, select=select) == named


@given(
    text=st.one_of(
        NAMES, NAMES.map("urn:li:dataset:(urn:li:dataPlatform:s3,{},PROD)".format), NAMES.map("postgresql:{}".format)
    )
)
@settings(max_examples=300, deadline=None)
def test_reverse_never_crashes_and_never_guesses(text):
    for pair in PLAIN.reverse(text):
        named = PLAIN(*pair)
        assert text in (named.endpoint, named.fqn)


@given(path=st.text(st.characters(codec="utf-8", exclude_characters="="), min_size=600, max_size=700))
@settings(max_examples=40, deadline=None)
def test_long_names_are_cut_and_stay_distinct(path):
    first = PLAIN("kafka://b", path + "a")
    second = PLAIN("kafka://b", path + "b")
    assert "name-cut" in first.notes
    assert is_urn(first.urn or "")
    assert first.urn != second.urn


def test_cut_name_is_the_longest_prefix_with_a_digest():
    name = "a" * 600
    named = PLAIN("kafka://b", name)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    retained, mark, tail = named.dataset_name.partition("--")
    assert (mark, tail) == ("--", digest)
    assert name.startswith(retained)
    assert named.urn is not None
    assert parse_urn(named.urn)[1][1] == named.dataset_name
    assert not is_urn(named.urn.replace("--", "a--"))


def test_digest_of_a_long_name_covers_the_instance():
    naming = Naming(NamingSettings(rules=(NamingRule(namespace="kafka://{*any}", platform_instance="eu"),)))
    named = naming("kafka://b", "a" * 600)
    assert named.dataset_name.endswith("--" + hashlib.sha256(b"eu." + b"a" * 600).hexdigest()[:16])
    assert is_urn(named.urn or "")


@pytest.mark.parametrize("name", ["", " ", "\n", ".", "None", "null.None", '""'])
def test_name_without_any_part_is_withheld_as_malformed(name):
    assert PLAIN("postgres://h", name).skip == "malformed"
    assert PLAIN("", "").skip == "malformed"


def test_half_a_surrogate_pair_does_not_reach_the_urn():
    assert is_urn(PLAIN("kafka://b", "a\ud800").urn or "")
