"""``emit`` is killed at random points and started again: the end is that of an undisturbed run.

Five kills for each target; with DH_BRIDGE_KILLS=50 as many as issue 5 asks for.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from dh_bridge.catalog.dump import dump
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import Proposal
from dh_bridge.sinks.catalog import CatalogSink

ROOT = Path(__file__).resolve().parents[2]
EVENTS = str(ROOT / "examples" / "events")
KILLS = int(os.environ.get("DH_BRIDGE_KILLS", "5"))
_decode = msgspec.json.Decoder(Proposal).decode


def emit(folder, target):
    """Start ``emit`` with a batch for every few events, in a process of its own."""
    call = [sys.executable, "-c", "from dh_bridge.cli import main; main()", "emit", EVENTS, "--to", target]
    ledger = [] if target.startswith("catalog:") else ["--ledger", "ledger.db"]
    told = [*call, *ledger, "--set", "ledger.batch=3"]
    return subprocess.Popen(
        told, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(folder)
    )


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}


def finished(folder, target):
    """Run ``emit`` to its end; return how long it took from its first write."""
    process = emit(folder, target)
    written = first_write(process, folder)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    return time.monotonic() - written


def first_write(process, folder):
    """Wait until the ledger is there, or the process is gone; return when that was."""
    while process.poll() is None and not any(folder.glob("*.db")):
        time.sleep(0.005)
    return time.monotonic()


def killed(folder, target, seconds):
    """Kill ``emit`` some time after it began to write; return whether it was still at work."""
    process = emit(folder, target)
    first_write(process, folder)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    return process.returncode != 0


def end_of(folder, target):
    """Return the dump of what has arrived at the target."""
    scheme, _, name = target.partition(":")
    if scheme == "catalog":
        with Catalog(folder / name, readonly=True) as found:
            return list(dump(found))
    with Catalog(":memory:") as found:
        sink = CatalogSink(found)
        for line in (folder / name).read_bytes().splitlines():
            try:
                proposal = _decode(line)
            except msgspec.DecodeError:
                continue  # the line in which the process died; it was sent again
            sink.emit([proposal])
        return list(dump(found))


@pytest.mark.parametrize("target", ["catalog:end.db", "file:end.ndjson"])
def test_killed_at_any_point_and_started_again_it_ends_as_if_undisturbed(target, tmp_path):
    chance = random.Random(f"{KILLS} {target}")  # noqa: S311 - reproducible, not secret
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    calm.mkdir()
    rough.mkdir()
    whole = finished(calm, target)
    interrupted = 0
    for number in range(KILLS):
        if number and number % 5 == 0:  # what was told before changes nothing: begin anew
            finished(rough, target)
            assert end_of(rough, target) == end_of(calm, target)
            for path in rough.iterdir():
                path.unlink()
        interrupted += killed(rough, target, chance.uniform(0, whole))
    finished(rough, target)
    assert interrupted > 0
    assert end_of(rough, target) == end_of(calm, target)
    assert len(end_of(calm, target)) > 100
