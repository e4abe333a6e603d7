"""Ledgers and logs of all releases: the newest code opens them, and comes to the same end as with a new ledger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import zstandard

from dh_bridge import Settings, __version__
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.replay import apply_replay, log_items
from dh_bridge.sinks.catalog import CatalogSink

RELEASES = sorted(path for path in Path(__file__).parent.iterdir() if (path / "settings.json").is_file())


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request, tmp_path):
    """Return the file of a release's catalogue, and its settings."""
    path = tmp_path / "catalogue.db"
    path.write_bytes(zstandard.ZstdDecompressor().decompress((request.param / "catalogue.db.zst").read_bytes()))
    shutil.copytree(request.param / "catalogue.db.log", log_folder(path))
    return path, Settings(**json.loads((request.param / "settings.json").read_text()))


def emit(path, settings, items=()):
    """Process events; return the proposals."""
    with CatalogSink(Catalog(path)) as sink, open_ledger(None, sink, settings) as ledger:
        return [proposal for translation, _ in ledger.stream(items) for proposal in translation.proposals]


def dump(path):
    with Catalog(path, readonly=True) as catalog:
        return list(dump_catalog(catalog))


def test_release_before_the_newest_has_a_fixture():
    assert __version__ in {path.name for path in RELEASES}


def test_catalogue_of_a_release_comes_to_the_end_of_a_new_one(release, tmp_path):
    path, settings = release
    events = list(log_items(path, settings))
    assert len(events) > 50
    fresh = tmp_path / "fresh.db"
    emit(fresh, settings, events)
    emit(path, settings, events[::-1])
    apply_replay(path, settings)
    emit(path, settings)
    assert dump(path) == dump(fresh)
    assert emit(path, settings, events) == []


def test_log_of_a_release_fills_a_new_ledger(release, tmp_path):
    path, settings = release
    fresh, moved = tmp_path / "fresh.db", tmp_path / "moved.db"
    emit(fresh, settings, log_items(path, settings))
    log_folder(path).rename(log_folder(moved))
    emit(moved, settings)
    assert dump(moved) == dump(fresh)
