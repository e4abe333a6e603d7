"""Near misses of the console: within the file, and with a server that is asked only on request."""

from __future__ import annotations

import msgspec
import pytest
from support.gms import Gms

from dh_bridge.catalog.store import Catalog
from dh_bridge.console import ConsoleSource
from dh_bridge.console.parameters import RequestParameters
from dh_bridge.console.routes import ROUTES
from dh_bridge.datahub.proposal import upsert
from dh_bridge.settings import Settings

STATUS = {"removed": False}


def dataset(name, platform="postgres", env="PROD"):
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{env})"


def write(path, urns):
    with Catalog(path) as catalog:
        assert catalog.apply([upsert("dataset", urn, "status", STATUS) for urn in urns]).failures == []
    return path


def ask(source, path):
    return msgspec.to_builtins(ROUTES[path].answer(source, RequestParameters({})))


@pytest.fixture
def without_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("DATAHUB_GMS_URL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("without_environment")
def test_names_of_the_file_that_nearly_match_are_pairs(tmp_path):
    urns = [
        dataset("shop.public.orders"),
        dataset("shop.public.ORDERS"),
        dataset("shop.public.orders", env="DEV"),
        dataset("x.y"),
    ]
    answer = ask(ConsoleSource(str(write(tmp_path / "shop.db", urns)), Settings()), "near-misses")
    assert (answer["datasets"], answer["compared"], answer["more"]) == (4, 4, 0)
    assert sorted(miss["differs"] for miss in answer["misses"]) == ["case", "env", "env, case"]
    assert all({miss["urn"], miss["other"]} <= set(urns) for miss in answer["misses"])


@pytest.mark.usefixtures("without_environment")
def test_comparison_with_a_server_needs_a_server(tmp_path):
    source = ConsoleSource(str(write(tmp_path / "shop.db", [dataset("a.b")])), Settings())
    assert ask(source, "problems")["server"] is None
    with pytest.raises(ValueError, match=r"rest\.server or DATAHUB_GMS_URL"):
        ask(source, "compare-with-server")


@pytest.mark.usefixtures("without_environment")
def test_server_is_asked_only_for_the_comparison(tmp_path):
    write(tmp_path / "gms.db", [dataset("shop.public.orders"), dataset("shop.public.items")])
    file = write(tmp_path / "shop.db", [dataset("shop.public.ORDERS"), dataset("shop.public.items")])
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        source = ConsoleSource(str(file), Settings(rest={"server": gms.url}))
        for path in ("problems", "overview", "near-misses"):
            ask(source, path)
        assert gms.requests == []
        assert ask(source, "problems")["server"] == gms.url
        answer = ask(source, "compare-with-server")
        assert {request.method for request in gms.requests} <= {"GET", "POST"}
    assert (answer["compared"], answer["missing"]) == (2, 1)
    assert answer["misses"] == [
        {"urn": dataset("shop.public.ORDERS"), "other": dataset("shop.public.orders"), "differs": "case"}
    ]
