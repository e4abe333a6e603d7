"""Near misses: which datasets are probably one, and the setting that makes them one."""

from __future__ import annotations

import json

import pytest
import yaml

from dh_bridge import Settings, translate
from dh_bridge.review import near
from dh_bridge.review.near import existing_respellings, near_misses
from dh_bridge.review.state import UrnList
from dh_bridge.settings.loading import load


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
    (found,) = near_misses([(ours, None)], [theirs])
    assert (found.urn, found.found, found.differs) == (ours, theirs, differs)


@pytest.mark.parametrize(
    ("ours", "theirs", "rule"),
    [
        ("db.t", 'inst."DB".t', {"platform_instance": "inst", "name": "db.t", "rename": '"DB".t', "case": "keep"}),
        (
            "b.straße",
            '"I".b.STRASSE',
            {"platform_instance": '"I"', "name": "b.straße", "rename": "b.STRASSE", "case": "keep"},
        ),
        ("tier.b.straße", "b.STRASSE", {"name": "tier.b.straße", "rename": "b.STRASSE", "case": "keep"}),
    ],
)
def test_what_stands_before_a_name_is_found_in_another_spelling(ours, theirs, rule):
    (found,) = near_misses([(urn(ours), None)], [urn(theirs)])
    assert yaml.safe_load(found.rule)["naming"]["rules"] == [rule]


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
def test_what_is_another_dataset_is_no_near_miss(theirs):
    assert list(near_misses([(urn("shop.public.orders"), None), ("urn:li:tag:orders", None)], [theirs])) == []


def test_the_nearest_come_first_and_are_few():
    known = [urn(f"i{at}.shop.public.orders", env="DEV") for at in range(9)] + [urn("SHOP.public.orders")]
    found = [one.found for one in near_misses([(urn("shop.public.orders"), None)], known)]
    assert found[0] == urn("SHOP.public.orders")
    assert len(found) == 5


def test_names_of_many_tenants_are_compared_with_those_of_their_own(monkeypatch):
    asked = []
    compared = near._near_miss
    monkeypatch.setattr(near, "_near_miss", lambda *said: asked.append(said) or compared(*said))
    new = [(urn(f"t{number}.public.Orders"), None) for number in range(100)]
    known = [urn(f"t{number}.public.orders") for number in range(100)]
    assert len(list(near_misses(new, known))) == len(asked) == 100


@pytest.mark.parametrize(
    ("ours", "theirs", "namespace"),
    [
        (urn("shop.[public].orders", "mssql"), urn("shop.public.orders", "mssql"), "mssql://db:1433"),
        (urn("{x}.public.orders"), urn("public.orders"), "postgres://db:5432"),
        (urn("orders"), urn("Orders"), "postgres://[::1]:5432"),
    ],
)
def test_what_no_pattern_can_say_has_no_rule(ours, theirs, namespace):
    (found,) = near_misses([(ours, namespace)], [theirs])
    assert found.rule == ""


def test_a_rule_is_read_back_as_it_was_meant(tmp_path):
    (found,) = near_misses([(urn("orders"), "postgres://db:5432")], [urn("${HOME}.orders")])
    (tmp_path / "c.yml").write_text(found.rule)
    (rule,) = load(tmp_path / "c.yml", environ={"HOME": "x"}).settings.naming.rules
    assert rule.platform_instance == "${HOME}"


EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-01-01T00:00:00Z",
    "producer": "https://example.com/me",
    "run": {"runId": "01890d3e-0000-7000-8000-000000000001"},
    "job": {"namespace": "n", "name": "j"},
    "inputs": [{"namespace": "postgres://db:5432", "name": "shop.public.Orders"}],
}


@pytest.mark.parametrize(
    "theirs",
    [
        urn("shop.public.orders"),
        urn("SHOP.PUBLIC.ORDERS"),
        urn("shop.Public.oRders"),
        urn("shop.public.Orders", env="DEV"),
        urn("east.shop.public.Orders"),
        urn("public.Orders"),
        urn("shop.public.Orders", "redshift"),
        urn("east.shop.public.orders", env="DEV"),
        urn("East.SHOP.PUBLIC.ORDERS"),
        urn("east.Shop.public.orderS"),
        urn("public.orders"),
        urn("Public.oRDERS"),
    ],
)
def test_the_rule_makes_them_one(theirs):
    assert_one("shop.public.Orders", theirs)


@pytest.mark.parametrize("theirs", ["shop.public.orders", "SHOP.PUBLIC.ORDERS", "Shop.PUBLIC.orderS"])
def test_the_rule_names_the_schema_that_a_name_lacks_and_its_case(theirs):
    assert_one("shop.Orders", urn(theirs))


def assert_one(name, theirs):
    (found,) = near_misses([(urn(name), "postgres://db:5432")], [theirs])
    event = {**EVENT, "inputs": [{"namespace": "postgres://db:5432", "name": name}]}
    settings = Settings(**yaml.safe_load(found.rule))
    urns = {one.entity_urn for one in translate(event, settings=settings).proposals}
    assert theirs in urns, json.dumps(sorted(urns))


@pytest.mark.parametrize(
    ("namespace", "name", "ours"),
    [
        ("postgres://db:5432", "shop.Orders", "shop.Orders"),
        ("postgres://db:5432", 'shop."Orders"', "shop.Orders"),
        ("postgres://db:5432/shop", "Orders", "shop.Orders"),
    ],
)
def test_a_rule_names_the_schema_that_a_name_lacks(namespace, name, ours):
    (found,) = near_misses([(urn(ours), namespace)], [urn("shop.public.Orders")])
    settings = Settings(**yaml.safe_load(found.rule))
    event = {**EVENT, "inputs": [{"namespace": namespace, "name": name}]}
    assert found.found in {one.entity_urn for one in translate(event, settings=settings).proposals}


def test_a_rule_for_one_name_keeps_the_case_of_others():
    """A system that folds names, as Hive, keeps the one as the rule writes it."""
    ours = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
    (found,) = near_misses([(ours, "hive://hs:10000")], [urn("Shop.Orders", "hive")])
    settings = Settings(**yaml.safe_load(found.rule))
    event = {**EVENT, "inputs": [{"namespace": "hive://hs:10000", "name": one} for one in ("shop.orders", "shop.B")]}
    urns = {one.entity_urn for one in translate(event, settings=settings).proposals}
    assert {found.found, urn("shop.b", "hive")} <= urns


def test_a_rule_leaves_the_quotes_out():
    event = {**EVENT, "inputs": [{"namespace": "s3://lake", "name": 'shop."public".orders'}]}
    (found,) = near_misses(
        [(urn('lake/shop."public".orders', "s3"), "s3://lake")], [urn("lake/shop.public.orders", "s3")]
    )
    assert found.differs == "quoting"
    settings = Settings(**yaml.safe_load(found.rule))
    assert found.found in {one.entity_urn for one in translate(event, settings=settings).proposals}


@pytest.mark.parametrize("name", ["nn.example.com/lake/orders", "nn/lake/orders", "NN:9000/lake/orders"])
def test_a_location_makes_two_addresses_one(name):
    event = {**EVENT, "inputs": [{"namespace": "hdfs://nn.example.com:8020", "name": "/lake/orders"}]}
    (ours,) = {one.entity_urn for one in translate(event).proposals if "dataPlatform:hdfs" in one.entity_urn}
    (found,) = near_misses([(ours, "hdfs://nn.example.com:8020")], [urn(name, "hdfs")])
    assert found.differs == "host"
    settings = Settings(**yaml.safe_load(found.rule))
    assert urn(name, "hdfs") in {one.entity_urn for one in translate(event, settings=settings).proposals}


def test_a_place_that_cannot_list_is_asked_for_other_spellings(tmp_path):
    there = [urn("shop.public.orders"), urn("orders"), urn("shop.public.Orders", env="DEV"), urn("elsewhere")]
    (tmp_path / "urns.txt").write_text("\n".join(there))
    found = existing_respellings([urn("shop.public.Orders"), "urn:li:tag:x"], UrnList(str(tmp_path / "urns.txt")))
    assert found == set(there[:3])
    assert existing_respellings([], UrnList(str(tmp_path / "urns.txt"))) == set()


def test_a_list_of_urns_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "urns.txt").write_text(urn("a\u2028b") + "\r\n" + urn("c"), encoding="utf-8-sig", newline="")
    assert UrnList(str(tmp_path / "urns.txt")).urns == {urn("a\u2028b"), urn("c")}
