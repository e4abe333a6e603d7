"""`schema.write: if_absent` with a ledger: a schema that is left to its owner is as one that was sent, until it is offered again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.ledger_batches import NOW, compiled, read, settings
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.review.merging import MergingSink
from dh_bridge.settings import Settings
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import StoredAspect
from dh_bridge.sinks.memory import MemorySink

DAY = 86_400
ALL = settings(datahub_version="1.7")
LEFT = Settings(datahub_version="1.7", schema={"write": "if_absent"})


class Shared(MemorySink, Readable):
    """A place that other pipelines write to as well; ``theirs``: the schemas there are another one's."""

    kind = replace(MemorySink.kind, is_readable=True)

    theirs = True
    looks = 0

    def read(self, aspects_by_urn):
        self.looks += 1
        held = StoredAspect({}, pipeline_name="nightly")
        return {urn: {"schemaMetadata": held} for urn in aspects_by_urn} if self.theirs else {}


@pytest.fixture
def place():
    return Shared()


@pytest.fixture
def write_day_of(place):
    """Return a function that processes a run of a day with columns, and returns how often a schema was written for it."""
    with Catalog(":memory:") as file:

        def write_day(day, *columns, chosen=LEFT, full=False):
            facets = {"schema": {"fields": [{"name": name, "type": "int"} for name in columns]}}
            run = f"018cc251-f400-734d-88b3-{day:012}"
            events = [
                event("COMPLETE", f"2026-11-{day:02}T10:00:00Z", run=run, outputs=[dataset("d.t", facets=facets)])
            ]
            sink = MergingSink(place, join=False, keep_schemas=chosen is LEFT, pipeline="dh_bridge")
            before = len(place.proposals)
            ledger = Ledger(file, compiled(chosen), sink, full=full, clock=lambda: NOW + day * DAY)
            assert ledger.process_and_deliver(read(events))[1].failures == []
            return sum(one.aspect_name == "schemaMetadata" for one in place.proposals[before:])

        yield write_day


def test_foreign_schema_is_offered_again_when_it_changes(write_day_of, place):
    assert (write_day_of(1, "a"), place.looks) == (0, 1)
    assert (write_day_of(2, "a"), place.looks) == (0, 1)
    assert (write_day_of(3, "a", "b"), place.looks) == (0, 2)
    place.theirs = False
    assert (write_day_of(4, "a", "b", "c"), place.looks) == (1, 3)


@pytest.mark.parametrize("chosen", [LEFT, ALL], ids=["its owner's is gone", "the setting is"])
@pytest.mark.parametrize(("day", "full"), [(12, False), (3, True)], ids=["after 7 days", "with --full"])
def test_schema_is_sent_once_its_owner_filter_is_gone(write_day_of, place, chosen, day, full):
    assert write_day_of(1, "a") == 0
    place.theirs = False
    assert write_day_of(2, "a", chosen=chosen) == 0
    assert write_day_of(day, "a", chosen=chosen, full=full) == 1
