"""The form of patches that a server showed to take is remembered in the ledger."""

from __future__ import annotations

import pytest
from support.gms import Gms
from support.ledger_batches import read
from support.sample_events import dataset, event

from dh_bridge import Settings
from dh_bridge.delivery import open_target
from dh_bridge.ledger import open_ledger, read_notes


def owned(run):
    """Return an event of a job with an owner; each run has a job of its own, so that the owner is sent."""
    owner = {"owners": [{"name": "ann", "type": "OWNER"}]}
    return event("COMPLETE", run=run, job=f"job.{run[-1]}", job_facets={"ownership": owner}, outputs=[dataset("a.b.c")])


@pytest.fixture
def gms(tmp_path):
    """Return a server that says 1.5 and is 1.5.0, which takes no keyed owners."""
    with Gms(tmp_path / "gms.db", version="1.5") as server:
        server.acts_as = "1.5.0"
        yield server


def emit_run(gms, place, run):
    """Emit an event with a ledger, as a call of its own, and return how many requests wrote."""
    target = f"rest:{gms.url}"
    destination = open_target(target, Settings(), target_notes=read_notes(place, target), environ={"HOME": "/nowhere"})
    before = len(gms.writes)
    with (
        destination.sink as sink,
        open_ledger(
            place, sink, destination.settings, version=destination.version, target=destination.address
        ) as ledger,
    ):
        for _, delivery in ledger.stream(read([owned(run)])):
            assert delivery.failures == []
    return len(gms.writes) - before


def test_form_of_patches_is_remembered_for_the_next_call(gms, tmp_path):
    place = tmp_path / "ledger.db"
    first = emit_run(gms, place, "018cc251-f400-734d-88b3-1e3d63fe6211")
    assert read_notes(place, f"rest:{gms.url}").patch_forms.learned == {"ownership": False}
    assert first > emit_run(gms, place, "018cc251-f400-734d-88b3-1e3d63fe6212") == 1
    owners = [each for each in gms.proposals if each.aspect_name == "ownership"]
    assert len(owners) == 2
