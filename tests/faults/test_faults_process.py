"""``emit`` in a process of its own: killed at random points and started again, and without room for what it writes.

Five kills for each target; with TESTS_KILLS=100 as many as issue 6 asks for.
"""

from __future__ import annotations

import os
import random
import re
import resource
import time

import pytest

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TESTS_KILLS", "5"))
SEEDS = range(int(os.environ.get("TESTS_SEEDS", "1")))


def done(process):
    """Wait for a process to end; return its exit code and what it said."""
    _, stated = process.communicate()
    return process.returncode, stated.decode()


def first_write(process, ledger):
    """Wait until the ledger is there or the process is gone; return when that was."""
    while process.poll() is None and not ledger.exists():
        time.sleep(0.005)
    return time.monotonic()


@pytest.fixture
def of(trying, gms, stored):
    """Return what gives a trial for a scheme: ``rest``, ``catalog`` or ``file``."""

    def begun(scheme):
        if scheme == "rest":
            return trying(gms)
        target = stored(scheme)
        return trying(target, target.place) if scheme == "catalog" else trying(target)

    return begun


@pytest.mark.parametrize("scheme", ["rest", "catalog", "file"])
def test_killed_at_any_point_and_started_again(scheme, of):
    trial = of(scheme)
    chance = random.Random(f"{KILLS} {scheme}")  # noqa: S311 - reproducible, not secret
    process = trial.start()
    began = first_write(process, trial.ledger)
    code, stated = done(process)
    whole = time.monotonic() - began
    assert code == 0, stated
    interrupted = 0
    for number in range(KILLS):
        if number % 5 == 0:  # what was sent before changes nothing: begin again, with an empty target
            finished(trial, anew=number > 0)
            trial.forget()
        process = trial.start()
        first_write(process, trial.ledger)
        time.sleep(chance.uniform(0, whole))
        process.kill()
        interrupted += done(process)[0] != 0
    assert interrupted > 0
    trial.ends_well(finished(trial), kills=interrupted)


def finished(trial, *, anew=False):
    """Run ``emit`` to its end."""
    stated = trial.ended(trial.start())
    assert stated.code == 0, stated.stderr
    if anew:
        trial.same()
    return stated


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("scheme", "kilobytes"),
    [("rest", 8), ("rest", 200), ("rest", 700), ("rest", 1500), ("catalog", 8), ("catalog", 1000)],
)
def test_no_room(scheme, kilobytes, seed, of):
    """No file may grow beyond ``kilobytes``: neither the ledger nor the catalogue."""
    trial = of(scheme)
    size = random.Random(f"{kilobytes} {seed}").randrange(kilobytes * 900, kilobytes * 1_100)  # noqa: S311 - reproducible

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    first = trial.ended(trial.start(preexec_fn=limited))
    assert first.code == 3, first.stderr
    assert re.search(r"(ledger|end)\.db: ", first.stderr)
    assert "disk" in first.stderr
    assert "Traceback" not in first.stderr
    trial.ends_well(finished(trial), limit=size, **{"first exit code": first.code, "first words": first.stderr})
