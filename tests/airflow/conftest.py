"""Callbacks send into a catalogue of the test's own, by the settings that users have."""

from __future__ import annotations

import pytest

from dh_bridge.catalog.store import Catalog


@pytest.fixture(autouse=True)
def shop(tmp_path, monkeypatch):
    """Return a function that opens the catalogue into which the callbacks of this test send."""
    file = tmp_path / "shop.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DH_BRIDGE_AIRFLOW__TO", f"catalog:{file}")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "shop-airflow")
    return lambda: Catalog(file, readonly=True)
