"""A target that fails, an ``emit`` with a ledger beside it, and the end that an undisturbed one has.

TESTS_FAULTS=long lets every pause last as long as it does in life; TESTS_SEEDS says how often what happens by chance is
tried; TESTS_TABLE names a file that gets a line of JSON for each trial, from which docs/reliability.md is made.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from click.testing import CliRunner
from support.gms import Gms

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.outbox import Outbox

ROOT = Path(__file__).resolve().parents[2]
EVENTS = str(ROOT / "examples" / "events")
LONG = os.environ.get("TESTS_FAULTS") == "long"
QUIET = {name: None for name in os.environ if name.startswith("DH_BRIDGE_")}
"""Our own variables would be taken for settings."""
NAP = 0.05
"""Seconds that a pause between two tries lasts at most in the short form."""


class Said(NamedTuple):
    """What an ``emit`` came to."""

    code: int
    stderr: str


@pytest.fixture(autouse=True)
def _nobody_elses(tmp_path, monkeypatch):
    """Nobody's settings and nobody's variables take part; pauses are short in the short form."""
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "HOST", "PORT", "TOKEN"):
        monkeypatch.delenv(f"DATAHUB_GMS_{name}", raising=False)
    if not LONG:
        nap = time.sleep
        monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", lambda seconds: nap(min(seconds, NAP)))


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    """The proposals that a server takes which never fails, in order."""
    folder = tmp_path_factory.mktemp("calm")
    with Gms(folder / "gms.db") as server:
        assert emitted(server, folder / "ledger.db").code == 0
        return server.proposals


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db") as server:
        yield server


@pytest.fixture
def stored(tmp_path):
    """Return what gives the target that a catalogue or a file is, by its scheme."""
    return lambda scheme: Stored(tmp_path, scheme)


class Stored:
    """A catalogue or a file that ``emit`` itself writes; it takes the part of the server."""

    def __init__(self, folder, scheme):
        self.scheme = scheme
        self.place = folder / {"catalog": "end.db", "file": "end.ndjson"}[scheme]
        self.proposals = []

    def words(self, ledger):
        to = ("--to", f"{self.scheme}:{self.place}", "--datahub-version", "1.4")
        return to if self.scheme == "catalog" else (*to, "--ledger", str(ledger))

    def dump(self):
        if self.scheme == "catalog":
            with Catalog(self.place, readonly=True) as found:
                return list(dump_catalog(found))
        return end_of(map(_decoded, self.place.read_bytes().splitlines()))

    def forget(self):
        self.place.unlink(missing_ok=True)


def _decoded(line):
    """Return the proposal of a line; None for the line in which a process died, which was written again."""
    try:
        return msgspec.json.decode(line, type=Proposal)
    except msgspec.DecodeError:
        return None


def arguments(server, ledger, *more):
    """Return the words of an ``emit`` to a server, or to what takes its part."""
    if isinstance(server, Gms):
        target = ("--to", f"rest:{server.url}", "--ledger", str(ledger))
    else:
        target = server.words(ledger)
    return ["emit", EVENTS, *target, "--set", "ledger.batch=3", "--set", "rest.timeout=20", *more]


def emitted(server, ledger, *more):
    """Run ``emit`` inside the test; an exception that is no exit code is a crash, and raised."""
    result = CliRunner(env=QUIET).invoke(commands, arguments(server, ledger, *more), prog_name="dh-bridge")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, result.stderr)


def started(server, ledger, *more, **how):
    """Start ``emit`` in a process of its own."""
    return process(arguments(server, ledger, *more), ledger.parent, stderr=subprocess.PIPE, **how)


def process(words, folder, **how):
    """Start ``dh-bridge`` with ``words`` in ``folder``, with none of our variables."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    call = [sys.executable, "-c", "from dh_bridge.cli import main; main()", *words]
    return subprocess.Popen(call, cwd=folder, env=environ, stdout=subprocess.DEVNULL, **how)


def ended(process):
    """Wait for a process to end."""
    _, stated = process.communicate()
    return Said(process.returncode, stated.decode())


def end_of(proposals):
    """Return the dump of a catalogue that took ``proposals`` in one go."""
    with Catalog(":memory:") as found:
        assert found.apply([one for one in proposals if one is not None]).failures == []
        return list(dump_catalog(found))


@pytest.fixture
def ends():
    """Return :func:`end_of`."""
    return end_of


class Trial:
    """One ``emit`` and its faults: counts what waits and is dead, compares the ends, and notes a line of the table."""

    def __init__(self, name, server, ledger, calm):
        self.name = name
        self.server = server
        self.ledger = ledger
        self._calm = calm
        self._began = time.monotonic()

    def emit(self, *more):
        return emitted(self.server, self.ledger, *more)

    def start(self, *more, **how):
        return started(self.server, self.ledger, *more, **how)

    def retry(self):
        """Let what was given up wait again."""
        assert CliRunner(env=QUIET).invoke(commands, ["queue", "retry", str(self.ledger)]).exit_code == 0

    def ended(self, process):
        return ended(process)

    def forget(self):
        """Begin anew: no ledger, and a server that has nothing."""
        shutil.rmtree(log_folder(self.ledger), ignore_errors=True)
        for path in self.ledger.parent.glob("*.db*"):
            path.unlink()
        self.server.forget()

    def same(self):
        """Assert that the server has what an undisturbed one has."""
        assert self.server.dump() == end_of(self._calm)

    def queue(self):
        """Return how many proposals wait, and how many are dead."""
        with Catalog(self.ledger, readonly=True) as file:
            return Outbox(file.connection).count()

    def waits(self, first, words, least):
        """Assert that the first ``emit`` says ``words`` and that more than ``least`` proposals wait; return how many."""
        assert first.code == 3
        assert words in first.stderr
        waiting, dead = self.queue()
        assert (waiting > least, dead) == (True, 0)
        return waiting

    def sends_what_waits(self, first, waiting):
        """Assert that a second ``emit`` sends what the first one left."""
        stated = self.emit()
        assert stated.code == 0, stated.stderr
        self.ends_well(stated, waited=waiting, **{"first exit code": first.code})

    def ends_well(self, stated, *, without=lambda _one: False, **seen):
        """Assert that the server has what an undisturbed one has (less ``without``) and nothing waits; note the line."""
        left_out = [one for one in self._calm if without(one)]
        expected = end_of([one for one in self._calm if not without(one)])
        found = self.server.dump()
        lost, more = len(set(expected) - set(found)), len(set(found) - set(expected))
        waits, dead = self.queue()
        self._note(stated, len(left_out), lost, more, waits, dead, seen)
        assert (lost, more) == (0, 0)
        assert found == expected
        assert (waits, dead) == (0, len({(one.entity_urn, one.aspect_name) for one in left_out}))
        assert "Traceback" not in stated.stderr

    def _note(self, stated, left_out, lost, more, waits, dead, seen):
        row = {
            "fault": self.name,
            "long": LONG,
            "proposals": len(self._calm),
            "taken": len(self.server.proposals),
            "left out": left_out,
            "lost": lost,
            "doubled": more,
            "waiting": waits,
            "dead": dead,
            "exit code": stated.code,
            "seconds": round(time.monotonic() - self._began, 1),
            **seen,
        }
        note(row)


def note(row):
    """Add a line to the table, where somebody wants one."""
    place = os.environ.get("TESTS_TABLE")
    if place is not None:
        load = [round(one, 1) for one in os.getloadavg()]
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "load": load}) + "\n")


@pytest.fixture
def noted():
    """Return what adds a line to the table."""
    return note


@pytest.fixture
def emitting(tmp_path):
    """Return what gives a starter of ``emit`` with these words, which takes more of them; events come by standard input."""

    def emit_process(*words):
        return lambda *more, **how: process(["emit", *words, *more], tmp_path, stdin=subprocess.PIPE, **how)

    return emit_process


@pytest.fixture
def trying(calm, tmp_path, request):
    """Return what begins a trial beside a server, or what takes its part; ``ledger`` where the target is not its own."""

    def begun(server, ledger=tmp_path / "ledger.db"):
        return Trial(request.node.name.removeprefix("test_"), server, ledger, calm)

    return begun


@pytest.fixture
def trial(gms, trying):
    return trying(gms)


@pytest.fixture
def long():
    """Whether this is the long form."""
    return LONG


@pytest.fixture
def later():
    """Return a context manager that lets something happen beside the body when a condition holds."""

    @contextmanager
    def beside(condition, action):
        import threading  # noqa: PLC0415 - here alone

        over = threading.Event()

        def watch():
            while not condition() and not over.wait(0.002):
                pass
            if condition():
                action()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return beside
