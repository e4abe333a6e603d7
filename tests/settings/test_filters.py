"""Filters: globs over whole texts, deny first, each refusal with its rule."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dh_bridge.settings.filters import AllowDeny, FilterSettings


@pytest.mark.parametrize(
    ("allow", "deny", "text", "rule"),
    [
        ((), (), "anything", None),
        ((), ("tmp_*",), "tmp_a.b/c", "deny: tmp_*"),
        ((), ("tmp_*",), "my_tmp_a", None),
        ((), ("a", "*.test"), "shop.test", "deny: *.test"),
        (("shop.*",), (), "shop.orders", None),
        (("shop.*",), (), "Shop.orders", "allow"),
        (("shop.*",), ("*.tmp",), "shop.tmp", "deny: *.tmp"),
        ((), ("run_[0-9][0-9]",), "run_42", "deny: run_[0-9][0-9]"),
        ((), ("a[*]",), "ab", None),
        ((), ("a.c",), "abc", None),
        ((), ("a*",), "a\nb", "deny: a*"),
    ],
)
def test_refusal_names_the_rule(allow, deny, text, rule):
    assert AllowDeny(allow=allow, deny=deny).refusal(text) == rule


def test_lists_without_patterns_are_false():
    assert not AllowDeny()
    assert AllowDeny(deny=("x",))


def test_lineage_runs_through_datasets_named_with_or_without_namespace():
    filters = FilterSettings(through=("tmp_*", "s3://scratch/*"))
    assert filters.is_collapsed("postgres://h:1", "tmp_orders")
    assert filters.is_collapsed("s3://scratch", "a/b")
    assert not filters.is_collapsed("s3://lake", "a/b")
    assert not FilterSettings().is_collapsed("s3://scratch", "a")


def test_filters_are_frozen_and_refuse_unknown_keys():
    with pytest.raises(ValidationError):
        FilterSettings().through = ("x",)
    with pytest.raises(ValidationError):
        FilterSettings(jobs={})
