"""Near misses: which datasets are probably one, and how their URNs differ."""

from __future__ import annotations

import pytest

from dh_bridge.review import near
from dh_bridge.review.near import existing_respellings, near_misses
from dh_bridge.review.state import UrnList


def urn(name, platform="postgres", env="PROD"):
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{env})"


@pytest.mark.parametrize(
    ("ours", "theirs", "differs"),
    [
        (urn("shop.public.Orders"), urn("shop.public.orders"), "case"),
        (urn("shop.public.orders"), urn("SHOP.PUBLIC.ORDERS"), "case"),
        (urn('shop."public".orders'), urn("shop.public.orders"), "quoting"),
        (urn("shop.public.orders"), urn("shop.public.orders", env="DEV"), "env"),
        (urn("shop.public.orders"), urn("east.shop.public.orders"), "instance or tiers"),
        (urn("shop.public.orders"), urn("public.orders"), "instance or tiers"),
        (urn("shop.orders"), urn("shop.public.orders"), "instance or tiers"),
        (urn("shop.public.orders"), urn("shop.public.orders", "redshift"), "platform"),
        (urn("h.example.com/a/b", "abs"), urn("h/a/b", "abs"), "host"),
        (urn("shop.public.Orders"), urn("east.shop.public.orders", env="DEV"), "env, instance or tiers, case"),
        (urn('shop."public".orders'), urn("east.shop.public.orders"), "instance or tiers, quoting"),
    ],
)
def test_each_difference_is_named(ours, theirs, differs):
    (found,) = near_misses([ours], [theirs])
    assert (found.urn, found.found, found.differs) == (ours, theirs, differs)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("db.t", 'inst."DB".t'), ("b.straße", '"I".b.STRASSE'), ("tier.b.straße", "b.STRASSE")]
)
def test_near_miss_is_found_for_another_spelling(ours, theirs):
    (found,) = near_misses([urn(ours)], [urn(theirs)])
    assert found.differs.startswith("instance or tiers, ")


def test_near_miss_has_no_rule():
    """A topic and a table of one name, or a table with and without a level, may be two datasets: the URNs are no evidence."""
    topic, table = urn("shop.public.orders", "kafka"), urn("shop.public.orders")
    (found,) = near_misses([topic], [table])
    assert found._asdict() == {"urn": topic, "found": table, "differs": "platform"}


def test_starrocks_tables_that_mysql_names_are_near_misses_without_rules():
    ours = [urn("hive_catalog.dwd.orders", "mysql"), urn("dwd.orders", "mysql")]
    theirs = [urn("hive_catalog.dwd.orders", "starrocks"), urn("default_catalog.dwd.orders", "starrocks")]
    found = list(near_misses(ours, theirs))
    assert {miss.differs for miss in found} == {"platform", "platform, instance or tiers"}
    assert {miss._fields for miss in found} == {("urn", "found", "differs")}


@pytest.mark.parametrize(
    "theirs",
    [
        urn("shop.public.orders_2"),
        urn("other.public.orders"),
        urn("b/x/orders", "s3"),
        urn("shop.public.orders", "dbt"),
        urn("shop.public.orders", "trino"),
        urn("shop.public.more.orders"),
        "urn:li:dataJob:(urn:li:dataFlow:(a,b,c),orders)",
        "no urn",
    ],
)
def test_different_dataset_is_no_near_miss(theirs):
    assert list(near_misses([urn("shop.public.orders"), "urn:li:tag:orders"], [theirs])) == []


def test_nearest_come_first_and_are_few():
    known = [urn(f"i{at}.shop.public.orders", env="DEV") for at in range(9)] + [urn("SHOP.public.orders")]
    found = [one.found for one in near_misses([urn("shop.public.orders")], known)]
    assert found[0] == urn("SHOP.public.orders")
    assert len(found) == 5


def test_near_misses_compare_names_of_the_same_tenant_only(monkeypatch):
    asked = []
    compared = near._near_miss
    monkeypatch.setattr(near, "_near_miss", lambda *stated: asked.append(stated) or compared(*stated))
    new = [urn(f"t{number}.public.Orders") for number in range(100)]
    known = [urn(f"t{number}.public.orders") for number in range(100)]
    assert len(list(near_misses(new, known))) == len(asked) == 100


@pytest.mark.parametrize("theirs", ["nn/lake/orders", "NN:9000/lake/orders"])
def test_path_of_another_host_name_differs_in_the_host(theirs):
    (found,) = near_misses([urn("nn.example.com/lake/orders", "hdfs")], [urn(theirs, "hdfs")])
    assert found.differs == "host"


def test_place_that_cannot_list_is_asked_for_other_spellings(tmp_path):
    there = [urn("shop.public.orders"), urn("orders"), urn("shop.public.Orders", env="DEV"), urn("elsewhere")]
    (tmp_path / "urns.txt").write_text("\n".join(there))
    found = existing_respellings([urn("shop.public.Orders"), "urn:li:tag:x"], UrnList(str(tmp_path / "urns.txt")))
    assert found == set(there[:3])
    assert existing_respellings([], UrnList(str(tmp_path / "urns.txt"))) == set()


def test_list_of_urns_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "urns.txt").write_text(urn("a\u2028b") + "\r\n" + urn("c"), encoding="utf-8-sig", newline="")
    assert UrnList(str(tmp_path / "urns.txt")).urns == {urn("a\u2028b"), urn("c")}
