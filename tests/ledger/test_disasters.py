"""docs/disasters.md: a ledger that is lost, a DataHub that is lost, and a DataHub that is restored to yesterday."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from support.generated_runs import group, group_of_tries
from support.gms import Gms

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.proposal import Payload
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.event_log.segment import list_segments

YESTERDAY = [event for number in range(4) for event in (*group(5, number), *group_of_tries(5, number))]
TODAY = [event for number in range(2, 7) for event in (*reversed(group(5, number)), *group_of_tries(5, number))]
#: Small batches: the states after each of them are older than what the server has.
SMALL = ("--set", "ledger.batch=3")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, events in (
        ("yesterday", YESTERDAY),
        ("morning", TODAY[:20]),
        ("today", TODAY),
        ("nothing", []),
    ):
        Path(f"{name}.ndjson").write_text("".join(json.dumps(event) + "\n" for event in events))


def run(*arguments, exit_code=0):
    result = CliRunner().invoke(commands, list(arguments), prog_name="dh-bridge")
    assert result.exit_code == exit_code, result.output
    return result.stderr


def emit(name, gms, *options, exit_code=0):
    return run(
        "emit", f"{name}.ndjson", "--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--fail-on", "delivery",
        *options, exit_code=exit_code,
    )  # fmt: skip


def stale_writes(gms, count):
    """Return the writes after the first ``count`` that set an aspect to something else than the server has at the end."""
    with Catalog(":memory:") as at_end:
        assert at_end.apply(gms.proposals).failures == []
        stale = []
        for proposal in gms.proposals[count:]:
            if is_timeseries(proposal.aspect_name):
                continue
            before = at_end.aspect(proposal.entity_urn, proposal.aspect_name)
            if proposal.change_type == "PATCH":
                value = Payload(plain_operations(proposal.aspect_name, proposal.value))
                proposal = msgspec.structs.replace(proposal, aspect=value)  # noqa: PLW2901 - as the server reads it
            assert at_end.apply([proposal]).failures == []
            if at_end.aspect(proposal.entity_urn, proposal.aspect_name) != before:
                stale.append((proposal.entity_urn, proposal.aspect_name))
        return stale


@pytest.fixture
def expected(tmp_path):
    """Return what a server has that was never restored."""
    with Gms(tmp_path / "expected.db", version="1.7.0") as gms:
        emit("yesterday", gms)
        emit("today", gms)
        Path("ledger.db").unlink()
        shutil.rmtree("ledger.db.log", ignore_errors=True)
        return gms.dump()


def lose_ledger(*, with_log):
    for path in Path().glob("ledger.db*"):
        if path.is_file():
            path.unlink()
    if with_log:
        shutil.rmtree("ledger.db.log", ignore_errors=True)


@pytest.mark.parametrize("keeps_log", [True, False], ids=["log", "no log"])
def test_day_old_copy_is_restored_against_a_newer_server(tmp_path, expected, keeps_log):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        emit("yesterday", gms)
        gms.stop()
        emit("morning", gms, exit_code=3)  # its proposals wait in the backup
        run("ledger", "backup", "ledger.db", "backup.db")
        gms.start()
        emit("today", gms, *SMALL)
        assert gms.dump() == expected

        lose_ledger(with_log=not keeps_log)
        count = len(gms.proposals)
        assert "Deliveries are paused" in run("ledger", "restore", "backup.db", "ledger.db")
        emit("nothing" if keeps_log else "today", gms, *SMALL, exit_code=3)
        assert len(gms.proposals) == count
        run("queue", "resume", "ledger.db")
        emit("nothing", gms)
        assert gms.dump() == expected
        assert stale_writes(gms, count) == []
        count = len(gms.proposals)
        emit("today", gms)
        assert len(gms.proposals) == count


def test_lost_datahub_is_filled_from_the_log(tmp_path, expected):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        emit("yesterday", gms)
        emit("today", gms)
        gms.forget()
        run("replay", "ledger.db", "--to", f"rest:{gms.url}", "--new-ledger", "new.db")
        assert gms.dump() == expected
        count = len(gms.proposals)
        run("emit", "today.ndjson", "--to", f"rest:{gms.url}", "--ledger", "new.db", "--fail-on", "delivery")
        assert len(gms.proposals) == count


def test_lost_datahub_also_gets_what_older_events_stated(tmp_path, expected, monkeypatch):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        lose_older_events(monkeypatch, tmp_path, lambda: emit("yesterday", gms, *SMALL))
        emit("today", gms)
        assert min(list_segments(Path("ledger.db.log"))).stem > f"{1:020}"
        gms.forget()
        stated = run("replay", "ledger.db", "--to", f"rest:{gms.url}", "--new-ledger", "new.db")
        assert "What older events stated is sent from its states." in stated
        assert gms.dump() == expected
        count = len(gms.proposals)
        run("emit", "today.ndjson", "--to", f"rest:{gms.url}", "--ledger", "new.db", "--fail-on", "delivery")
        assert len(gms.proposals) == count
        run("replay", "ledger.db", "--to", "catalog:new_catalogue.db")
        with Catalog("new_catalogue.db") as catalog:
            assert list(dump_catalog(catalog)) == expected


def lose_older_events(monkeypatch, folder, work):
    """Do some work while each event is a segment of the log, and old after 30 ms."""
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 1_000)
    monkeypatch.setattr("dh_bridge.event_log.log._DAY_SECONDS", 0.001)
    monkeypatch.setattr("dh_bridge.ledger.ledger_log._TRIM_SECONDS", 0.0)
    work()
    monkeypatch.undo()
    monkeypatch.chdir(folder)


def test_lost_ledger_without_a_backup_is_made_from_its_log(tmp_path, expected):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        emit("yesterday", gms)
        emit("today", gms)
        lose_ledger(with_log=False)
        count = len(gms.proposals)
        emit("nothing", gms)
        assert gms.dump() == expected
        assert stale_writes(gms, count) == []


def test_lost_ledger_is_restored_from_a_snapshot_if_the_log_lacks_events(tmp_path, expected, monkeypatch):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        lose_older_events(monkeypatch, tmp_path, lambda: (emit("yesterday", gms, *SMALL), emit("morning", gms, *SMALL)))
        emit("today", gms)
        lose_ledger(with_log=False)
        assert min(list_segments(Path("ledger.db.log"))).stem > f"{1:020}"
        snapshot = max(Path("ledger.db.log").glob("*.states"))
        count = len(gms.proposals)
        assert "Deliveries are paused" in run("ledger", "restore", str(snapshot), "ledger.db")
        emit("nothing", gms, *SMALL, exit_code=3)
        run("queue", "resume", "ledger.db")
        emit("nothing", gms)
        assert gms.dump() == expected
        assert stale_writes(gms, count) == []


@pytest.mark.parametrize("recipe", ["replay", "full"])
def test_datahub_of_yesterday_gets_everything_again(tmp_path, expected, recipe):
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        emit("yesterday", gms)
        Path("yesterday.db").write_bytes(gms.place.read_bytes())
        emit("today", gms)
        for path in tmp_path.glob("gms.db*"):
            path.unlink()
        gms.place.write_bytes(Path("yesterday.db").read_bytes())
        if recipe == "replay":
            run("replay", "ledger.db", "--to", f"rest:{gms.url}", "--new-ledger", "new.db")
        else:
            emit("today", gms, "--full")
        assert gms.dump() == expected
