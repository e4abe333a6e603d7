"""Damaged ledgers and catalogues: each command that opens one says so in a sentence, how to go on, and with exit code 3."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from datetime import datetime, timezone
from pathlib import Path

import pytest
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from support.gms import Gms
from support.sample_events import RUN, dataset, event

from dh_bridge import Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.sdk import Pipeline
from dh_bridge.transport import DataHubConfig, DataHubTransport

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "spark.ndjson")
UNKNOWN = "urn:li:dataset:(urn:li:dataPlatform:postgres,a.b.c,PROD)"
FLIPS = int(os.environ.get("TESTS_FLIPS", "160"))
"""Damaged copies of a ledger and of a catalogue that are tried."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a ledger, in which something waits and something was refused, and a catalogue."""
    from click.testing import CliRunner  # noqa: PLC0415 - the fixture ``run`` is of one test

    from dh_bridge.cli import commands  # noqa: PLC0415 - as above

    folder = tmp_path_factory.mktemp("whole")
    with Gms(folder / "gms.db") as gms:
        gms.poison = lambda one: "no" if one.aspect_name == "dataJobInfo" else None
        server = ["--to", f"rest:{gms.url}", "--ledger", str(folder / "l.db")]
        CliRunner().invoke(commands, ["emit", EVENTS, *server])
        gms.stop()
        (folder / "e.json").write_text(json.dumps(event(outputs=[dataset("d.s.a")])))
        CliRunner().invoke(commands, ["emit", str(folder / "e.json"), *server, "--set", "rest.retries=0"])
        gms.start()
    done = CliRunner().invoke(
        commands, ["emit", EVENTS, "--to", f"catalog:{folder / 'c.db'}", "--datahub-version", "1.7"]
    )
    assert done.exit_code == 0, done.output
    with Catalog(folder / "l.db", readonly=True) as file:
        assert {bool(dead) for (dead,) in file.connection.execute("SELECT dead FROM outbox")} == {True, False}
    return folder


def ids(folder):
    """Return a run of the ledger, and a dataset and a job of the catalogue."""
    with Catalog(folder / "l.db", readonly=True) as file:
        (run,) = file.connection.execute("SELECT key FROM run WHERE state IS NOT NULL ORDER BY key LIMIT 1").fetchone()
    with Catalog(folder / "c.db", readonly=True) as file:
        urns = [next(urn for urn in file.entities(kind) if file.aspects(urn)) for kind in ("dataset", "dataJob")]
    return run, *urns


@pytest.fixture(scope="module")
def looks(whole):
    """Return the commands that open a ledger, and those that open a catalogue, by a name."""
    run, table, job = ids(whole)
    emit = ("emit", EVENTS, "--to")
    ledger = {
        "emit": (*emit, "rest:GMS", "--ledger", "FILE"),
        "dry-run": (*emit, "rest:GMS", "--ledger", "FILE", "--dry-run"),
        "list": ("queue", "list", "FILE"),
        "dead": ("queue", "list", "--dead", "--json", "FILE"),
        "retry": ("queue", "retry", "--dead", "FILE"),
        "drop": ("queue", "drop", "--dead", "FILE"),
        "pause": ("queue", "pause", "FILE"),
        "resume": ("queue", "resume", "FILE"),
        "prune": ("prune", "--to", "rest:GMS", "--ledger", "FILE", "--runs-older-than", "0d", "--dry-run"),
        "explain": ("explain", "FILE", "--run", run),
        "verify": ("verify", "--to", "rest:GMS", "--ledger", "FILE"),
        "plan": ("plan", EVENTS, "--to", "rest:GMS", "--ledger", "FILE"),
    }
    catalogue = {
        "emit-catalog": (*emit, "catalog:FILE", "--datahub-version", "1.7"),
        "lineage": ("lineage", "FILE", table, "--columns"),
        "dot": ("lineage", "FILE", job, "--dot"),
        "get": ("get", "FILE", table),
        "runs": ("runs", "FILE", job),
        "dump": ("get", "FILE", "--all"),
        "summary": ("list", "FILE"),
        "urn": ("urn", "--reverse", "FILE", UNKNOWN),
        "verify-catalog": ("verify", EVENTS, "--to", "catalog:FILE", "--datahub-version", "1.7"),
        "plan-catalog": ("plan", EVENTS, "--to", "catalog:FILE", "--datahub-version", "1.7"),
        "prune-catalog": ("prune", "--to", "catalog:FILE", "--runs-older-than", "0d", "--dry-run"),
        "demo": ("demo", "--to", "FILE"),
    }
    return ledger, catalogue


def other_application(path):
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE invoice (id)")
    connection.close()


def folder_instead(path):
    path.unlink()
    path.mkdir()


def cut(path, size):
    os.truncate(path, size)


DAMAGES = {
    "text": lambda path: path.write_text("this is no database\n" * 500),
    "other": other_application,
    "half": lambda path: cut(path, path.stat().st_size // 2),
    "page": lambda path: cut(path, 4096),
    "head": lambda path: cut(path, 100),
    "zeros": lambda path: path.write_bytes(path.read_bytes()[:4096] + bytes(path.stat().st_size - 4096)),
    "noise": lambda path: path.write_bytes(random.Random(7).randbytes(20_000)),  # noqa: S311 - no secret
    "folder": folder_instead,
}
LEDGER = ("emit", "dry-run", "list", "dead", "retry", "drop", "pause", "resume", "prune", "explain", "verify", "plan")
CATALOG = (
    "emit-catalog", "lineage", "dot", "get", "runs", "dump", "summary", "urn", "verify-catalog", "plan-catalog",
    "prune-catalog", "demo",
)  # fmt: skip


def ran(run, gms, command, file):
    """Run a command on ``file``; no traceback may come of it."""
    arguments = [part.replace("GMS", gms.url).replace("FILE", str(file)) for part in command]
    return run(*arguments)


def check(result, file):
    """Assert that a command ended with one sentence that names the file and says how to go on."""
    assert result.exit_code == 3, result.output
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, result.stderr
    assert file.name in errors[0]
    assert errors[0].endswith(")"), "how to go on"
    assert "Traceback" not in result.output


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*LEDGER, *CATALOG])
def test_damaged_file_is_one_sentence_and_exit_code_3(run, gms, whole, looks, tmp_path, name, damage):
    file = tmp_path / "damaged.db"
    shutil.copy(whole / ("l.db" if name in LEDGER else "c.db"), file)
    DAMAGES[damage](file)
    result = ran(run, gms, (looks[0] | looks[1])[name], file)
    if damage == "folder" and result.exit_code == 2:
        assert "is a directory" in result.stderr
    else:
        check(result, file)


@pytest.mark.parametrize("damage", ["text", "other", "head", "noise"])
def test_serve_does_not_start_with_a_damaged_ledger(run, gms, whole, tmp_path, damage):
    file = tmp_path / "damaged.db"
    shutil.copy(whole / "l.db", file)
    DAMAGES[damage](file)
    options = ("--to", f"rest:{gms.url}", "--ledger", str(file), "--listen", "127.0.0.1:0")
    check(run("serve", *options), file)


@pytest.mark.parametrize(
    "name", [name for name in (*LEDGER, *CATALOG) if "emit" not in name and name not in ("demo", "dry-run", "plan")]
)
def test_empty_file_is_no_catalogue(run, gms, looks, tmp_path, name):
    file = tmp_path / "damaged.db"
    file.touch()
    check(ran(run, gms, (looks[0] | looks[1])[name], file), file)


def flip(path, seed):
    """Change 1 to 40 bytes behind the first 100, which would make it no database; return where."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    data = bytearray(path.read_bytes())
    places = [chance.randrange(100, len(data)) for _ in range(chance.choice((1, 3, 10, 40)))]
    for place in places:
        data[place] ^= chance.randrange(1, 256)
    path.write_bytes(data)
    return places


@pytest.mark.parametrize("part", range(8))
def test_flipped_bytes_end_no_command_with_a_traceback(run, gms, whole, looks, tmp_path, part):
    chance = random.Random(part)  # noqa: S311 - no secret
    codes = []
    for number in range(part, FLIPS, 8):
        file = tmp_path / f"damaged{number}.db"
        kind = chance.randrange(2)
        shutil.copy(whole / ("lc"[kind] + ".db"), file)
        flip(file, number)
        name = chance.choice((LEDGER, CATALOG)[kind])
        result = ran(run, gms, looks[kind][name], file)
        codes.append(result.exit_code)
        assert result.exit_code in (0, 1, 3), (number, name, result.output)
        if "is damaged" in result.stderr:
            check(result, file)
    assert codes


def test_sdk_and_transport_raise_an_error_that_names_the_file(whole, tmp_path):
    file = tmp_path / "damaged.db"
    shutil.copy(whole / "c.db", file)
    DAMAGES["zeros"](file)
    with pytest.raises(SinkError, match="damaged"):
        Pipeline(Settings(datahub_version="1.7"), sink=f"catalog:{file}").run(("n", "j")).__enter__()
    shutil.copy(whole / "l.db", file)
    DAMAGES["zeros"](file)
    for stale in tmp_path.glob("damaged.db-*"):
        stale.unlink()
    config = {"to": f"file:{tmp_path / 'o.ndjson'}", "ledger": str(file)}
    transport = DataHubTransport(DataHubConfig.from_dict(config))
    now = datetime.now(timezone.utc).isoformat()
    with pytest.raises(SinkError, match="damaged"):
        transport.emit(
            RunEvent(eventTime=now, producer="https://p", eventType=RunState.START, run=Run(RUN), job=Job("n", "j"))
        )
    transport.close(0)


def test_own_mistake_is_not_blamed_on_the_file(tmp_path):
    with pytest.raises(KeyError), Catalog(tmp_path / "c.db"):
        raise KeyError("x")
    with pytest.raises(SinkError, match="is damaged"), Catalog(tmp_path / "c.db"):
        raise sqlite3.DatabaseError("database disk image is malformed")
