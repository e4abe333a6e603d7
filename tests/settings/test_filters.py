"""Filters: globs over whole texts; the last pattern that matches decides."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dh_bridge.settings.filters import FilterSettings, PatternList
from dh_bridge.settings.temporary import TemporarySettings


@pytest.mark.parametrize(
    ("patterns", "text", "rule"),
    [
        ((), "anything", None),
        (("!tmp_*",), "tmp_a.b/c", "!tmp_*"),
        (("!tmp_*",), "my_tmp_a", None),
        (("!a", "!*.test"), "shop.test", "!*.test"),
        (("shop.*",), "shop.orders", None),
        (("shop.*",), "Shop.orders", "no pattern matches"),
        (("shop.*", "!*.tmp"), "shop.tmp", "!*.tmp"),
        (("!*.tmp", "shop.*"), "shop.tmp", None),
        (("*", "!tmp_*", "tmp_keep"), "tmp_keep", None),
        (("!tmp_*", "tmp_keep"), "orders", "no pattern matches"),
        (("!run_[0-9][0-9]",), "run_42", "!run_[0-9][0-9]"),
        (("!a[*]",), "ab", None),
        (("!a.c",), "abc", None),
        (("!a*",), "a\nb", "!a*"),
    ],
)
def test_last_pattern_that_matches_decides(patterns, text, rule):
    assert PatternList(patterns).exclusion(text) == rule


@pytest.mark.parametrize(
    ("pattern", "namespace", "name", "is_excluded"),
    [
        ("!tmp_*", "tmp_ns", "orders", False),
        ("!tmp_*", "ns", "tmp_orders", True),
        ("!dev/*", "dev", "orders", True),
        ("!dev/*", "prod", "dev/orders", False),
        ("!*/raw/*", "s3://lake", "raw/orders", True),
        ("!s3://scratch/*", "s3://scratch", "a", True),
    ],
)
def test_pattern_with_a_slash_matches_namespace_and_name(pattern, namespace, name, is_excluded):
    assert (PatternList((pattern,)).exclusion(name, namespace) is not None) == is_excluded


def test_lists_without_patterns_are_false():
    assert not PatternList(())
    assert PatternList(("!x",))


def test_collapse_patterns_match_with_or_without_namespace():
    temporary = TemporarySettings(datasets=("tmp_*", "s3://scratch/*", "!tmp_keep*"))
    assert temporary.is_listed("postgres://h:1", "tmp_orders") is True
    assert temporary.is_listed("s3://scratch", "a/b") is True
    assert temporary.is_listed("postgres://h:1", "tmp_keep_orders") is False
    assert temporary.is_listed("s3://lake", "a/b") is None
    assert TemporarySettings().is_listed("s3://scratch", "a") is None


def test_filters_are_frozen_and_refuse_unknown_keys():
    with pytest.raises(ValidationError):
        FilterSettings().jobs = ("x",)
    with pytest.raises(ValidationError):
        FilterSettings(job_name=("x",))
