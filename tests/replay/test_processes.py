"""Several processes give what one gives, and say so when one of them dies."""

from __future__ import annotations

import multiprocessing

import pytest
from click.testing import CliRunner
from samples import EXAMPLES, event, examples
from samples import packed as sent
from test_replay import dumped

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.read import events_of
from dh_bridge.replay import processes
from dh_bridge.replay.processes import translations


def test_two_processes_give_the_catalogue_of_one_and_count_every_event():
    settings = Settings(profile="1.7")
    items = [*examples(), DeadLetter("x:1", "no event", b"{")]
    found = list(translations(items, settings, 2))
    one = Bridge(settings).translate(examples())
    assert dumped([proposal for part in found for proposal in part.proposals]) == dumped(one.proposals)
    total = found[0].counts
    for part in found[1:]:
        total.add(part.counts)
    assert (total.events, total.dead, total.runs) == (len(examples()), 1, one.counts.runs)
    assert (total.jobs, total.datasets, total.proposals) == (one.counts.jobs, one.counts.datasets, one.counts.proposals)


def test_what_is_too_much_to_hold_is_written_before_the_end(monkeypatch):
    monkeypatch.setattr(processes, "HELD", 5_000)
    items = [
        one
        for i in range(30)
        for raw in sent([event("COMPLETE", job=f"etl.j{i}", namespace=f"n{i}", run=f"018cc251-f400-734d-88b3-{i:012}")])
        for one in events_of(raw, f"e:{i}")
    ]
    found = list(translations(items, Settings(), 1, window=5))
    settings = Settings()
    proposals = [proposal for part in found for proposal in part.proposals]
    assert dumped(proposals) == dumped(Bridge(settings).translate([one.raw for one in items]).proposals)
    assert len([part for part in found if part.proposals]) > 3


def test_a_worker_that_dies_is_told_of():
    def items():
        yield from examples()
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        yield from examples()

    with pytest.raises(BridgeError, match="a worker ended"):
        list(translations(items(), Settings(), 1))


def test_emit_takes_several_processes(tmp_path):
    target = tmp_path / "catalog.db"
    given = ["emit", str(EXAMPLES), "--to", f"catalog:{target}", "--profile", "1.7", "--processes"]
    done = CliRunner().invoke(commands, [*given, "2"])
    assert done.exit_code == 0, done.output
    assert "events           164" in done.stderr
    with Catalog(target, readonly=True) as catalog:
        assert list(dump(catalog)) == dumped(Bridge(Settings(profile="1.7")).translate(examples()).proposals)
    refused = CliRunner().invoke(commands, [*given, "2", "--ledger", str(tmp_path / "ledger.db")])
    assert refused.exit_code == 2
    assert "--processes goes with neither" in refused.stderr


def test_settings_that_make_runs_one_are_refused():
    settings = Settings(identity={"granularity": "task"})
    with pytest.raises(SettingsError, match=r"identity\.granularity: 'task' is not possible in parts"):
        list(translations([], settings, 2))
