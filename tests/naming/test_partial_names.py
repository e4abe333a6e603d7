"""Names fall into parts, patterns and templates do what their signs say, FQNs are quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.errors import MappingError
from dh_bridge.naming import Naming
from dh_bridge.naming.fqn import MAX_LENGTH, FqnTemplate, quote_segment, unquote_segment
from dh_bridge.naming.names import DottedPattern, QuotedPart, is_dotted, split_name, strip_backticks
from dh_bridge.naming.normalize import strip_bigquery_decorator, strip_bigquery_shard, strip_partitions
from dh_bridge.naming.patterns import NameTemplate, NamingPattern, tokenize
from dh_bridge.settings.naming import NamingSettings

SPLITS = [
    ("a.b.c", ["a", "b", "c"]),
    ('a."b.c".d', ["a", "b.c", "d"]),
    ("`a.b`.c", ["a.b", "c"]),
    ("[a b].[c]", ["a b", "c"]),
    ('"qu""ote"', ['qu"ote']),
    ("`ba``ck`.x", ["ba`ck", "x"]),
    ("[a]]b]", ["a]b"]),
    ('a.qu"ote', ["a", 'qu"ote']),
    ('"open.b', ['"open', "b"]),
    ('"a"x.b', ['"a"x', "b"]),
    ("a.[0].b", ["a", "0", "b"]),
    (".b", [None, "b"]),
    ("None.null.NULL.x", [None, None, None, "x"]),
    ('"None".x', ["None", "x"]),
    ('"".x', [None, "x"]),
    ('"a".', ["a", None]),
    ("a..b", ["a", None, "b"]),
    ("", [None]),
]


@pytest.mark.parametrize(("name", "parts"), SPLITS)
def test_sql_name_is_split_outside_of_its_quotes(name, parts):
    assert split_name(name) == parts


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_quoted_name_parts_are_split_unchanged(parts):
    for open_, close in ('""', "``", "[]"):
        name = ".".join(open_ + part.replace(close, close * 2) + close for part in parts)
        assert split_name(name) == parts


def test_backticks_around_a_full_name_are_stripped_once():
    assert strip_backticks("`a.b`") == "a.b"
    assert strip_backticks("`a`.`b`") == "`a`.`b`"
    assert strip_backticks("``") == "``"
    assert strip_backticks("a") == "a"


def test_db2_keeps_the_case_of_quoted_parts():
    naming = Naming(NamingSettings())
    assert naming("db2://h", 'sample."My"."orders"').dataset_name == "SAMPLE.My.orders"
    assert isinstance(split_name('"a"')[0], QuotedPart)


def test_column_case_follows_the_dialect_of_the_platform():
    naming = Naming(NamingSettings())
    oracle, hana = naming("oracle://h", "X.HR.T"), naming("sap://h", "S.T")
    assert [oracle.spell_column(text) for text in ("ID", "Id", "USER", "A B", "_X", "1", "")] == [
        "id",
        "Id",
        "USER",
        "A B",
        "_X",
        "1",
        "",
    ]
    assert [hana.spell_column(text) for text in ("ID", "_X", "SELECT", "USER")] == ["id", "_x", "SELECT", "user"]
    assert naming("snowflake://a", "A.B.C").spell_column("ID") == "id"
    assert naming("postgres://h", "a.b.c").spell_column("ID") == "ID"


DOTTED = [
    ("{a}.{b}", ["x", "y"], {"a": "x", "b": "y"}),
    ("{a}.{b}", ["x"], None),
    ("{a}.{b}", ["x", "y", "z"], None),
    ("{a}.{*b}", ["x", "y", "z"], {"a": "x", "b": "y.z"}),
    ("{*a}.{b}", ["x", "y", "z"], {"a": "x.y", "b": "z"}),
    ("{a}.{*b}.{c}", ["x", "y", "z", "w"], {"a": "x", "b": "y.z", "c": "w"}),
    ("{_}.{b}", ["x", "y"], {"b": "y"}),
    ("{a}.{b}", [None, "y"], {"b": "y"}),
    ("{a}.{*b}", ["x", None], {"a": "x"}),
    ("{a=K}.{b}", ["k", "y"], {"a": "k", "b": "y"}),
    ("{a=K}.{b}", ["z", "y"], None),
    ("{a=K}.{b}", [None, "y"], None),
]


@pytest.mark.parametrize(("text", "parts", "found"), DOTTED)
def test_dotted_pattern_reads_parts(text, parts, found):
    assert DottedPattern(text, tokenize(text, "")).match(parts) == found


@pytest.mark.parametrize(
    ("text", "dotted"),
    [
        ("{a}.{b}", True),
        ("{a}", True),
        ("{*a}", False),
        ("{a}.{*b}", True),
        ("a/{b}", False),
        ("{a}/{b}", False),
        ("x.{a}", False),
        ("/", False),
    ],
)
def test_which_patterns_are_dotted(text, dotted):
    assert is_dotted(tokenize(text, "")) is dotted


TEXTS = [
    ("s3://{bucket}", True, "s3://a.b", {"bucket": "a.b"}),
    ("s3://{bucket}", True, "s3://a/b", None),
    ("x://{host}:{port}", True, "x://h:1", {"host": "h", "port": "1"}),
    ("x://{host}:{port}", True, "x://h:y", None),
    ("x://{c}.{r}:{port}", True, "x://10.0.0.7:1", None),
    ("[/]{item}/T/{t}", False, "/a/T/b", {"item": "a", "t": "b"}),
    ("[/]{item}/T/{t}", False, "a/T/b", {"item": "a", "t": "b"}),
    ("t:{*p}:{t}", False, "t:a:b:c", {"p": "a:b", "t": "c"}),
    ("a[{b}]", False, "a", {}),
    ("plain[x]", False, "plain[x]", {}),
    ("{*a}", False, "x\ny", {"a": "x\ny"}),
]


@pytest.mark.parametrize(("pattern", "namespace", "text", "found"), TEXTS)
def test_pattern_reads_text(pattern, namespace, text, found):
    assert NamingPattern(pattern, "", namespace=namespace).match(text) == found


def test_literal_text_is_what_weighs():
    assert NamingPattern("s3://{bucket}", "").literal_length == 5
    assert NamingPattern("{a=K}://", "").literal_length == 4
    assert NamingPattern("a[b]{c}", "").literal_length == 1


FILLS = [
    ("{a}.{b}.{c}", {"a": "1", "b": "2", "c": "3"}, "1.2.3"),
    ("{a}.{b}.{c}", {"b": "2", "c": "3"}, "2.3"),
    ("{a}.{b}.{c}", {"a": "1", "c": "3"}, "1.3"),
    ("{a}.{b}.{c}", {"a": "1", "b": "2"}, "1.2"),
    ("{a}.{b}.{c}", {"a": "1"}, "1"),
    ("{a}.{b}.{c}", {"c": "3"}, "3"),
    ("{a}.{b}", {}, ""),
    ("{a=x}.{b}", {"b": "2"}, "x.2"),
    ("[{a}:]{b}", {"b": "2"}, "2"),
    ("[{a}:]{b}", {"a": "1", "b": "2"}, "1:2"),
    ("{h}[:{p}]/{x}", {"h": "n", "x": "y"}, "n/y"),
    ("d.{a}.{b}", {"b": "2"}, "d.2"),
    ("{a}.", {"a": "1."}, "1.."),
    ("100%{a}", {"a": "1"}, "100%1"),
]


@pytest.mark.parametrize(("text", "values", "made"), FILLS)
def test_template_lets_missing_parts_vanish(text, values, made):
    assert NameTemplate(text, "").fill(values) == made


def test_exact_template_wants_its_parts():
    assert NameTemplate("{a}.{b}", "").fill_exactly({"a": "1"}) is None
    assert NameTemplate("{a}.{b=2}", "").fill_exactly({"a": "1"}) == "1.2"
    assert NameTemplate("[{a}]{b=2}{c}", "").fill_exactly({"a": "1"}) is None


@pytest.mark.parametrize("text", ["{", "}", "{a", "{a b}", "[x", "x]", "{a=b=c}{"])
def test_invalid_pattern_is_refused_with_its_location(text):
    with pytest.raises(MappingError, match="here"):
        tokenize(text, "here")


@given(st.text(min_size=1))
def test_quoted_segment_comes_back(text):
    assert unquote_segment(quote_segment(text)) == text or text[0] == "`"


def test_fqn_segments_are_quoted_if_needed():
    assert [quote_segment(text) for text in ("a", "a.b", "a:b", "a b", "a`b", "a/b", "a-b=c,d($@", "a\u00a0b")] == [
        "a", "`a.b`", "`a:b`", "`a b`", "`a``b`", "a/b", "a-b=c,d($@", "`a\u00a0b`",
    ]  # fmt: skip


def test_fqn_needs_all_of_its_parts_and_has_a_limit():
    template = FqnTemplate("x:{a}.[{d}:]{b}", "")
    assert template.fill({"a": "1", "b": "2"}) == "x:1.2"
    assert template.fill({"a": "1", "b": "2", "d": "3"}) == "x:1.`3:2`"
    assert template.fill({"a": "1"}) is None
    assert FqnTemplate("x:{a}", "").fill({}) is None
    assert FqnTemplate("x:{a}", "").fill({"a": "y" * MAX_LENGTH}) is None
    assert FqnTemplate("x:{a}.{b}", "").parts("x:1") is None
    assert FqnTemplate("x:{a}.y{b}", "").parts("x:1.2") is None
    assert FqnTemplate("x:{a}", "").parts("y:1") is None


def test_no_fqn_where_a_part_is_missing():
    naming = Naming(NamingSettings())
    assert naming("postgres://h", ".public.foo").fqn is None
    assert naming("postgres://h", ".public.foo").notes == ("missing-part", "lacks:database")
    assert naming("snowflake", "a.b.c").fqn is None
    assert naming(r"sqlserver://h\x", "a.b.c").fqn is None
    assert naming("postgres://h/db", "None.s.t").notes == ()


SHARDS = [
    ("events_20240131", "events"),
    ("events20240131", "events"),
    ("events_202401", "events_202401"),
    ("events_2024013", "events_2024013"),
    ("events_20241301", "events_20241301"),
    ("events_*", "events"),
    ("events*", "events"),
    ("events_2024*", "events"),
    ("20240131", "ds"),
    ("*", "ds"),
    ("t120240131", "t120240131"),
    ("t", "t"),
]


@pytest.mark.parametrize(("table", "base"), SHARDS)
def test_date_shards_and_wildcards_fall_to_their_table(table, base):
    assert strip_bigquery_shard(table, "ds") == base


def test_bigquery_decorators_are_stripped():
    assert strip_bigquery_decorator("t$20240101") == "t"
    assert strip_bigquery_decorator("t@1624046611000") == "t"
    assert strip_bigquery_decorator("t@-3600000--1") == "t"
    assert strip_bigquery_decorator("t@home") == "t@home"


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("a/dt=1/b", "a"),
        ("a/b", "a/b"),
        ("dt=1/b", "dt=1/b"),
        ("a/=b", "a/=b"),
        ("a/b=", "a/b="),
        ("a/x=1/y=2", "a"),
        ("a b/k=v", "a b"),
        ("a/b/part-00000-e8ffee82-0f0c-4763-a6b5-d923e1792af2-c000.snappy.parquet", "a/b"),
        ("a/part-00012-e8ffee82-0f0c-4763-a6b5-d923e1792af2.c000.csv", "a"),
        (
            "part-00000-e8ffee82-0f0c-4763-a6b5-d923e1792af2-c000.json",
            "part-00000-e8ffee82-0f0c-4763-a6b5-d923e1792af2-c000.json",
        ),
        ("a/part-0.csv", "a/part-0.csv"),
        (
            "a/part-00000-e8ffee82-0f0c-4763-a6b5-d923e1792af2-c000/b",
            "a/part-00000-e8ffee82-0f0c-4763-a6b5-d923e1792af2-c000/b",
        ),
    ],
)
def test_partition_folders_are_cut_off(path, table):
    expected = "a" if path == "a/b=" else table
    assert strip_partitions(path) == expected
