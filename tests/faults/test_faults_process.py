"""``emit`` in a process of its own, against REST: killed at random points, and without room for its ledger."""

from __future__ import annotations

import os
import random
import resource
import time

import pytest

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("DH_BRIDGE_KILLS", "5"))
SEEDS = range(int(os.environ.get("DH_BRIDGE_SEEDS", "1")))


def done(process):
    """Wait for a process to end; return its exit code and what it said."""
    _, said = process.communicate()
    return process.returncode, said.decode()


def first_write(process, ledger):
    """Wait until the ledger is there or the process is gone; return when that was."""
    while process.poll() is None and not ledger.exists():
        time.sleep(0.005)
    return time.monotonic()


def test_killed_at_any_point_and_started_again(trial):
    chance = random.Random(KILLS)  # noqa: S311 - reproducible, not secret
    process = trial.start()
    began = first_write(process, trial.ledger)
    code, said = done(process)
    whole = time.monotonic() - began
    assert code == 0, said
    interrupted = 0
    for number in range(KILLS):
        if number % 5 == 0:  # what was told before changes nothing: begin anew, at a server that has nothing
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
    said = trial.ended(trial.start())
    assert said.code == 0, said.stderr
    if anew:
        trial.same()
    return said


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kilobytes", [8, 200, 700, 1500])
def test_no_room_for_the_ledger(trial, kilobytes, seed):
    size = random.Random(f"{kilobytes} {seed}").randrange(kilobytes * 900, kilobytes * 1_100)  # noqa: S311 - reproducible

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    first = trial.ended(trial.start(preexec_fn=limited))
    assert first.code == 3, first.stderr
    assert "ledger.db: " in first.stderr
    assert "disk" in first.stderr
    assert "Traceback" not in first.stderr
    trial.ends_well(finished(trial), limit=size, **{"first exit code": first.code, "first words": first.stderr})
