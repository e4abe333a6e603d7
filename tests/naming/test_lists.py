"""Names that a producer writes as one: a dataset for each, wherever datasets of events are named."""

from __future__ import annotations

import pytest
from support.sample_events import dataset, event, packed

from dh_bridge.identity_diff import IdentityDiff
from dh_bridge.naming import Naming
from dh_bridge.naming.datasets import datasets_of
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.settings.naming import NamingSettings

KAFKA = "kafka://b:9092"
LIST = event(inputs=[dataset("orders;returns", KAFKA, facets={}), dataset("a;b")], outputs=[dataset("all;", KAFKA)])


@pytest.mark.parametrize(
    ("namespace", "name", "names"),
    [
        (KAFKA, "orders", ("orders",)),
        (KAFKA, "orders;returns", ("orders", "returns")),
        ("kafka://a:9092,b:9092", "orders; returns;", ("orders", "returns")),
        (KAFKA, "orders,returns;late", ("orders", "returns", "late")),
        (KAFKA, ";", (";",)),
        ("postgres://db:5432", "shop.public.a;b", ("shop.public.a;b",)),
        ("food", "a;b", ("a;b",)),
        ("s3://lake", "a;b", ("a;b",)),
        ("s3://lake", "a,b", ("a,b",)),
    ],
)
def test_listed_names_are_split_by_the_rules_of_the_system(namespace, name, names):
    assert tuple(Naming(NamingSettings()).listed_names(namespace, name)) == names


def test_datasets_of_an_event_are_those_that_its_entries_list():
    (body,) = packed([LIST])
    found = [one.name for one in datasets_of(parse_event(body, "here"), Naming(NamingSettings()))]
    assert found == ["orders", "returns", "a;b", "all"]


def test_identity_diff_moves_each_dataset_of_a_list():
    (body,) = packed([LIST])
    moves = IdentityDiff(Options(Settings()), Options(Settings(naming={"env": "DEV"})))
    moves.see(parse_event(body, "here"))
    topics = {f"urn:li:dataset:(urn:li:dataPlatform:kafka,{name},PROD)" for name in ("orders", "returns", "all")}
    assert {move.source for move in moves.plan().moves if "kafka" in move.source} == topics
