"""The first start of a new version, or under other settings, warns once about what would change of what was sent."""

from __future__ import annotations

import pytest
from support.generated_runs import group, group_of_tries
from support.ledger_batches import read

from dh_bridge import Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Outbox, open_ledger, upgrade_check
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.session import Session
from dh_bridge.sinks.catalog import CatalogSink

EVENTS = [event for number in range(4) for event in (*group(11, number), *group_of_tries(11, number))]
SAME = Settings(datahub_version="1.4")
OTHER = Settings(datahub_version="1.4", naming={"env": "TEST"})


def start(path, settings, events=()):
    with CatalogSink(Catalog(path)) as sink, open_ledger(None, sink, settings) as ledger:
        return [proposal for translation, _ in ledger.stream(read(events)) for proposal in translation.proposals]


def dump(path):
    with Catalog(path, readonly=True) as file:
        return list(dump_catalog(file))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ledger.db"
    start(path, SAME, EVENTS)
    return path


def test_other_settings_are_a_warning_once(path, caplog):
    before = dump(path)
    start(path, OTHER)
    (warning,) = caplog.messages
    assert warning.startswith(
        f"{path}: with the changed settings or mappings, the latest events of the log give other metadata than was sent: "
    )
    assert " entities are new, such as urn:li:dataset:(urn:li:dataPlatform:" in warning
    assert ",TEST); " in warning
    assert warning.endswith(f"(run `dh-bridge replay {path} --dry-run` to compare all events)")
    assert dump(path) == before
    caplog.clear()
    start(path, OTHER)
    assert caplog.messages == []


def test_new_version_that_changes_nothing_is_silent(path, caplog, monkeypatch):
    monkeypatch.setattr(upgrade_check, "product_version", lambda: "9.0.0")
    start(path, SAME)
    assert caplog.messages == []
    with Catalog(path, readonly=True) as file:
        assert Outbox(file.connection).read_note("translated by").startswith("9.0.0 ")


def test_new_version_that_moves_entities_is_a_warning(path, caplog, monkeypatch):
    monkeypatch.setattr(upgrade_check, "product_version", lambda: "9.0.0")
    start(path, OTHER)
    (warning,) = caplog.messages
    assert "with version 9.0.0 after 0.1.0, " in warning


def test_sample_has_the_latest_events_only(path, caplog, monkeypatch):
    sizes = []
    process = upgrade_check.Ledger.process_source
    monkeypatch.setattr(upgrade_check, "SAMPLE_EVENTS", 5)
    monkeypatch.setattr(
        upgrade_check.Ledger,
        "process_source",
        lambda self, source: sizes.append(len(source.take())) or process(self, source),
    )
    start(path, OTHER)
    assert (sizes, len(caplog.messages)) == ([5], 1)  # and no event of this start


def test_long_pause_is_no_change(path, caplog):
    """Aspects that are sent again after seven days are not counted."""
    with CatalogSink(Catalog(path)) as sink, sink.catalog.transaction():
        sink.catalog.connection.execute("UPDATE note SET value = '0.0.1 x' WHERE name = 'translated by'")
    start(path, SAME)
    assert caplog.messages == []


@pytest.mark.parametrize("change", ["naming", "mappings"])
def test_settings_and_mapping_files_have_fingerprints(tmp_path, change):
    folder = tmp_path / "mappings" / "naming"
    folder.mkdir(parents=True)
    (folder / "acmedb.yaml").write_text("a")
    before = upgrade_check.settings_fingerprint(Settings(mappings=folder.parent))
    assert before == upgrade_check.settings_fingerprint(Settings(mappings=folder.parent, rest={"max_rate": 5}))
    if change == "mappings":
        (folder / "acmedb.yaml").write_text("b")
    naming = {"env": "TEST"} if change == "naming" else {}
    assert before != upgrade_check.settings_fingerprint(Settings(mappings=folder.parent, naming=naming))


def test_event_that_cannot_be_processed_stops_no_start(path, caplog, monkeypatch):
    add = Session.add
    with monkeypatch.context() as patched:
        patched.setattr(Session, "add", lambda *_: 1 / 0)
        start(path, OTHER)
    assert "the latest events cannot be compared with what was sent" in caplog.text
    caplog.clear()
    with CatalogSink(Catalog(path)) as sink, sink.catalog.transaction():
        for position in range(1, len(EVENTS) + 1):
            LogFailures(sink.catalog.connection).record_dead(position, "e", "killed the process", 1)
    start(path, SAME)
    assert caplog.messages == []
    assert Session.add is add


def test_full_outbox_postpones_the_comparison(path, caplog, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(upgrade_check, "_sample_changes", _raise_full)
        start(path, OTHER)
    assert "are not compared with what was sent: the outbox is full" in caplog.text
    caplog.clear()
    start(path, OTHER)
    assert " entities are new" in caplog.text


def _raise_full(*_arguments):
    raise SinkError("the outbox is full")
