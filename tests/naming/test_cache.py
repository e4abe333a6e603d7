"""Names are remembered, but for long ones."""

from __future__ import annotations

import tracemalloc

import pytest

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingSettings

HOST = "postgres://db:5432"


def test_naming_caches_short_names_only():
    naming = Naming(NamingSettings())
    assert naming(HOST, "shop.public.orders") is naming(HOST, "shop.public.orders")
    long = "shop.public." + "x" * 5000
    assert naming(HOST, long) == naming(HOST, long)
    assert naming(HOST, long) is not naming(HOST, long)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [(HOST, "shop.public.{}"), ("postgres://{}:5432", "shop.public.orders"), ("{}", "orders"), ("s3://bucket", "a/{}")],
)
def test_long_names_and_namespaces_are_not_kept(namespace, name):
    naming = Naming(NamingSettings())
    tracemalloc.start()
    try:
        for number in range(40):
            filler = f"{number}".ljust(100_000, "x")
            naming(namespace.format(filler), name.format(filler))
        retained, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert retained < 1_000_000
